//! The streams of a run into any destination: their threads, their meter, and their work with rows, rejects and accounts. Also the
//! options of a run ([`RunOptions`]) and its result ([`Success`], [`Failure`]).
//!
//! [`stream_threads`] runs the streams, and [`metering`] samples them meanwhile. Each stream takes pieces of work
//! ([`work_items`](inrush_plan::work_items)). [`work`] is what one transaction loads, and [`row_loop`] takes the rows of this work from
//! their source to the destination. [`split_evidence`], [`kept_rejects`] and [`reject_count`] collect facts about the rows.
//! [`file_checks`] and [`expectations`] compare these facts with the files before anything is published. The sequence of a run and its
//! report are in [`crate::run`](mod@crate::run). A destination is reached by the contract of `inrush_destination`.

mod damage;
pub(crate) mod event_sink;
pub(crate) mod expectations;
pub(crate) mod fed_files;
pub(crate) mod feeding;
pub(crate) mod file_checks;
pub(crate) mod gathered;
pub(crate) mod kept_rejects;
pub(crate) mod metering;
pub(crate) mod naming;
pub(crate) mod piece_events;
pub(crate) mod reading_meter;
mod recheck;
pub(crate) mod reject_count;
pub(crate) mod reject_files;
pub(crate) mod results;
pub(crate) mod row_loop;
pub(crate) mod row_maker;
pub(crate) mod row_steps;
pub(crate) mod rows_at_once;
pub(crate) mod sharing;
pub(crate) mod split_evidence;
pub(crate) mod splitting;
pub(crate) mod stream_threads;
pub(crate) mod threads;
pub(crate) mod unit_writer;
pub(crate) mod work;

use std::path::PathBuf;
use std::sync::Arc;

use inrush_fault::Fault;
use inrush_package::RunSettings;
use inrush_plan::reading::flow_inputs::{OpenSources, Sources, no_sources};
use inrush_plan::{ContentChecks, Obstacles, PlanOptions};
use inrush_rows::cancel::Stop;
use inrush_rows::ids::RunName;

use crate::error::Error;
use crate::event::{Observer, Silent};
use crate::report::{EmbeddedReport, Outcome, RunReport};
use crate::shares::Shares;

pub(crate) use self::threads::{require_address_space, runtime};

/// The options of a run besides its package. The caller reads the environment; the library does not.
///
/// The default loads into the current folder with one stream, sends no events, and can open no source. A caller sets
/// the other fields: `RunOptions { streams_default: 8, ..RunOptions::default() }`.
pub struct RunOptions<'a> {
    /// Relative paths of files start here.
    pub folder: PathBuf,
    /// Folders of runs are made here.
    pub runs_folder: PathBuf,
    /// The number of streams if the package sets none; usually the number of cores.
    pub streams_default: usize,
    /// Load again what an earlier run has loaded.
    pub again: bool,
    /// Where flows with `since` begin, in place of their marks.
    pub from: Option<String>,
    /// Collects the reasons to refuse the plan, if the plan is only shown. Without it, planning ends with the first
    /// reason.
    pub obstacles: Option<&'a Obstacles>,
    /// The run whose rejects are loaded. The rows may belong to any partitions of the targets, and are loaded once.
    pub replays: Option<RunName>,
    /// Divide the work into shares, and wait until other processes have loaded them
    /// ([`load_share`](crate::shares::load_share)).
    pub shares: Option<Shares>,
    /// The folder of installed Python packages, whose drivers are used.
    pub site_packages: Option<PathBuf>,
    /// The embedded server, if the caller started one; its URL is in the package.
    pub embedded: Option<EmbeddedReport>,
    /// Opens the inputs of flows. The caller has the list of sources; the engine names none.
    pub open_sources: OpenSources<'a>,
    /// Asks the run to stop.
    pub stop: Stop,
    /// Receives the events.
    pub observer: &'a dyn Observer,
    /// Returns a hint that replaces an error's own hint. The caller needs it, for example, if its command names an
    /// option differently or does not have the option. The report contains this hint too.
    pub hint: Option<Hint<'a>>,
    /// The fault to cause, for tests.
    pub fault: Option<Arc<Fault>>,
}

/// Returns a hint for an error, if the caller has a better one than the engine.
pub type Hint<'a> = &'a (dyn Fn(&Error) -> Option<String> + Sync);

impl Default for RunOptions<'_> {
    fn default() -> Self {
        RunOptions {
            folder: PathBuf::from("."),
            runs_folder: PathBuf::from("runs"),
            streams_default: 1,
            again: false,
            from: None,
            obstacles: None,
            replays: None,
            shares: None,
            site_packages: None,
            embedded: None,
            open_sources: &no_sources,
            stop: Stop::default(),
            observer: &Silent,
            hint: None,
            fault: None,
        }
    }
}

impl RunOptions<'_> {
    /// The sources of the run, shared by all of its plans.
    pub fn sources(&self) -> Arc<dyn Sources> {
        (self.open_sources)(&self.stop)
    }

    /// The number of streams: the package's setting, or else the caller's.
    pub fn streams(&self, run: &RunSettings) -> usize {
        run.streams.map_or(self.streams_default, usize::from).max(1)
    }

    /// The options for planning a run with these settings. With `unlocked`, another run of the package may be in
    /// progress.
    pub fn plan_options<'a>(
        &'a self,
        run: &RunSettings,
        sources: &'a dyn Sources,
        contents: &'a ContentChecks,
        unlocked: bool,
    ) -> PlanOptions<'a> {
        PlanOptions {
            sources,
            contents,
            folder: &self.folder,
            runs_folder: &self.runs_folder,
            streams: self.streams(run),
            again: self.again,
            from: self.from.as_deref(),
            is_replay: self.replays.is_some(),
            is_shared_out: self.shares.is_some(),
            unlocked,
            stop: &self.stop,
            obstacles: self.obstacles,
        }
    }

    /// How to fix an error, if that is known.
    pub fn hint_for(&self, error: &Error) -> Option<String> {
        let own = self.hint.and_then(|hint| hint(error));
        own.or_else(|| error.hint())
    }
}

/// A run that failed or was interrupted, with its report if it has one.
#[derive(Debug)]
pub struct Failure {
    /// The reason.
    pub error: Error,
    /// The report and its path; the path is `None` if the report could not be written.
    pub report: Option<Box<(RunReport, Option<PathBuf>)>>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            error,
            report: None,
        }
    }
}

/// A run that succeeded.
#[derive(Debug)]
pub struct Success {
    /// The report.
    pub report: RunReport,
    /// The path of the report; `None` if nothing was done or it could not be written.
    pub report_path: Option<PathBuf>,
}

impl Success {
    /// Why the report could not be written, although the rows are loaded.
    pub fn lost_report(&self) -> Option<&str> {
        let is_lost = self.report_path.is_none() && self.report.outcome == Outcome::Loaded;
        let first = self.report.notes.first().filter(|_| is_lost);
        first.map(String::as_str)
    }
}
