//! `inrush status`.

use inrush::ExitStatus;
use inrush::ledger::{moment_rfc3339, moment_text};
use inrush::package::Flow;
use inrush::printable::line;
use inrush::upkeep::{MarkOfTarget, StoppedRun};
use serde_json::{Value, json};

use super::destination::{LedgerDestination, find};
use crate::arguments::StatusArguments;
use crate::errors::CommandError;
use crate::names::readable;
use crate::numbers::{bytes, count};
use crate::run_summary::columns;
use crate::{Surroundings, output, signals};

/// Shows what stopped runs left, and where incremental loads begin.
pub fn status(
    arguments: &StatusArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let _guard = signals::end_at_once(None);
    let destination = find(&arguments.ledger, surroundings)?;
    let runs = destination.runs.stopped(&destination.which)?;
    if arguments.marks {
        let marks = destination.runs.marks(&destination.which)?;
        match arguments.ledger.json {
            true => drop(output::json(&marks_json(&marks))),
            false => output::say(&marks_table(&marks)),
        }
    } else if arguments.ledger.json {
        let _ = output::json(&json(&runs));
    } else {
        match runs.is_empty() {
            true => output::say("no stopped runs\n"),
            false => {
                output::say(&table(&runs));
                output::say(
                    "\nRun the command of a stopped run again: it keeps the finished units and \
                     loads the rest. `inrush cleanup` removes the staging tables of stopped runs, and leaves rows in targets alone.\n",
                );
            }
        }
        if may_have_marks(&destination) {
            let marks = destination.runs.marks(&destination.which)?;
            marks.iter().for_each(|mark| output::say(&mark_line(mark)));
        }
    }
    destination.stop()?;
    Ok(ExitStatus::Clean)
}

/// True unless a package says that none of its flows is incremental. The runs of large ledgers are then not searched.
fn may_have_marks(destination: &LedgerDestination) -> bool {
    let mut flows = destination.reached.package.flows.iter();
    let is_since = |flow: &Flow| flow.source.as_ref().is_some_and(|it| it.since.is_some());
    destination.which.package.is_none() || flows.any(is_since)
}

/// The line that says where the next incremental run of a target begins.
fn mark_line(mark: &MarkOfTarget) -> String {
    line(&format!(
        "{}: rows whose `{}` is before {} are loaded (run {} of package `{}`); the next run begins there",
        readable(&mark.target),
        mark.range.column,
        mark.range.below,
        mark.run,
        mark.package
    ))
}

/// Runs as a table, and their targets below it.
pub fn table(runs: &[StoppedRun]) -> String {
    let rows: Vec<[String; 7]> = runs
        .iter()
        .map(|stopped| {
            [
                stopped.run.name.to_string(),
                match stopped.held {
                    Some(true) => "at work".to_owned(),
                    Some(false) => "stopped".to_owned(),
                    None => "not known".to_owned(),
                },
                moment_text(stopped.run.started_at_microseconds),
                count(stopped.units_finished as u64),
                count(stopped.units_begun as u64),
                count(stopped.account.rows_loaded),
                stopped
                    .staging_bytes
                    .map_or_else(|| "not known".to_owned(), bytes),
            ]
        })
        .collect();
    let mut text = columns(
        &[
            "run",
            "state",
            "begun",
            "units",
            "unfinished",
            "rows staged",
            "staged size",
        ],
        &rows,
    );
    text.push('\n');
    for stopped in runs {
        text.push_str(&line(&format!(
            "{}: package `{}`, into {}, last held by {}",
            stopped.run.name,
            stopped.run.package,
            stopped
                .run
                .targets
                .iter()
                .map(|target| readable(target))
                .collect::<Vec<String>>()
                .join(", "),
            stopped.run.holder
        )));
        if stopped.rows_straight > 0 {
            text.push_str(&format!(
                "  {} of its rows are in the targets already (atomic = false)\n",
                count(stopped.rows_straight)
            ));
        }
        if stopped.is_of_another_version {
            text.push_str(match stopped.rows_straight {
                0 => "  another version of Inrush loaded its units: they start again from the beginning\n",
                _ => "  another version of Inrush began it, and this version cannot resume it\n",
            });
        }
    }
    text
}

/// Runs for a program.
pub fn json(runs: &[StoppedRun]) -> Value {
    runs.iter()
        .map(|stopped| {
            json!({
                "run": stopped.run.name,
                "package": stopped.run.package,
                "held": stopped.held,
                "holder": stopped.run.holder,
                "started_at": moment_rfc3339(stopped.run.started_at_microseconds),
                "targets": stopped.run.targets,
                "units_finished": stopped.units_finished,
                "units_begun": stopped.units_begun,
                "account": stopped.account,
                "rows_straight": stopped.rows_straight,
                "is_of_another_version": stopped.is_of_another_version,
                "staging_tables": stopped.staging_tables,
                "staging_bytes": stopped.staging_bytes,
            })
        })
        .collect()
}

/// The marks of incremental loads as a table.
fn marks_table(marks: &[MarkOfTarget]) -> String {
    if marks.is_empty() {
        return "no marks: no run has loaded by `since`\n".to_owned();
    }
    let row = |mark: &MarkOfTarget| {
        [
            mark.package.clone(),
            readable(&mark.target),
            mark.range.column.clone(),
            mark.range.below.clone(),
            mark.run.to_string(),
        ]
    };
    let rows: Vec<[String; 5]> = marks.iter().map(row).collect();
    columns(
        &["package", "target", "column", "loaded before", "run"],
        &rows,
    )
}

/// Marks for a program.
fn marks_json(marks: &[MarkOfTarget]) -> Value {
    let mark = |mark: &MarkOfTarget| {
        json!({
            "package": mark.package,
            "target": mark.target,
            "run": mark.run,
            "of": mark.range.of,
            "column": mark.range.column,
            "from": mark.range.from,
            "below": mark.range.below,
        })
    };
    marks.iter().map(mark).collect()
}
