//! The last part of a run: the account is verified, the rows become visible in their targets, and the report is written.

use std::collections::BTreeMap;
use std::time::Instant;

use inrush_fault::{self as fault, FaultPoint};
use inrush_rows::cancel::StopReason;

use super::committed_units::CommittedUnits;
use super::context::RunContext;
use super::gathering::Gathering;
use super::publish::SwitchedTarget;
use super::{account, analyze, ending, one_transaction, publish, report};
use crate::error::Error;
use crate::event::Event;
use crate::pipeline::{Failure, RunOptions, Success};
use crate::shares::coordinate;

/// How far a run has come.
pub struct Concluded {
    /// The ledger's facts about its units, if they were verified.
    committed: Option<CommittedUnits>,
    /// The targets that have their rows, by the indexes of their flows.
    switched: BTreeMap<usize, SwitchedTarget>,
    error: Option<Error>,
}

impl Concluded {
    /// A run whose units are not all loaded.
    pub fn failed(error: Error) -> Concluded {
        Concluded {
            committed: None,
            switched: BTreeMap::new(),
            error: Some(error),
        }
    }
}

/// Verifies the account of a run whose units are loaded, publishes it, and analyzes its targets.
pub fn conclude(
    context: &RunContext<'_>,
    options: &RunOptions<'_>,
    gathering: &mut Gathering,
) -> Concluded {
    fault::reach(context.fault, FaultPoint::BeforeSwitch);
    let switching = Instant::now();
    let mut verified = None;
    let published = publish(context, options, &mut verified, gathering);
    gathering.phases.switch_s = switching.elapsed().as_secs_f64();
    if published.is_ok() {
        analyze::analyze(context, gathering);
    }
    match published {
        Ok(switched) => Concluded {
            committed: verified,
            switched,
            error: None,
        },
        Err(error) => Concluded {
            committed: verified,
            ..Concluded::failed(error)
        },
    }
}

/// Checks the whole account, then makes the rows visible in their targets.
fn publish(
    context: &RunContext<'_>,
    options: &RunOptions<'_>,
    verified: &mut Option<CommittedUnits>,
    gathering: &mut Gathering,
) -> Result<BTreeMap<usize, SwitchedTarget>, Error> {
    let verified = verified.insert(account::verify(context)?);
    if options.shares.is_some() {
        coordinate::judge_rejects(context.run, verified)?;
    }
    if context.stop.asked() == Some(StopReason::Interrupted) {
        return Err(Error::Interrupted);
    }
    let flows = context.run.plan.flows.iter();
    let targets: Vec<String> = flows.map(|flow| flow.reading.target.clone()).collect();
    // From here on a folder without a report means that the process was killed.
    context.run.folder.remove_report()?;
    context.notice(&Event::Switching {
        targets: targets.clone(),
    });
    let switched = publish::publish(context, verified, gathering)?;
    context.notice(&Event::Switched { targets });
    Ok(switched)
}

/// Writes the report of a run, and returns it, or the error that ended the run.
pub fn end(
    context: &RunContext<'_>,
    Concluded {
        committed,
        switched,
        error,
    }: Concluded,
    options: &RunOptions<'_>,
    mut gathering: Gathering,
) -> Result<Success, Failure> {
    let error = error.map(|error| one_transaction::undo(context, error));
    fault::reach(context.fault, FaultPoint::BeforeReport);
    let committed = CommittedUnits::at_end(context, committed, &mut gathering, error.is_some());
    let report = report::of_run(
        context,
        &committed,
        switched,
        &mut gathering,
        options,
        error.as_ref(),
    );
    ending::end(context.event_sink(), report, error)
}
