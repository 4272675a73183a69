//! The first part of a run: the plan, the run in the ledger, and everything that the streams need before they load.

use inrush_fault::{self as fault, FaultPoint};
use inrush_package::Package;
use inrush_plan::earlier::Earlier;
use inrush_plan::ledger::{Account, accounts_of_targets};
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::planner::{EnteredRun, Planner, RunEntry};
use inrush_plan::{ContentChecks, PlanError};
use inrush_rows::ids::RunName;

use super::gathering::{Gathering, finished};
use super::prepared::{self, PreparedRun};
use super::replayed::Replayed;
use super::{announcements, ending, lost_rejects, report};
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::naming::{holder, new_run_name};
use crate::pipeline::{Failure, RunOptions, Success, require_address_space};
use crate::report::RunFolder;

/// The result of [`prepare`].
pub enum Prepared {
    /// Nothing is left to do.
    NothingLeft(Box<Success>),
    /// The run holds its lock, and its units can be loaded.
    Run(Box<PreparedRun>),
}

/// The most plans that are made until the run is in the ledger. A planner may need a second plan, made with the lock. One more is
/// needed if another run of the package ends meanwhile.
const PLANS_MAX: u32 = 3;

/// A plan with nothing left to do.
pub struct AlreadyLoaded {
    /// The plan.
    pub plan: LoadPlan,
    /// The name of the run that has loaded it.
    pub run: RunName,
    /// The rows that it has loaded, by flow.
    pub accounts: Vec<Account>,
}

/// The result of [`enter`].
enum Entered {
    /// According to the ledger, exactly these inputs are loaded already.
    AlreadyLoaded(Box<AlreadyLoaded>),
    /// There is something to do.
    Run(Box<EnteredRun>),
}

/// Plans the package and enters the run into the ledger. Kept units whose rejects are lost are forgotten.
pub fn prepare(
    planner: &dyn Planner,
    package: &Package,
    options: &RunOptions<'_>,
    gathering: &mut Gathering,
) -> Result<Prepared, Failure> {
    let entered = match enter(planner, package, options)? {
        Entered::AlreadyLoaded(loaded) => {
            let success = nothing_left(&loaded, options, gathering);
            return Ok(Prepared::NothingLeft(Box::new(success)));
        }
        Entered::Run(entered) => *entered,
    };
    announcements::planned(&entered.plan, options);
    let name = &entered.open.record().name;
    let folder = RunFolder::open(&options.runs_folder, name)?;
    keep_pipes(&entered.plan, &folder)?;
    let EnteredRun {
        plan,
        open,
        is_resumed,
        kept,
        unwanted,
    } = entered;
    let mut run = PreparedRun::new(plan, open, is_resumed, kept, folder);
    prepared::forget(&mut run, &unwanted)?;
    fault::reach(options.fault.as_deref(), FaultPoint::RunEntered);
    if run.resumed {
        lost_rejects::forget(&mut run, options)?;
    }
    prepared::begin(&mut run, package, options)?;
    let streams = run.plan.streams;
    ready(&run, streams, gathering)?;
    Ok(Prepared::Run(Box::new(run)))
}

/// Plans the package, and enters the run into the ledger unless nothing is left to do.
fn enter(
    planner: &dyn Planner,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Entered, Error> {
    // All plans must see the same beginning of a pipe, and none reads a file again for its content.
    let sources = options.sources();
    let contents = ContentChecks::default();
    let replayed = match &options.replays {
        Some(run) => {
            planner.connect(&options.stop)?;
            Some(Replayed::find(planner.ledger(), run)?)
        }
        None => None,
    };
    for number in 1..=PLANS_MAX {
        let is_first = number == 1;
        let plan_options = options.plan_options(&package.run, &*sources, &contents, is_first);
        let plan = planner.plan(package, &plan_options);
        let plan = plan.map_err(|error| match &replayed {
            Some(replayed) => replayed.explained(error),
            None => error.into(),
        })?;
        if let Earlier::Loaded(run) = plan.earlier() {
            let plan = plan.load_plan();
            let targets = plan.flows.iter().map(|flow| flow.reading.target.as_str());
            let targets: Vec<&str> = targets.collect();
            let accounts = accounts_of_targets(planner.ledger(), &run, &targets)?;
            return Ok(Entered::AlreadyLoaded(Box::new(AlreadyLoaded {
                run: run.name,
                accounts,
                plan,
            })));
        }
        plan.shown().require_runnable()?;
        if let Some(replayed) = replayed.as_ref().filter(|_| is_first) {
            let plan = plan.load_plan();
            replayed.refuse_replaced(planner.ledger(), &plan.flows)?;
        }
        // A run that was entered and given up keeps its name in the ledger.
        let entry = RunEntry {
            name: new_run_name(&package.name),
            holder: holder(),
            fault: options.fault.clone(),
        };
        if let Some(entered) = plan.begin(&entry).map_err(of_begin)? {
            return Ok(Entered::Run(Box::new(entered)));
        }
    }
    Err(Error::from(inrush_destination::Error::Held {
        what: format!(
            "this run was planned {PLANS_MAX} times, and each time another run of this package ended meanwhile"
        ),
        hint: "run the same command again: it plans from the current state".to_owned(),
    }))
}

/// The error of a run that could not begin. An error of the destination is not one of planning any more.
fn of_begin(error: PlanError) -> Error {
    match error {
        PlanError::Destination(error) => Error::Destination(error),
        error => error.into(),
    }
}

/// Keeps the data of pipes in the run's folder until the load is done, for flows that may have to read it again.
fn keep_pipes(plan: &LoadPlan, folder: &RunFolder) -> Result<(), Error> {
    let flows = plan.flows.iter().filter(|flow| flow.keeps_pipes);
    for split in flows.flat_map(|flow| flow.splits()) {
        let kept = split.input.keep_in(folder.path());
        kept.map_err(|source| Error::Folder {
            path: folder.path().display().to_string(),
            source,
        })?;
    }
    Ok(())
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
