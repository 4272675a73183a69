//! `inrush preflight`.

use inrush::cancel::Stop;
use inrush::preflight::{PreflightOptions, PreflightReport, PreflightStep, StepFound, Weight};
use inrush::source::names_a_pipe;
use inrush::{ExitStatus, RunOptions, printable};
use inrush_system::threads::cores;

use super::capacity;
use crate::arguments::PreflightArguments;
use crate::errors::CommandError;
use crate::numbers::{bytes, count, counted, seconds};
use crate::package_file::Ready;
use crate::run_summary::columns;
use crate::signals::Left;
use crate::{Surroundings, credentials, embedded, output, package_file, signals};

/// Measures the steps of a load, and predicts it.
pub fn preflight(
    arguments: &PreflightArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    let mut ready = package_file::read(&arguments.package, &arguments.overrides)?;
    arguments.limits.replace_those_of(&mut ready.package)?;
    if arguments.streams.is_some() {
        ready.package.run.streams = arguments.streams;
    }
    refuse_pipes(&ready)?;
    // The embedded server notices that this process has ended.
    let guard = signals::end_at_once(None);
    let reached =
        match embedded::reach_to_look(ready.package, &ready.folder, ready.data_trust, surroundings)
        {
            // If a preflight cannot reach the server, the run cannot either.
            Err(error @ CommandError::Embedded(_)) => {
                output::errors(&error.to_string());
                return Ok(ExitStatus::Preflight);
            }
            reached => reached?,
        };
    let stop = Stop::default();
    let defaults = credentials::connection_defaults()?;
    let open_sources = inrush::open_sources(&defaults, reached.site_packages.as_deref());
    let options = RunOptions {
        open_sources: &open_sources,
        folder: ready.folder,
        runs_folder: arguments.runs_folder.clone(),
        streams_default: cores(),
        again: arguments.again,
        site_packages: reached.site_packages.clone(),
        embedded: reached.report.clone(),
        stop: stop.clone(),
        ..RunOptions::default()
    };
    drop(guard);
    let scratch = inrush::scratch_folder(&reached.package, &options);
    let _guard = match scratch {
        // An opened database may have created a file, which can be removed only after it is closed.
        Some(_) => signals::stop_cleanly(&stop, Left::Nothing(scratch)),
        None => signals::end_at_once(None),
    };
    let preflight_options = PreflightOptions {
        cold: arguments.cold,
    };
    let mut report =
        match inrush::preflight_of(&reached.package, &options, &preflight_options, &defaults) {
            Err(inrush::Error::Interrupted) => {
                return Err(CommandError::Stopped {
                    hint: "nothing was loaded, and nothing is left behind".to_owned(),
                });
            }
            report => report?,
        };
    capacity::add(&mut report, arguments);
    match arguments.json {
        true => drop(output::pretty_json(&report)),
        false => output::say(&words(&report)),
    }
    reached.stop()?;
    Ok(report.exit_status())
}

/// Refuses pipes: their data can be read only once, and the run needs it.
fn refuse_pipes(ready: &Ready) -> Result<(), CommandError> {
    for flow in &ready.package.flows {
        for pattern in flow.files.patterns() {
            if names_a_pipe([pattern.as_str()], &ready.folder) {
                return Err(CommandError::Usage {
                    what: format!(
                        "{pattern} is a pipe: it cannot be read twice, and the data that a \
                         preflight reads would be missing from the run; nothing was read from it"
                    ),
                    hint:
                        "write a part of its data to a file, and name that file with --set or in \
                           another package"
                            .to_owned(),
                });
            }
        }
    }
    Ok(())
}

