//! The summary that a run prints at its end.

use std::fmt::Write;
use std::path::Path;

use inrush::column_policy::ColumnChanges;
use inrush::printable::{self, one_line};
use inrush::report::{Outcome, PAGE_FILE, REPORT_FILE, RunReport, StepReport, UnitReport};

use crate::names::readable;
use crate::numbers::{bytes, count, counted, seconds};

/// Notes that are printed; all of them are in the report.
const NOTES_MAX: usize = 5;

/// The changed values of a column, in words.
fn changes(changes: &ColumnChanges) -> String {
    [
        (changes.truncated, "cut off"),
        (changes.rounded, "rounded"),
        (changes.defaulted, "filled by the default"),
        (changes.nulled, "made NULL"),
    ]
    .iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", count(*number)))
    .collect::<Vec<_>>()
    .join(", ")
}

/// The account of a run, as a table.
pub fn account(report: &RunReport, report_path: Option<&Path>) -> String {
    if report.outcome == Outcome::AlreadyLoaded {
        let loaded = format!(
            "already loaded by run {}: {} in {}{}",
            report.run,
            counted(report.account.rows_loaded, "row"),
            counted(report.tables.len() as u64, "table"),
            match report.account.rows_rejected {
                0 => String::new(),
                rejected => format!("; {} rejected then", counted(rejected, "row")),
            }
        );
        let mut text = printable::line(report.nothing_new.as_ref().unwrap_or(&loaded));
        for note in &report.notes {
            text.push_str(&printable::line(&format!("note: {note}")));
        }
        return text;
    }
    let mut text = table(report);
    let account = &report.account;
    let load_s = report.phases.load_s.max(1e-9);
    let mut line = |line: String| {
        text.push_str(&printable::line(&line));
    };
    line(String::new());
    line(account.sides(count).join(" = "));
    let attempt = Attempt::of(report);
    if report.resumed {
        line(attempt.kept_line(report));
    }
    line(format!(
        "{} in {}{}; plan {}, load {}, switch {}, analyze {}",
        bytes(attempt.bytes),
        seconds(report.phases.total_s),
        match attempt.rows {
            0 if report.resumed => String::new(),
            rows => format!(
                ": {} rows/s, {}/s while loading",
                count((rows as f64 / load_s) as u64),
                bytes((attempt.bytes as f64 / load_s) as u64)
            ),
        },
        seconds(report.phases.plan_s),
        seconds(report.phases.load_s),
        seconds(report.phases.switch_s),
        seconds(report.phases.analyze_s),
    ));
    if let Some(prediction) = &report.prediction {
        line(format!(
            "predicted {}, load {} (preflight of {}): it took {}, load {}",
            seconds(prediction.predicted_s),
            seconds(prediction.load_s),
            prediction.made_at.get(..16).unwrap_or(&prediction.made_at),
            seconds(report.phases.total_s),
            seconds(report.phases.load_s),
        ));
    }
    if let Some(verdict) = &report.verdict {
        line(format!("verdict: {}", verdict.line));
    }
    for table in &report.tables {
        for column in &table.changes {
            line(format!(
                "changed as declared: {}.{}: {}",
                readable(&table.target),
                column.column,
                changes(&column.changes)
            ));
        }
    }
    for table in &report.tables {
        for (step, number) in table.steps.iter().zip(1..) {
            line(step_line(&table.flow, number, step));
        }
    }
    for note in report.notes.iter().take(NOTES_MAX) {
        line(format!("note: {note}"));
    }
    if report.notes.len() > NOTES_MAX {
        let more = (report.notes.len() - NOTES_MAX) as u64;
        line(format!("{} more in the report", counted(more, "note")));
    }
    if let Some(path) = report_path {
        if account.rows_rejected > 0
            && let Some(folder) = path.parent()
        {
            line(format!(
                "rejected rows: {} (`inrush rejects show` shows why)",
                folder.join("rejects").display()
            ));
        }
        line(report_line(path));
    }
    text
}

/// The part of a report's account that this attempt has loaded. The account of a resumed run also has the rows of
/// earlier attempts, which took no time of this attempt.
struct Attempt {
    rows: u64,
    bytes: u64,
}

