//! Runs a ready package with its database opened: shows progress, and lets signals stop it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use inrush::cancel::Stop;
use inrush::event::{Observer, Silent};
use inrush::fault::Fault;
use inrush::ids::RunName;
use inrush::package::Package;
use inrush::plan::Obstacles;
use inrush::printable::indented;
use inrush::reject::RejectCode;
use inrush::report::RunReport;
use inrush::shares::{ShareLoaded, Shares};
use inrush::source::names_a_pipe;
use inrush::{Checked, ConnectionDefaults, Failure, Hint, RowStream, RunOptions, Success};
use inrush_system::threads::cores;

use crate::arguments::RunArguments;
use crate::credentials;
use crate::embedded::Reached;
use crate::errors::CommandError;
use crate::json_events::JsonEvents;
use crate::names::readable;
use crate::numbers::counted;
use crate::output;
use crate::progress::Progress;
use crate::run_summary::report_line;
use crate::signals::{self, AFTER_A_PIPE, Left};

/// The output of a run while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// No output.
    Quiet,
    /// Progress bars, if a person can see them.
    Bars,
    /// One line of JSON for each event.
    Json,
}

impl OutputMode {
    /// The mode of `--json` and `--quiet`.
    pub fn of(json: bool, quiet: bool) -> OutputMode {
        match (json, quiet) {
            (true, _) => OutputMode::Json,
            (false, true) => OutputMode::Quiet,
            (false, false) => OutputMode::Bars,
        }
    }
}

/// The setup of a package's run.
pub struct RunSetup<'a> {
    /// The folder of its relative paths.
    pub folder: PathBuf,
    /// The folder of the runs' folders.
    pub runs_folder: PathBuf,
    /// True if data that an earlier run has loaded are loaded again.
    pub again: bool,
    /// Where flows with `since` begin, in place of their marks.
    pub from: Option<String>,
    /// Its output while it works.
    pub output_mode: OutputMode,
    /// The run whose rejects are loaded.
    pub replays: Option<RunName>,
    /// Set if other processes load the run, too, in shares.
    pub shares: Option<Shares>,
    /// A folder that is removed if the run is ended at once.
    pub disposable: Option<PathBuf>,
    /// The stop that a signal sets; after the run it still shows a signal that came too late.
    pub stop: Stop,
    /// A hint for an error, for commands whose fix differs from the fix of `inrush run`.
    pub hint: Option<Hint<'a>>,
    /// Rows of a program, in place of what the only flow names.
    pub rows: Option<RowStream>,
}

impl RunSetup<'_> {
    /// The settings that the arguments ask for.
    pub fn new(arguments: &RunArguments, folder: &Path) -> RunSetup<'static> {
        RunSetup {
            folder: folder.to_owned(),
            runs_folder: arguments.runs_folder.clone(),
            again: arguments.again,
            from: None,
            output_mode: OutputMode::of(arguments.json, arguments.quiet),
            replays: None,
            shares: None,
            disposable: None,
            stop: Stop::default(),
            hint: None,
            rows: None,
        }
    }

    /// The settings of a share; those that are not given come from the run.
    pub fn of_share(folder: &Path, output_mode: OutputMode) -> RunSetup<'static> {
        RunSetup {
            folder: folder.to_owned(),
            runs_folder: PathBuf::new(),
            again: false,
            from: None,
            output_mode,
            replays: None,
            shares: None,
            disposable: None,
            stop: Stop::default(),
            hint: None,
            rows: None,
        }
    }
}

/// The fault for tests, from the environment; a mistake in it is an error before anything is done.
pub fn fault() -> Result<Option<Fault>, CommandError> {
    let Some(text) = credentials::variable("INRUSH_FAULT")? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|what| CommandError::Usage {
        what: format!("INRUSH_FAULT: {what}"),
        hint: "it is for tests only; unset it".to_owned(),
    })
}

/// Refuses `--from` for a package without incremental flows.
pub fn require_since(package: &Package, from: Option<&str>) -> Result<(), CommandError> {
    let mut sources = package.flows.iter().filter_map(|flow| flow.source.as_ref());
    match from {
        Some(_) if !sources.any(|source| source.since.is_some()) => Err(CommandError::Usage {
            what: "--from says where flows with `since` begin, and no flow of the package has it".to_owned(),
            hint: "leave --from out, or write `since = { column = \"...\" }` into the `source` of a flow"
                .to_owned(),
        }),
        _ => Ok(()),
    }
}

/// Plans a package whose database is open, without loading anything.
pub fn plan(
    reached: &Reached,
    folder: PathBuf,
    again: bool,
    from: Option<String>,
) -> Result<Checked, CommandError> {
    planned(reached, folder, again, from, None)
}

