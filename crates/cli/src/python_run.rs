//! `inrush.run` and `inrush.load` of Python: run a package, or load rows, for a program, and return the result as JSON.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatchReader;
use clap::Parser;
use inrush::cancel::Stop;
use inrush::package::{Overrides, not_local};
use inrush::printable::escaped;
use inrush::report::RunReport;
use inrush::secrets::{mask_json, masked};
use inrush::{ExitStatus, RowStream};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Command};
use crate::errors::CommandError;
use crate::running::{self, FailedRun, OutputMode, RunSetup};
use crate::{Surroundings, embedded, load_package, package_file};

/// The request of a program.
#[derive(Clone, Default)]
pub struct RunRequest {
    /// The package.
    pub package: PathBuf,
    /// Values that replace those of the package's parameters.
    pub parameters: Vec<(String, String)>,
    /// URLs that replace those of the package's connections.
    pub connections: Vec<(String, String)>,
    /// The number of streams.
    pub streams: Option<u16>,
    /// True if data that an earlier run has loaded are loaded again.
    pub again: bool,
    /// The value at which incremental flows begin, in place of their marks.
    pub from: Option<String>,
    /// The folder of the runs' folders.
    pub runs_folder: PathBuf,
    /// True if the package may load drivers that it names by a path or an option, and open data folders that came with
    /// it.
    pub trust: bool,
}

/// Runs a package and returns `{exit_status, error, report, report_path}`.
pub fn run(request: RunRequest, surroundings: &Surroundings) -> Value {
    result_json(run_package(request, surroundings))
}

fn result_json(ended: Told<(RunReport, Option<PathBuf>)>) -> Value {
    match ended {
        Ok((report, path)) => answer(report.exit_status, None, Some((&report, path.as_deref()))),
        Err((error, ended)) => answer(
            error.exit_status(),
            // A traceback may print the message on a terminal, so it is escaped.
            Some(escaped(&masked(error.to_string().trim_end())).as_ref()),
            ended
                .as_ref()
                .map(|ended| (&ended.report, ended.report_path.as_deref())),
        ),
    }
}

/// Loads rows of a program, with the arguments of `inrush load`. Returns `{exit_status, error, report, report_path}`.
pub fn load(
    words: Vec<String>,
    rows: Box<dyn RecordBatchReader + Send>,
    surroundings: &Surroundings,
) -> Value {
    result_json(load_rows(words, rows, surroundings))
}

fn load_rows(
    words: Vec<String>,
    rows: Box<dyn RecordBatchReader + Send>,
    surroundings: &Surroundings,
) -> Told<(RunReport, Option<PathBuf>)> {
    let alone = |error| (error, None);
    running::fault().map_err(alone)?;
    // Like standard input, these rows can be read only once.
    let words = ["inrush", "load", "-"]
        .map(str::to_owned)
        .into_iter()
        .chain(words);
    let arguments = match Arguments::try_parse_from(words) {
        Ok(Arguments {
            command: Command::Load(arguments),
            ..
        }) => arguments,
        Ok(_) => {
            return Err(alone(CommandError::Usage {
                what: "the arguments name another command than load".to_owned(),
                hint: "see help(inrush.load)".to_owned(),
            }));
        }
        Err(error) => {
            let text = error.to_string();
            let what = text.lines().next().unwrap_or_default();
            return Err(alone(CommandError::Usage {
                what: what.strip_prefix("error: ").unwrap_or(what).to_owned(),
                hint: "see help(inrush.load)".to_owned(),
            }));
        }
    };
    let rows = RowStream::new(rows).map_err(|error| {
        let error = inrush::Error::Source(error);
        alone(CommandError::Engine {
            error,
            notes: Vec::new(),
            hint: None,
        })
    })?;
    let package = load_package::package_of(&arguments).map_err(alone)?;
    let ready =
        package_file::ready(&package, &Overrides::default(), PathBuf::from(".")).map_err(alone)?;
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)
        .map_err(alone)?;
    let setup = RunSetup {
        output_mode: OutputMode::Quiet,
        rows: Some(rows),
        ..RunSetup::new(&arguments.run, &ready.folder)
    };
    let mut success = running::run(&reached, &setup)?;
    success.report.notes.extend(reached.stop_after_commit());
    Ok((success.report, success.report_path))
}

type Told<T> = Result<T, (CommandError, Option<Box<FailedRun>>)>;

fn run_package(
    request: RunRequest,
    surroundings: &Surroundings,
) -> Told<(RunReport, Option<PathBuf>)> {
    let alone = |error| (error, None);
    running::fault().map_err(alone)?;
    if let Some((what, hint)) = request.runs_folder.to_str().and_then(not_local) {
        return Err(alone(CommandError::Usage { what, hint }));
    }
    let overrides = Overrides {
        parameters: request.parameters,
        connections: request.connections,
    };
    let mut ready = package_file::read_by_program(&request.package, &overrides, request.trust)
        .map_err(alone)?;
    if let Some(streams) = request.streams {
        ready.package.run.streams = Some(streams);
        ready.package.check().map_err(|error| alone(error.into()))?;
    }
    running::require_since(&ready.package, request.from.as_deref()).map_err(alone)?;
    let reached = embedded::reach(ready.package, &ready.folder, ready.data_trust, surroundings)
        .map_err(alone)?;
    let setup = RunSetup {
        folder: ready.folder,
        runs_folder: request.runs_folder,
        again: request.again,
        from: request.from,
        output_mode: OutputMode::Quiet,
        replays: None,
        shares: None,
        disposable: None,
        stop: Stop::default(),
        hint: None,
        rows: None,
    };
    let mut success = running::run(&reached, &setup)?;
    success.report.notes.extend(reached.stop_after_commit());
    Ok((success.report, success.report_path))
}

fn answer(
    exit_status: ExitStatus,
    error: Option<&str>,
    report: Option<(&RunReport, Option<&Path>)>,
) -> Value {
    let mut answer = json!({
        "exit_status": exit_status.code(),
        // The text of a Python exception does not begin with `error: `.
        "error": error.map(|text| text.strip_prefix("error: ").unwrap_or(text)),
        "report": report.map(|(report, _)| report),
    });
    mask_json(&mut answer);
    // The path is never masked, because the program must be able to open it.
    answer["report_path"] = json!(
        report
            .and_then(|(_, path)| path)
            .map(|path| path.display().to_string())
    );
    answer
}
