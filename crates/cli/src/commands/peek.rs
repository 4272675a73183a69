//! `inrush peek`.

use std::fmt::Write;

use inrush::ExitStatus;
use inrush::peek::Peeked;
use inrush::plan::{Obstacles, Reading};
use inrush::printable::one_line;

use crate::arguments::PeekArguments;
use crate::errors::CommandError;
use crate::numbers::{count, counted};
use crate::run_summary::without_match;
use crate::{Surroundings, embedded, output, package_file, running, signals};

/// The most characters of a value that are shown.
const VALUE_CHARACTERS_MAX: usize = 40;

/// Shows rows as they leave a step.
pub fn peek(
    arguments: &PeekArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let ready = package_file::read(&arguments.package, &arguments.overrides)?;
    let _guard = signals::end_at_once(None);
    let reached =
        embedded::reach_to_look(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    let obstacles = Obstacles::default();
    let plan = running::plan_to_look(&reached, ready.folder, &obstacles)?;
    let readings = plan.readings();
    let reading = match chosen(&readings, arguments.flow.as_deref()) {
        Ok(reading) => reading,
        // The plan leaves out a flow whose columns are not known.
        Err(error) => match obstacles.take().into_iter().next() {
            Some(obstacle) => return Err(inrush::Error::from(obstacle).into()),
            None => return Err(error),
        },
    };
    let step_count = reading
        .steps
        .as_ref()
        .map_or(0, |steps| steps.planned.steps.len());
    let step = arguments.step.unwrap_or(step_count);
    if step > step_count {
        return Err(CommandError::Usage {
            what: format!(
                "--step {step}: flow `{}` has {}",
                reading.name,
                counted(step_count as u64, "step")
            ),
            hint: format!("write a number from 0 to {step_count}"),
        });
    }
    let stop = inrush::cancel::Stop::default();
    let peeked = inrush::peek::peek(reading, step, arguments.rows.into(), &stop)?;
    output::say(&shown(&peeked, reading));
    reached.stop()?;
    Ok(ExitStatus::Clean)
}

/// The flow of this name; the first one if there is no name.
fn chosen<'a>(readings: &[&'a Reading], name: Option<&str>) -> Result<&'a Reading, CommandError> {
    let found = match name {
        None => readings.first(),
        Some(name) => readings.iter().find(|reading| reading.name == name),
    };
    found.copied().ok_or_else(|| CommandError::Usage {
        what: format!(
            "--flow {}: the package has no such flow",
            name.unwrap_or_default()
        ),
        hint: format!(
            "its flows are {}",
            inrush::suggest::listed(readings.iter().map(|reading| reading.name.as_str()))
        ),
    })
}

fn shown(peeked: &Peeked, reading: &Reading) -> String {
    let mut text = format!(
        "flow {}, {}: {} of {} that were read\n\n",
        peeked.flow,
        match peeked.step {
            0 => "before its first step".to_owned(),
            step => format!("after step {step}"),
        },
        counted(peeked.rows.len() as u64, "row"),
        count(peeked.rows_read),
    );
    text.push_str(&table(peeked));
    let steps = reading.steps.as_ref().map(|steps| &steps.planned.steps);
    let steps = steps
        .into_iter()
        .flatten()
        .zip(&peeked.tally.counts)
        .zip(1..);
    let mut lines = String::new();
    for ((step, counts), number) in steps {
        let _ = writeln!(
            lines,
            "step {number}: {} {}: {} in, {}{} filtered, {} rejected, {} fail the check{}",
            step.word(),
            one_line(&step.what()),
            count(counts.rows_in),
            match counts.added {
                0 => String::new(),
                added => format!("{} added, ", count(added)),
            },
            count(counts.filtered),
            count(counts.rejected),
            count(counts.warned),
            without_match(counts.unmatched, ", ")
        );
    }
    if !lines.is_empty() {
        text.push('\n');
        text.push_str(&lines);
    }
    if !peeked.rejects.is_empty() {
        text.push_str("\nthe last rejected rows:\n");
        for reject in &peeked.rejects {
            let _ = writeln!(text, "  {}", one_line(&reject.summary()));
        }
    }
    text
}

/// The rows below the names and types of their columns, and the place of each.
fn table(peeked: &Peeked) -> String {
    let cell = |value: &Option<String>| match value {
        None => "NULL".to_owned(),
        Some(value) => cut(&one_line(value)),
    };
    let names = peeked
        .columns
        .iter()
        .map(|(name, _)| one_line(name).into_owned());
    let types = peeked
        .columns
        .iter()
        .map(|(_, type_name)| type_name.clone());
    let mut lines: Vec<Vec<String>> = vec![
        std::iter::once("row".to_owned()).chain(names).collect(),
        std::iter::once(String::new()).chain(types).collect(),
    ];
    for (place, values) in &peeked.rows {
        let place = one_line(&place.to_string()).into_owned();
        lines.push(
            std::iter::once(place)
                .chain(values.iter().map(cell))
                .collect(),
        );
    }
    let widths: Vec<usize> = (0..=peeked.columns.len())
        .map(|column| {
            let widths = lines.iter().map(|line| line[column].chars().count());
            widths.max().unwrap_or(0)
        })
        .collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn cut(value: &str) -> String {
    match value.chars().count() > VALUE_CHARACTERS_MAX {
        true => {
            let start: String = value.chars().take(VALUE_CHARACTERS_MAX - 1).collect();
            format!("{start}\u{2026}")
        }
        false => value.to_owned(),
    }
}