/// Plans a package to look at its rows, including rows that are loaded already and rows that the target cannot take.
/// The reasons to refuse a run are added to `obstacles`.
pub fn plan_to_look(
    reached: &Reached,
    folder: PathBuf,
    obstacles: &Obstacles,
) -> Result<Checked, CommandError> {
    planned(reached, folder, true, None, Some(obstacles))
}

fn planned(
    reached: &Reached,
    folder: PathBuf,
    again: bool,
    from: Option<String>,
    obstacles: Option<&Obstacles>,
) -> Result<Checked, CommandError> {
    let defaults = credentials::connection_defaults()?;
    let open_sources = inrush::open_sources(&defaults, reached.site_packages.as_deref());
    let options = RunOptions {
        open_sources: &open_sources,
        folder,
        streams_default: cores(),
        again,
        from,
        obstacles,
        site_packages: reached.site_packages.clone(),
        embedded: reached.report.clone(),
        ..RunOptions::default()
    };
    Ok(inrush::check(&reached.package, &options, &defaults)?)
}

/// Runs a package to its end, or until a signal stops it.
pub fn run(
    reached: &Reached,
    setup: &RunSetup<'_>,
) -> Result<Success, (CommandError, Option<Box<FailedRun>>)> {
    let key = credentials::open_lineage_key().map_err(|error| (error, None))?;
    stoppable(reached, setup, |options, defaults| {
        inrush::run_with_events(&reached.package, options, defaults, key)
    })
}

/// Loads a share of a run that another process has begun, or until a signal stops it.
pub fn load_share(
    reached: &Reached,
    setup: &RunSetup<'_>,
    plan_file: &Path,
    share: usize,
) -> Result<ShareLoaded, CommandError> {
    let loaded = stoppable(reached, setup, |options, defaults| {
        inrush::load_share(&reached.package, &options, defaults, plan_file, share)
    });
    loaded.map_err(|(error, _)| error)
}

