//! Connects the steps: the only place that knows all of them.
//!
//! [`prepare`] connects, plans and enters the run into the ledger; [`streams`] runs the streams,
//! each a thread with its own connection; [`load`] is what a stream does with a piece of work, in
//! transactions of [`piece`]; [`metering`] looks at all of them meanwhile; [`conclude`] checks the account, switches
//! and analyzes; [`summary`] writes it all down.

mod anew;
mod careful;
mod conclude;
mod context;
pub(crate) mod contract;
pub(crate) mod copying;
mod coverage;
mod damage;
pub(crate) mod encoder;
mod expectations;
pub(crate) mod expected_keys;
mod feeding;
mod gathering;
mod kept_rejects;
mod load;
mod metering;
mod piece;
pub(crate) mod prepare;
pub(crate) mod proof;
mod reading_meter;
pub(crate) mod ready;
mod recheck;
mod reject_count;
mod reject_files;
mod replicas;
mod results;
pub(crate) mod rows;
mod shared_unit;
mod sharing;
mod splitting;
mod straight;
mod stream_threads;
mod streams;
mod summary;
mod telling;
mod threads;
mod trailer;
mod turns;
mod verifying;
pub(crate) mod work;

use std::fmt;
use std::path::PathBuf;
use std::time::Instant;

use crate::cancel::Stop;
use crate::destination::postgres::{ConnectionDefaults, Session};
use crate::error::Error;
use crate::event::Observer;
use crate::fault::{self, Fault, FaultPoint};
use crate::package::Package;
use crate::plan::routing::KeyScans;
use crate::plan::{self, ContentChecks, ContractPlan, Earlier, Plan, PlanOptions};
use crate::report::{EmbeddedReport, RunReport};
use crate::source::Pipes;

pub(crate) use self::prepare::holder;
use self::summary::Summary;
pub(crate) use self::threads::runtime;

/// What a run is told beside its package. The caller reads the environment; the library does not.
pub struct RunOptions<'a> {
    /// Relative paths of files start here.
    pub folder: PathBuf,
    /// Folders of runs are made here.
    pub runs_folder: PathBuf,
    /// Streams where the package does not say; usually the number of cores.
    pub streams_default: usize,
    /// Load anew what a run has loaded already.
    pub again: bool,
    /// The run whose rejects are loaded: its targets may be partitioned in any way, and they are
    /// loaded once.
    pub replays: Option<String>,
    /// What fills the gaps of a URL.
    pub connection_defaults: ConnectionDefaults,
    /// Where installed Python packages lie, whose drivers are used.
    pub site_packages: Option<PathBuf>,
    /// The embedded server, where the caller started one; its URL stands in the package.
    pub embedded: Option<EmbeddedReport>,
    /// Asks the run to stop.
    pub stop: Stop,
    /// Is told what happens.
    pub observer: &'a dyn Observer,
    /// What a user of the caller's command can do about an error, where that is not what the error's own hint says: an
    /// option, say, that this command has under another name or not at all. The report has it too.
    pub hint: Option<Hint<'a>>,
    /// A wish to die at a step, for tests.
    pub fault: Option<Fault>,
}

/// Says how to mend an error.
pub type Hint<'a> = &'a (dyn Fn(&Error) -> Option<String> + Sync);

impl RunOptions<'_> {
    /// How to mend an error, where that is known.
    pub fn hint_for(&self, error: &Error) -> Option<String> {
        let own = self.hint.and_then(|hint| hint(error));
        own.or_else(|| error.hint())
    }
}

/// A run that did not end well, with its report where it came so far.
#[derive(Debug)]
pub struct Failure {
    /// Why.
    pub error: Error,
    /// What happened until then, and where that is written.
    pub report: Option<Box<(RunReport, PathBuf)>>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure {
            error,
            report: None,
        }
    }
}

/// A run that ended well.
#[derive(Debug)]
pub struct Success {
    /// What happened.
    pub report: RunReport,
    /// Where it is written; nowhere where nothing was to be done.
    pub report_path: Option<PathBuf>,
}

/// A package's plan, by whichever way its destination is reached.
#[derive(Clone, Debug)]
pub enum Checked {
    /// A server of PostgreSQL.
    Postgres(Box<Plan>),
    /// A destination that is reached by the contract.
    Contract(Box<ContractPlan>),
}

