//! A run from its start to its end, the same for every destination:
//!
//! ```text
//! prepare ──> forget lost rejects ──> begin ──> ready ──> load ──> account ──> switch ──> analyze ──> report
//!    └─ nothing is left to do ──> report
//! ```
//!
//! Other processes may take part in `load` ([`shares`]); one process does all other steps.
//!
//! A driver implements the steps that only it can do ([`LoadSteps`]). [`prepared`] has the state of a run and the work
//! that is kept from earlier attempts, [`lost_rejects`] finds kept work that must be loaded again, [`first_rows`] reads
//! the keys of all rows before the load if a step keeps the first of several rows (`distinct_on`), [`account`] compares
//! the ledger with the destination's counts, [`publish`] makes the rows visible, [`gathering`], [`unit_reports`] and
//! [`report`] make the report, and [`ending`] writes it.

pub(crate) mod account;
pub(crate) mod announcements;
pub(crate) mod context;
pub(crate) mod ending;
pub(crate) mod first_rows;
pub(crate) mod gathering;
mod lost_rejects;
pub(crate) mod plan;
pub(crate) mod prepared;
mod publish;
mod report;
pub(crate) mod steps;
pub(crate) mod unit_reports;

use std::collections::BTreeMap;
use std::time::Instant;

use inrush_package::Package;
use inrush_rows::cancel::StopReason;

use self::account::Verified;
use self::context::RunContext;
use self::gathering::{Gathering, finished};
use self::plan::RunPlan;
use self::prepared::{begin, find_first_records, work_left};
use self::steps::{LoadSteps, Preparation, SwitchedTarget};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::pipeline::{
    Failure, RunOptions, Success, require_address_space, runtime, stream_threads,
};
use crate::plan::PlannedFlow;
use crate::shares;

/// Runs a package to its end, or until it is asked to stop.
pub fn run<S: LoadSteps>(
    steps: &S,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Success, Failure> {
    let mut gathering = Gathering::begin();
    let runtime = runtime()?;
    let mut run = match steps.prepare(&runtime)? {
        Preparation::AlreadyLoaded(loaded) => {
            let mut report = report::of_loaded(&loaded, &gathering, options);
            ending::write_missing_report(&mut report, options);
            report::say_nothing_new(&mut report, &loaded);
            for text in report.notes.iter().cloned() {
                options.observer.notice(&Event::Note { text });
            }
            options.observer.notice(&finished(&report, None));
            return Ok(Success {
                report,
                report_path: None,
            });
        }
        Preparation::Run(run) => *run,
    };
    fault::reach(options.fault.as_ref(), FaultPoint::RunEntered);
    if run.resumed {
        lost_rejects::forget(steps, &runtime, &mut run, options)?;
    }
    begin(&mut run, package, options)?;
    steps.ready(&runtime, &mut run)?;
    let facts = run.plan.facts();
    gathering.planned(&facts.notes);
    require_address_space(facts.streams, facts.memory.total())?;

    let gauges = stream_threads::gauges(facts.streams);
    let loading = Instant::now();
    let found = find_first_records(&mut run, options);
    let found = found.and_then(|()| first_rows::find(&run, options, &mut gathering));
    steps.take_gauges(&mut run, &gauges);
    let context = RunContext::new(&run, &runtime, options);
    let loaded = found.and_then(|()| match options.shares {
        None => steps.load(&context, work_left(&context), &gauges, &mut gathering),
        Some(shares) => shares::coordinate::coordinate(
            steps,
            &context,
            package,
            shares,
            &gauges,
            &mut gathering,
        ),
    });
    let loaded = loaded.and_then(|()| steps.finish_units(&context, &mut gathering));
    gathering.phases.load_s = loading.elapsed().as_secs_f64();
    context.tell_paces(S::PACED_BY, &mut gathering);

    let mut verified = None;
    let mut switched = BTreeMap::new();
    let mut error = loaded.err();
    if error.is_none() {
        fault::reach(context.fault, FaultPoint::BeforeSwitch);
        let switching = Instant::now();
        match conclude(steps, &context, options, &mut verified, &mut gathering) {
            Ok(targets) => switched = targets,
            Err(failed) => error = Some(failed),
        }
        gathering.phases.switch_s = switching.elapsed().as_secs_f64();
    }
    if error.is_none() && steps.analyzes() {
        let analyzing = Instant::now();
        steps.analyze(&context, &mut gathering);
        gathering.phases.analyze_s = analyzing.elapsed().as_secs_f64();
    }
    let error = error.map(|error| steps.undo(&context, error));

    fault::reach(context.fault, FaultPoint::BeforeReport);
    let verified = verified.map(|verified| verified.committed);
    let committed = steps.at_end(&context, verified, &mut gathering, error.as_ref());
    let report = report::of_run::<S>(
        &context,
        &committed,
        switched,
        &mut gathering,
        options,
        error.as_ref(),
    );
    let ended = ending::end(context.event_sink(), report, error);
    steps.close(&runtime, run);
    ended
}

/// Checks the whole account, then makes the rows visible in their targets.
fn conclude<'a, S: LoadSteps>(
    steps: &'a S,
    context: &RunContext<'a, S::Run>,
    options: &RunOptions<'_>,
    verified: &mut Option<Verified<'a, S>>,
    gathering: &mut Gathering,
) -> Result<BTreeMap<usize, SwitchedTarget>, Error> {
    let verified = verified.insert(Verified::of(steps, *context)?);
    if options.shares.is_some() {
        shares::coordinate::judge_rejects(context.run, &verified.committed)?;
    }
    if context.stop.asked() == Some(StopReason::Interrupted) {
        return Err(Error::Interrupted);
    }
    let flows = context.run.plan.flows().iter();
    let targets: Vec<String> = flows.map(|flow| flow.reading().target.clone()).collect();
    // From here on a folder without a report means that the process was killed.
    context.run.folder.remove_report()?;
    context.notice(&Event::Switching {
        targets: targets.clone(),
    });
    let switched = publish::publish(steps, context, verified, gathering)?;
    context.notice(&Event::Switched { targets });
    Ok(switched)
}
