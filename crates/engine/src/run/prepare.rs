//! The first part of a run: the plan, the run in the ledger, and everything that the streams need before they load.

use inrush_package::Package;
use tokio::runtime::Runtime;

use super::gathering::{Gathering, finished};
use super::prepared::{PreparedRun, begin};
use super::steps::{AlreadyLoaded, LoadSteps, Preparation};
use super::{ending, lost_rejects, report};
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::{Failure, RunOptions, Success, require_address_space};
use inrush_fault::{self as fault, FaultPoint};

/// The result of [`prepare`].
pub enum Prepared {
    /// Nothing is left to do.
    NothingLeft(Box<Success>),
    /// The run holds its lock, and its units can be loaded.
    Run(Box<PreparedRun>),
}

/// Plans the package and enters the run into the ledger. Kept units whose rejects are lost are forgotten.
pub fn prepare(
    steps: &dyn LoadSteps,
    runtime: &Runtime,
    package: &Package,
    options: &RunOptions<'_>,
    gathering: &mut Gathering,
) -> Result<Prepared, Failure> {
    let mut run = match steps.prepare(runtime)? {
        Preparation::AlreadyLoaded(loaded) => {
            let success = nothing_left(&loaded, options, gathering);
            return Ok(Prepared::NothingLeft(Box::new(success)));
        }
        Preparation::Run(run) => run,
    };
    fault::reach(options.fault.as_deref(), FaultPoint::RunEntered);
    if run.resumed {
        lost_rejects::forget(&mut run, options)?;
    }
    begin(&mut run, package, options)?;
    let streams = run.plan.streams;
    ready(&run, streams, gathering)?;
    Ok(Prepared::Run(run))
}

/// Called when the plan is made and the run is in the ledger. Refuses the run if this process may not have the memory
/// for this many streams.
pub fn ready(run: &PreparedRun, streams: usize, gathering: &mut Gathering) -> Result<(), Error> {
    gathering.planned(run.plan.notes.iter().chain(&run.notes));
    require_address_space(streams, run.plan.memory.total())
}

/// Reports that all files are loaded already.
fn nothing_left(
    loaded: &AlreadyLoaded,
    options: &RunOptions<'_>,
    gathering: &Gathering,
) -> Success {
    let mut report = report::of_loaded(loaded, gathering, options);
    ending::write_missing_report(&mut report, options);
    report::say_nothing_new(&mut report, loaded);
    for text in report.notes.iter().cloned() {
        options.observer.notice(&Event::Note { text });
    }
    options.observer.notice(&finished(&report, None));
    Success {
        report,
        report_path: None,
    }
}