impl Checked {
    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    pub fn require_runnable(&self) -> Result<(), Error> {
        match self {
            Checked::Postgres(plan) => Ok(plan.require_privileges()?),
            Checked::Contract(_) => Ok(()),
        }
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Checked::Postgres(plan) => plan.fmt(f),
            Checked::Contract(plan) => plan.fmt(f),
        }
    }
}

/// Plans a resolved package without running it.
pub fn check(package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error> {
    package.check()?;
    if contract::is_meant(package)? {
        let plan = contract::check(package, options)?;
        return Ok(Checked::Contract(Box::new(plan)));
    }
    let runtime = runtime()?;
    runtime.block_on(async {
        let address = prepare::address(package, options)?;
        let session = Session::open(&address, "inrush check").await?;
        let pipes = Pipes::new(options.stop.clone());
        let key_scans = KeyScans::default();
        let contents = ContentChecks::default();
        let plan_options = plan_options(options, &pipes, &key_scans, &contents, false);
        let plan = plan::build(&session, &address, package, &plan_options).await?;
        session.close().await;
        Ok(Checked::Postgres(Box::new(plan)))
    })
}

/// Runs a resolved package to its end, or until it is asked to stop.
pub fn run(package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure> {
    package.check().map_err(Error::from)?;
    if contract::is_meant(package)? {
        return contract::run(package, options);
    }
    let mut summary = Summary::begin();
    let runtime = runtime()?;
    let address = prepare::address(package, options)?;
    let prepared = runtime.block_on(async {
        tokio::select! {
            biased;
            prepared = prepare::prepare(package, &address, options) => prepared,
            _ = options.stop.wait() => Err(Error::Interrupted),
        }
    })?;
    let mut prepared = match prepared {
        prepare::Prepared::AlreadyLoaded { plan, accounts } => {
            return Ok(already_loaded(&summary, &plan, &accounts, options));
        }
        prepare::Prepared::Run(prepared) => *prepared,
    };
    summary.planned(&prepared);

    let loading = Instant::now();
    let mut error = splitting::resolve(&mut prepared, options).err();
    if error.is_none() {
        let context = prepared.context(&address, options);
        error = streams::run(&runtime, &context, &mut summary).err();
    }
    summary.gathering.phases.load_s = loading.elapsed().as_secs_f64();
    if error.is_none() {
        fault::reach(options.fault.as_ref(), FaultPoint::BeforeSwitch);
        let context = prepared.context(&address, options);
        let concluded = runtime.block_on(conclude::conclude(
            &context,
            &prepared.control,
            package,
            &mut summary,
        ));
        error = concluded.err();
    }
    fault::reach(options.fault.as_ref(), FaultPoint::BeforeReport);
    let mut report = runtime.block_on(summary.report(&prepared, options, error.as_ref()));
    let report_path = prepared.folder.report_path();
    let written = prepared.folder.write_report(&mut report);
    let finished = gathering::finished(&report, Some(report_path.display().to_string()));
    prepared.folder.notice(&finished);
    options.observer.notice(&finished);
    runtime.block_on(prepared.control.close());
    match error {
        Some(error) => Err(Failure {
            error,
            report: Some(Box::new((report, report_path))),
        }),
        None => {
            written?;
            Ok(Success {
                report,
                report_path: Some(report_path),
            })
        }
    }
}

fn already_loaded(
    summary: &Summary,
    plan: &Plan,
    accounts: &[crate::ledger::Account],
    options: &RunOptions<'_>,
) -> Success {
    let report = summary.already_loaded(plan, accounts, options);
    options.observer.notice(&gathering::finished(&report, None));
    Success {
        report,
        report_path: None,
    }
}

pub(crate) fn plan_options<'a>(
    options: &'a RunOptions<'_>,
    pipes: &'a Pipes,
    key_scans: &'a KeyScans,
    contents: &'a ContentChecks,
    unlocked: bool,
) -> PlanOptions<'a> {
    PlanOptions {
        pipes,
        key_scans,
        contents,
        folder: &options.folder,
        streams_default: options.streams_default,
        again: options.again,
        is_replay: options.replays.is_some(),
        unlocked,
        obstacles: None,
    }
}

/// Whether a plan has nothing left to do.
fn is_loaded(plan: &Plan) -> bool {
    matches!(plan.earlier, Earlier::Loaded(_))
}
