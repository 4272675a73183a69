//! `inrush rejects`.

use std::path::Path;

use inrush::ExitStatus;
use inrush::ids::RunName;
use inrush::package::{Overrides, RejectLimit};
use inrush::printable::{line, one_line};
use inrush::reject_replay::{self, RejectCause, ReplayError};
use inrush::report::{Outcome, RunReport};
use serde_json::json;

use crate::arguments::{RejectsArguments, RejectsCommand, ReplayArguments, ShowArguments};
use crate::embedded::DataTrust;
use crate::errors::CommandError;
use crate::numbers::counted;
use crate::package_file::{self, Ready};
use crate::running::{self, RunSetup};
use crate::{Surroundings, credentials, embedded, output, run_summary, signals};

/// Shows rejects, or loads them again.
pub fn rejects(
    arguments: &RejectsArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    match &arguments.command {
        RejectsCommand::Show(arguments) => show(arguments),
        RejectsCommand::Replay(arguments) => replay(arguments, surroundings),
    }
}

fn show(arguments: &ShowArguments) -> Result<ExitStatus, CommandError> {
    let folder = reject_replay::find_folder(&arguments.runs_folder, arguments.run.as_deref())?;
    let causes = reject_replay::causes(&folder)?;
    let rows: u64 = causes.iter().map(|cause| cause.rows).sum();
    let run = run_name(&folder);
    if arguments.json {
        let shown = json!({
            "run": run,
            "folder": folder.join("rejects"),
            "rows": rows,
            "causes": causes,
        });
        let _ = output::json(&shown);
        return Ok(ExitStatus::Clean);
    }
    if rows == 0 {
        output::say(&format!("run {run} rejected nothing\n"));
        return Ok(ExitStatus::Clean);
    }
    let mut text = format!("run {run}: {} rejected\n", counted(rows, "row"));
    for cause in &causes {
        text.push_str(&told(cause));
    }
    let rows_folder = folder.join("rejects");
    let rows_folder = rows_folder.to_string_lossy();
    let rows_folder = one_line(&rows_folder);
    text.push_str(&match reject_replay::replay(&folder) {
        Err(error @ ReplayError::Unpivoted { .. }) => format!(
            "\nThe rows are in {rows_folder}, and cannot be replayed: {}\nhint: {}\n",
            one_line(&error.to_string()),
            error.hint().unwrap_or_default(),
        ),
        _ => format!(
            "\nThe rows are in {rows_folder}; fix them there, then load them with\n    inrush rejects replay {run}\n",
        ),
    });
    output::say(&text);
    Ok(ExitStatus::Clean)
}

