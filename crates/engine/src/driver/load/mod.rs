//! Runs packages into destinations of the contract of `inrush_destination`, without knowing which one it is.
//!
//! [`prepare`] opens the destination, plans, and holds the run's lock; [`streams`] runs the streams, each of
//! which loads units through its [`stream`]; [`conclude`] checks the account and publishes; [`summary`] writes the report.

mod conclude;
mod kept;
mod ledger_checks;
pub mod prepare;
mod stream;
mod streams;
mod summary;

use std::time::Instant;

use inrush_package::Package;
use inrush_rows::cancel::Stop;
use inrush_source::SourceError;
use tokio::runtime::Runtime;

use self::prepare::ContractPrepared;
use self::summary::ContractSummary;
use super::OpenDestination;
use super::plan::{ContractFlow, ContractPlan};
use crate::error::Error;
use crate::event::{Event, Observer};
use crate::fault::{self, Fault, FaultPoint};
use crate::load::{LoadRun, StraightLock};
use crate::pace::Pace;
use crate::pipeline::report_facts::finished;
use crate::pipeline::{Failure, RunOptions, Success, ending, require_address_space, runtime};

/// What the parts of a run share.
#[derive(Clone, Copy)]
struct ContractContext<'a> {
    run: &'a prepare::ContractRun,
    /// Waits for feeds, and for the rate.
    runtime: &'a Runtime,
    stop: &'a Stop,
    observer: &'a dyn Observer,
    fault: Option<&'a Fault>,
    pace: &'a Pace,
}

impl<'a> ContractContext<'a> {
    fn event_sink(&self) -> crate::pipeline::event_sink::EventSink<'a> {
        crate::pipeline::event_sink::EventSink {
            folder: &self.run.folder,
            observer: self.observer,
        }
    }

    fn notice(&self, event: &Event) {
        self.event_sink().notice(event);
    }

    /// What the loader is to know of the run.
    fn load_run(&self) -> LoadRun<'a, ContractFlow> {
        let run = self.run;
        LoadRun {
            flows: &run.plan.flows,
            event_sink: self.event_sink(),
            stop: self.stop,
            fault: self.fault,
            fed_files: &run.fed_files,
            sharing: &run.sharing,
            rejects: &run.rejects,
            flow_counts: &run.flow_counts,
            chunk_bytes: run.plan.settings.chunk_bytes as usize,
            batch_rows: run.plan.batch_rows,
            fed_bytes: run.plan.abilities.unit_bytes,
            straight_lock: StraightLock::default(),
        }
    }

    /// Blocks until a feed has what is waited for, or until the run is asked to stop.
    fn wait_for_feed<T>(
        &self,
        feed: impl Future<Output = Result<T, SourceError>>,
    ) -> Result<T, Error> {
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = self.stop.wait() => Err(Error::Interrupted),
                next = feed => Ok(next?),
            }
        })
    }
}

/// Plans a package without running it.
pub fn check(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<ContractPlan, Error> {
    let runtime = runtime()?;
    let destination = prepare::reach(open, package, options)?;
    runtime.block_on(prepare::plan(destination.as_ref(), package, options))
}

/// Runs a package to its end, or until it is asked to stop.
pub fn run(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Success, Failure> {
    let runtime = runtime()?;
    let mut summary = ContractSummary::begin();
    let destination = prepare::reach(open, package, options)?;
    let prepared = runtime.block_on(prepare::prepare(destination.as_ref(), package, options))?;
    let run = match prepared {
        ContractPrepared::AlreadyLoaded(plan) => {
            let report = summary.already_loaded(&plan, options);
            options.observer.notice(&finished(&report, None));
            return Ok(Success {
                report,
                report_path: None,
            });
        }
        ContractPrepared::Run(run) => *run,
    };
    summary.gathering.planned(&run.plan.notes);
    require_address_space(run.plan.streams, run.plan.memory.total())?;
    let context = ContractContext {
        run: &run,
        runtime: &runtime,
        stop: &options.stop,
        observer: options.observer,
        fault: options.fault.as_ref(),
        pace: &Pace::new(run.plan.settings.rate_bytes_max),
    };
    let loading = Instant::now();
    let mut error = streams::run(&runtime, &context, &mut summary).err();
    summary.gathering.phases.load_s = loading.elapsed().as_secs_f64();
    summary
        .gathering
        .paced(context.pace, "`rate_bytes_max` asks");
    if error.is_none() {
        fault::reach(context.fault, FaultPoint::BeforeSwitch);
        let publishing = Instant::now();
        error = conclude::conclude(&runtime, &context, destination.as_ref(), &mut summary).err();
        summary.gathering.phases.switch_s = publishing.elapsed().as_secs_f64();
    }
    fault::reach(context.fault, FaultPoint::BeforeReport);
    let report = summary.report(&run, options, error.as_ref());
    let ended = ending::end(context.event_sink(), report, error);
    // Lets go of the run's lock, and of the destination's files, before the caller is told.
    drop(run);
    drop(destination);
    ended
}