/// Does the work of a load, which a signal stops.
fn stoppable<T>(
    reached: &Reached,
    setup: &RunSetup<'_>,
    work: impl FnOnce(RunOptions<'_>, &ConnectionDefaults) -> Result<T, Failure>,
) -> Result<T, (CommandError, Option<Box<FailedRun>>)> {
    let observer: Box<dyn Observer> = match setup.output_mode {
        OutputMode::Json => Box::new(JsonEvents::default()),
        OutputMode::Bars if output::shows_progress() => Box::new(Progress::new()),
        OutputMode::Bars | OutputMode::Quiet => Box::new(Silent),
    };
    let stop = &setup.stop;
    let reads_a_pipe = reads_a_pipe(reached, &setup.folder);
    let hint = |error: &inrush::Error| {
        let own = setup.hint.and_then(|hint| hint(error));
        own.or_else(|| hint_for(error, reached, reads_a_pipe))
    };
    let defaults = credentials::connection_defaults().map_err(|error| (error, None))?;
    let of_package = inrush::open_sources(&defaults, reached.site_packages.as_deref());
    let of_rows = |rows| inrush::open_row_stream(rows, reached.site_packages.as_deref());
    let of_program = setup.rows.as_ref().map(of_rows);
    let options = RunOptions {
        open_sources: match &of_program {
            Some(of_program) => of_program,
            None => &of_package,
        },
        folder: setup.folder.clone(),
        runs_folder: setup.runs_folder.clone(),
        streams_default: cores(),
        again: setup.again,
        obstacles: None,
        from: setup.from.clone(),
        replays: setup.replays.clone(),
        shares: setup.shares,
        site_packages: reached.site_packages.clone(),
        embedded: reached.report.clone(),
        stop: stop.clone(),
        observer: observer.as_ref(),
        hint: Some(&hint),
        fault: fault()
            .map_err(|error| (error, None))?
            .map(|fault| Arc::new(fault.heeding(stop))),
    };
    let left = if reached.is_temporary() || setup.disposable.is_some() {
        Left::Nothing(setup.disposable.clone())
    } else if !reached.package.run.staging {
        Left::OneTransaction
    } else if reads_a_pipe {
        Left::UnitsButOfPipes
    } else {
        Left::Units
    };
    let guard = signals::stop_cleanly(stop, left);
    let result = work(options, &defaults);
    drop(guard);
    drop(observer);
    result.map_err(|failure| {
        let hint = hint(&failure.error);
        told(failure, hint, reached, reads_a_pipe)
    })
}

fn reads_a_pipe(reached: &Reached, folder: &Path) -> bool {
    let flows = reached.package.flows.iter();
    let patterns = flows.flat_map(|flow| flow.files.patterns());
    names_a_pipe(patterns.map(String::as_str), folder)
}

/// A run that failed, with its report.
#[derive(Debug)]
pub struct FailedRun {
    /// The report so far.
    pub report: RunReport,
    /// The path of the report; `None` if it could not be written.
    pub report_path: Option<PathBuf>,
}

/// The hint for an error, if the engine's own does not fit this command.
fn hint_for(error: &inrush::Error, reached: &Reached, reads_a_pipe: bool) -> Option<String> {
    match error {
        inrush::Error::Interrupted if reached.is_temporary() => Some(
            "the embedded server and its data are gone; embedded:FOLDER keeps them, and the same \
             command resumes"
                .to_owned(),
        ),
        error
            if reads_a_pipe
                && !reached.package.run.staging
                && !reached.is_temporary()
                && may_go_on(error) =>
        {
            Some(
                "the data read from a pipe is lost, and nothing is in the targets (staging = \
                 false): send all of the data again, to the same command"
                    .to_owned(),
            )
        }
        inrush::Error::Interrupted if !reached.package.run.staging => Some(
            "nothing is in the targets (staging = false); the same command loads all of it"
                .to_owned(),
        ),
        // A pipe has other data the next time, so none of its units are kept.
        error if reads_a_pipe && !reached.is_temporary() && may_go_on(error) => {
            Some(AFTER_A_PIPE.to_owned())
        }
        // A larger limit of rejects does not help for a row outside all partitions.
        inrush::Error::RejectLimit { reject, .. }
            if reject.code == RejectCode::OutsidePartition =>
        {
            None
        }
        inrush::Error::RejectLimit { limit, inputs, .. }
            if reached.package.origin.file().is_some() =>
        {
            Some(format!(
                "{} and run the same command again, or accept more in the package: rejects = \
                 {{ rows_max = {} }}",
                inputs.fix_row(),
                (limit + 1).max(100)
            ))
        }
        _ => None,
    }
}

fn told(
    failure: Failure,
    hint: Option<String>,
    reached: &Reached,
    reads_a_pipe: bool,
) -> (CommandError, Option<Box<FailedRun>>) {
    let ended = failure.report.map(|report| {
        let (report, report_path) = *report;
        Box::new(FailedRun {
            report,
            report_path,
        })
    });
    let mut notes = Vec::new();
    if !reached.is_temporary()
        && !reads_a_pipe
        && let Some(kept) = ended.as_ref().and_then(|ended| kept(&ended.report))
    {
        notes.push(kept);
    }
    // A load in a single transaction keeps nothing if it fails.
    let staying = ended
        .as_ref()
        .filter(|_| reached.package.run.staging)
        .and_then(|ended| straight(&ended.report));
    if let Some(straight) = staying {
        notes.push(straight);
    }
    if let Some(words) = reached.last_words() {
        notes.push(format!(
            "the embedded server ended; its log says:\n        {}",
            indented(&words)
        ));
    }
    match ended
        .as_ref()
        .map(|ended| (&ended.report_path, &ended.report))
    {
        Some((Some(path), _)) => notes.push(report_line(path)),
        // The first note says that the report could not be written.
        Some((None, report)) => notes.extend(report.notes.first().cloned()),
        None => {}
    }
    let error = CommandError::Engine {
        error: failure.error,
        notes,
        hint,
    };
    (error, ended)
}

/// The note about rows that a stopped run wrote directly to targets, where they stay.
fn straight(report: &RunReport) -> Option<String> {
    let units = report.units.iter().filter(|unit| unit.straight);
    let rows: u64 = units.clone().map(|unit| unit.account.rows_loaded).sum();
    let flows: BTreeSet<&str> = units.map(|unit| unit.flow.as_str()).collect();
    let targets = report.tables.iter();
    let targets = targets.filter(|table| flows.contains(table.flow.as_str()));
    (rows > 0).then(|| {
        format!(
            "stays: {} were written directly to {} (atomic = false); fix the cause, then the same \
             command loads the rest",
            counted(rows, "row"),
            targets
                .map(|table| readable(&table.target))
                .collect::<Vec<String>>()
                .join(", ")
        )
    })
}

/// True if the error's own hint says that the same command resumes the load.
fn may_go_on(error: &inrush::Error) -> bool {
    match error {
        inrush::Error::Interrupted => true,
        inrush::Error::Destination(error) => error.is_lost(),
        _ => false,
    }
}

/// The note about the units of a stopped run that the next one keeps.
fn kept(report: &RunReport) -> Option<String> {
    let finished = report
        .units
        .iter()
        .filter(|unit| unit.finished && !unit.straight);
    let rows: u64 = finished.clone().map(|unit| unit.account.rows_loaded).sum();
    let units = finished.count();
    (units > 0).then(|| {
        format!(
            "kept: {units} of {}, {} staged",
            counted(report.units.len() as u64, "unit"),
            counted(rows, "row")
        )
    })
}