/// A cause of rejects, with examples.
fn told(cause: &RejectCause) -> String {
    let code = serde_json::to_value(cause.code).unwrap_or_default();
    let column = match &cause.column {
        Some(column) => format!(", column {column}"),
        None => String::new(),
    };
    let mut text = line(&format!(
        "\n{}{column}: {} of {}",
        code.as_str().unwrap_or_default(),
        counted(cause.rows, "row"),
        cause.flow
    ));
    let mut last_reason = None;
    for example in &cause.examples {
        let value = match &example.value {
            Some(value) => format!(": {value:?}"),
            None => String::new(),
        };
        text.push_str(&line(&format!("  {}{value}", example.location())));
        if last_reason != Some(&example.reason) {
            text.push_str(&line(&format!("    {}", example.reason)));
        }
        last_reason = Some(&example.reason);
    }
    let more = cause.rows - cause.examples.len() as u64;
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

fn replay(
    arguments: &ReplayArguments,
    surroundings: &Surroundings,
) -> Result<ExitStatus, CommandError> {
    running::fault()?;
    for (name, url) in &arguments.connection {
        credentials::refuse_password(&format!("--connection {name}"), url)?;
    }
    let run_arguments = &arguments.run_arguments;
    let folder = reject_replay::find_folder(&run_arguments.runs_folder, Some(&arguments.run))?;
    let Some(replay) = reject_replay::replay(&folder)? else {
        output::say(&format!(
            "run {} rejected nothing: there is nothing to replay\n",
            run_name(&folder)
        ));
        return Ok(ExitStatus::Clean);
    };
    let mut package = replay.package;
    for (name, url) in &arguments.connection {
        let url = package_file::from_here(url);
        package.connect(name, &url, &credentials::environment)?;
    }
    // If the URL is replaced, its variables need no value.
    package.fill_connections(&credentials::environment)?;
    credentials::complete_from_sqlcmd(&mut package)?;
    let mut data_trust = DataTrust::OfUser;
    if !arguments.trust {
        let overrides = Overrides {
            parameters: Vec::new(),
            connections: arguments.connection.clone(),
        };
        data_trust = package_file::require_trusted(&package, &folder, &overrides)?;
    }
    if let Some(rows) = arguments.max_rejects {
        for flow in &mut package.flows {
            flow.rejects = RejectLimit {
                bytes_max: flow.rejects.bytes_max,
                ..RejectLimit::rows(rows)
            };
        }
    }
    if run_arguments.streams.is_some() {
        package.run.streams = run_arguments.streams;
    }
    package.check()?;
    let ready = Ready {
        package,
        folder: folder.clone(),
        data_trust,
    };
    // Each output of a flow reads all rows, and filters out the rows of the other outputs.
    let has_outputs = ready
        .package
        .flows
        .iter()
        .any(|flow| !flow.outputs.is_empty() || flow.output_number.is_some());
    let guard = signals::end_at_once(None);
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)?;
    drop(guard);
    let setup = RunSetup {
        replays: Some(replay.run.clone()),
        ..RunSetup::new(run_arguments, &ready.folder)
    };
    let success = running::run(&reached, &setup).map_err(|(error, _)| error)?;
    if !run_arguments.json && !run_arguments.quiet {
        output::say(&run_summary::account(
            &success.report,
            success.report_path.as_deref(),
        ));
        output::say(&closed(
            &replay.run,
            replay.rows_rejected,
            has_outputs,
            &success.report,
        ));
    }
    output::notes(reached.stop_after_commit());
    Ok(success.report.exit_status)
}

/// The outcome of a replay, in words. If the flow has several outputs, each of them counts every row, so the text does
/// not mention rows that somebody has removed or added.
fn closed(run: &RunName, rows_rejected: u64, has_outputs: bool, report: &RunReport) -> String {
    let account = &report.account;
    let had = counted(rows_rejected, "row");
    if report.outcome == Outcome::AlreadyLoaded {
        return format!(
            "run {run} had rejected {had}; its rejects were replayed already{}\n",
            match account.rows_rejected {
                0 => String::new(),
                rejected => format!(
                    ", and {} rejected again: fix those with `inrush rejects replay {}`",
                    counted(rejected, "row"),
                    report.run
                ),
            }
        );
    }
    let mut text = format!(
        "run {run} had rejected {had}: {} loaded now",
        account.rows_loaded
    );
    if account.rows_rejected > 0 {
        text.push_str(&format!(
            ", {} rejected again (inrush rejects show {})",
            account.rows_rejected, report.run
        ));
    }
    if account.rows_filtered > 0 && !has_outputs {
        text.push_str(&format!(", {} filtered by steps", account.rows_filtered));
    }
    let found = account.rows_loaded + account.rows_rejected + account.rows_filtered;
    match rows_rejected {
        _ if has_outputs => {}
        had if had > found => text.push_str(&format!(", {} removed by hand", had - found)),
        had if had < found => text.push_str(&format!(", {} added by hand", found - had)),
        _ => {}
    }
    text.push('\n');
    text
}

fn run_name(folder: &Path) -> String {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    absolute
        .file_name()
        .map(|name| one_line(&name.to_string_lossy()).into_owned())
        .unwrap_or_default()
}

impl From<ReplayError> for CommandError {
    fn from(error: ReplayError) -> CommandError {
        match error {
            ReplayError::Package(error) => CommandError::Package(error),
            error => CommandError::Usage {
                what: error.to_string(),
                hint: error
                    .hint()
                    .unwrap_or_else(|| "see the run's folder".to_owned()),
            },
        }
    }
}