fn words(report: &PreflightReport) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        text.push_str(&printable::line(line.trim_end()));
    };
    line(format!(
        "Package      {} ({})",
        report.package,
        &report.package_hash[..12]
    ));
    if !report.destination.is_empty() {
        line(format!("Destination  {}", report.destination));
    }
    let files = &report.files;
    if files.count + files.table_count > 0 {
        let rows = files.rows.map_or(String::new(), |rows| {
            format!(", about {}", counted(rows, "row"))
        });
        let (title, inputs) = match (files.count, files.table_count) {
            (count, 0) => ("Files ", counted(count as u64, "file")),
            (0, tables) => ("Source", tables_and_queries(tables)),
            (count, tables) => (
                "Source",
                format!(
                    "{}, {}",
                    counted(count as u64, "file"),
                    tables_and_queries(tables)
                ),
            ),
        };
        line(format!(
            "{title}       {inputs}, {} as stored, {}{} of text{rows}",
            bytes(files.stored_bytes),
            match files.stored_bytes == files.text_bytes {
                true => "",
                false => "about ",
            },
            bytes(files.text_bytes),
        ));
        if let Some(share) = files.cached_share {
            line(format!(
                "             {:.0} % of the sample was in the page cache",
                share * 100.0
            ));
        }
    }
    line(format!("Streams      {}", report.streams));
    if !report.steps.is_empty() {
        line(String::new());
        text.push_str(&steps(&report.steps));
    }
    if let Some(prediction) = &report.prediction {
        let mut line = |line: String| {
            text.push_str(&printable::line(line.trim_end()));
        };
        line(String::new());
        line(format!(
            "Predicted    {} in all{}: plan {}, load {}, switch {}, analyze {}",
            seconds(prediction.predicted_s),
            match report.is_stopped() {
                true => ", for the flows that could be planned, once the problems below are fixed",
                false => "",
            },
            seconds(prediction.plan_s),
            seconds(prediction.load_s),
            seconds(prediction.switch_s),
            seconds(prediction.analyze_s)
        ));
        line(format!(
            "Limited by   {}: {}",
            prediction.limiting_words(),
            prediction.because
        ));
        for left_out in &prediction.leaves_out {
            line(format!("Left out     {left_out}"));
        }
    }
    if let Some(found) = &report.capacity {
        text.push_str(&capacity::words(found));
    }
    for (weight, title) in [
        (Weight::Stops, "Stops the run"),
        (Weight::Hurts, "Will hurt"),
        (Weight::Tells, "Good to know"),
    ] {
        let mut own = report
            .findings
            .iter()
            .filter(|finding| finding.weight == weight)
            .peekable();
        if own.peek().is_some() {
            text.push_str(&format!("\n{title}\n"));
        }
        for finding in own {
            text.push_str(&printable::line(&format!("  - {}", finding.what)));
            if let Some(hint) = &finding.hint {
                text.push_str(&printable::line(&format!("    hint: {hint}")));
            }
        }
    }
    text.push_str(&format!(
        "\npreflight took {}; nothing was loaded\n",
        seconds(report.took_s)
    ));
    text
}

fn tables_and_queries(count: usize) -> String {
    match count {
        1 => "1 table or query".to_owned(),
        _ => format!("{count} tables or queries"),
    }
}

/// A line for each step, and notes below them.
fn steps(steps: &[StepFound]) -> String {
    let speed = |speed: Option<f64>| {
        speed.map_or_else(
            || "-".to_owned(),
            |speed| format!("{}/s", bytes(speed as u64)),
        )
    };
    let rows: Vec<[String; 6]> = steps
        .iter()
        .map(|step| {
            [
                name(step.step).to_owned(),
                match step.is_measured() {
                    true => speed(step.one_bytes_s),
                    false => "not measured".to_owned(),
                },
                speed(step.all_bytes_s),
                step.rows_s
                    .map_or_else(|| "-".to_owned(), |rows| count(rows as u64)),
                bytes(step.sample_bytes),
                seconds(step.took_s),
            ]
        })
        .collect();
    let head = [
        "step, in text",
        "one stream",
        "all streams",
        "rows/s",
        "sample",
        "took",
    ];
    let mut text = columns(&head, &rows);
    for step in steps {
        if let Some(note) = &step.note {
            text.push_str(&printable::line(&format!("  {}: {note}", name(step.step))));
        }
    }
    text
}

fn name(step: PreflightStep) -> &'static str {
    match step {
        PreflightStep::ReadDisk => "read, from the disk",
        PreflightStep::ReadCache => "read, from the page cache",
        PreflightStep::ReadSource => "read, from the database",
        PreflightStep::Decompress => "decompress",
        PreflightStep::Scan => "scan",
        PreflightStep::Convert => "convert",
        PreflightStep::Transform => "steps of the flow",
        PreflightStep::Verify => "sum up",
        PreflightStep::Encode => "encode",
        PreflightStep::Client => "read to encode",
        PreflightStep::Network => "network",
        PreflightStep::Destination => "destination",
        PreflightStep::Log => "log, flushed",
        PreflightStep::Together => "all together",
    }
}