impl Attempt {
    fn of(report: &RunReport) -> Attempt {
        let account = &report.account;
        let mut attempt = Attempt {
            rows: account.rows_loaded,
            bytes: account.bytes_read,
        };
        if report.resumed {
            // The meters show this attempt only. A careful load sends some rows twice, so the account limits them.
            let rows = |unit: &UnitReport| unit.meter.rows.min(unit.account.rows_loaded);
            let bytes = |unit: &UnitReport| unit.meter.text_bytes.min(unit.account.bytes_read);
            attempt.rows = report.units.iter().map(rows).sum();
            attempt.bytes = report.units.iter().map(bytes).sum();
        }
        attempt
    }

    /// What a resumed run has from earlier attempts.
    fn kept_line(&self, report: &RunReport) -> String {
        format!(
            "kept from earlier attempts: {} of {}, {}",
            count(report.units.iter().filter(|unit| unit.kept).count() as u64),
            counted(report.units.len() as u64, "unit"),
            counted(report.account.rows_loaded.saturating_sub(self.rows), "row")
        )
    }
}

/// The rows of a step: `orders, step 2: where a > 0: 10 in = 7 out + 3 filtered`.
fn step_line(flow: &str, number: usize, step: &StepReport) -> String {
    let mut line = format!(
        "{flow}, step {number}: {} {}: {} in{} = {} out",
        step.step,
        one_line(&step.what),
        count(step.rows_in),
        match step.added {
            0 => String::new(),
            added => format!(" + {} added", count(added)),
        },
        count(step.rows_out)
    );
    for (rows, word) in [(step.filtered, "filtered"), (step.rejected, "rejected")] {
        if rows > 0 {
            line.push_str(&format!(" + {} {word}", count(rows)));
        }
    }
    if step.warned > 0 {
        line.push_str(&format!("; {} fail the check", count(step.warned)));
    }
    line.push_str(&without_match(step.unmatched, "; "));
    line
}

/// The rows that a lookup left without a match, after `separator`; empty if there are none.
pub fn without_match(rows: u64, separator: &str) -> String {
    match rows {
        0 => String::new(),
        rows => format!("{separator}{} without a match", count(rows)),
    }
}

/// The line with the path of the report: of its page if there is one, because it is for people.
pub fn report_line(report_path: &Path) -> String {
    let page = report_path.with_file_name(PAGE_FILE);
    match page.is_file() {
        true => format!(
            "report: {}, and {REPORT_FILE} beside it",
            one_line(&page.to_string_lossy())
        ),
        false => format!("report: {}", one_line(&report_path.to_string_lossy())),
    }
}

/// A line for each table.
pub fn table(report: &RunReport) -> String {
    let rows: Vec<[String; 5]> = report
        .tables
        .iter()
        .map(|table| {
            [
                readable(&table.target),
                count(table.account.rows_loaded),
                count(table.account.rows_rejected),
                bytes(table.account.bytes_read),
                match table.partitions.len() {
                    0 => "-".to_owned(),
                    partitions => count(partitions as u64),
                },
            ]
        })
        .collect();
    columns(&["table", "rows", "rejected", "text", "partitions"], &rows)
}

/// A table as text: the first column is aligned to the left, the others to the right.
pub fn columns<const COUNT: usize>(head: &[&str; COUNT], rows: &[[String; COUNT]]) -> String {
    let clean = |row: &[String; COUNT]| row.each_ref().map(|cell| one_line(cell).into_owned());
    let rows: Vec<[String; COUNT]> = rows.iter().map(clean).collect();
    let width = |index: usize| {
        rows.iter()
            .map(|row| row[index].chars().count())
            .chain([head[index].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let mut text = String::new();
    let mut line = |cells: Vec<&str>| {
        let mut line = format!("{:<width$}", cells[0], width = width(0));
        for (index, cell) in cells.iter().enumerate().skip(1) {
            write!(line, "  {cell:>width$}", width = width(index))
                .expect("a String takes any text");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    };
    line(head.to_vec());
    for row in &rows {
        line(row.iter().map(String::as_str).collect());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_named_where_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(REPORT_FILE);
        assert_eq!(report_line(&path), format!("report: {}", path.display()));
        let page = folder.path().join(PAGE_FILE);
        std::fs::write(&page, "").expect("written");
        assert_eq!(
            report_line(&path),
            format!("report: {}, and report.json beside it", page.display())
        );
    }

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [
            ["orders".to_owned(), "1,500".to_owned()],
            ["a".to_owned(), "2".to_owned()],
        ];
        assert_eq!(
            columns(&["table", "rows"], &rows),
            "table    rows\norders  1,500\na           2\n"
        );
    }
}
