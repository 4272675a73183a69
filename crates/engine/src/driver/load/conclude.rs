//! After the last unit: the account is checked against the ledger and the destination's own count,
//! then everything is published.

use inrush_destination::{Destination, PublishStep, Published};
use inrush_rows::cancel::StopReason;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::ContractContext;
use super::ledger_checks::LedgerChecks;
use super::summary::ContractSummary;
use crate::driver::failures::unknown_switch;
use crate::driver::plan::each_record;
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};

/// Checks and publishes.
pub fn conclude(
    runtime: &Runtime,
    context: &ContractContext<'_>,
    destination: &dyn Destination,
    summary: &mut ContractSummary,
) -> Result<(), Error> {
    verify(runtime, context, destination, summary)?;
    let targets: Vec<String> = context
        .run
        .plan
        .flows
        .iter()
        .map(|flow| flow.reading.target.clone())
        .collect();
    context.notice(&Event::Switching {
        targets: targets.clone(),
    });
    let published = publish(runtime, context)?;
    summary.published(published);
    context.notice(&Event::Switched { targets });
    Ok(())
}

/// Checks the whole account by what the ledger has, and by the destination's own count.
fn verify(
    runtime: &Runtime,
    context: &ContractContext<'_>,
    destination: &dyn Destination,
    summary: &mut ContractSummary,
) -> Result<(), Error> {
    let run = context.run;
    // First, for the destination may look at all of its units, and so may the ledger.
    let staged = run.open.staged_rows()?;
    // The ledger is asked, not the memory of this process.
    let mut checks = LedgerChecks::new(runtime, context);
    each_record(destination, run.open.record(), &mut |record| {
        checks.see(record);
    })?;
    let accounts = checks.finish()?;
    for (index, flow) in run.plan.flows.iter().enumerate() {
        let account = accounts.total(index);
        let counted = staged.get(index).copied().unwrap_or(0);
        if counted != account.rows_loaded {
            return Err(Error::Verification {
                what: format!("what is staged for {}", flow.reading.target),
                counted,
                sent: account.rows_loaded,
            });
        }
        run.rejects[index].judge_share(
            &flow.reading.name,
            account.rows_rejected,
            account.rows_loaded + account.rows_rejected,
        )?;
    }
    summary.verified(accounts);
    Ok(())
}

/// Publishes, no longer than until the run is asked to stop. A stop in the middle leaves open what
/// came of it: the ledger tells.
fn publish(runtime: &Runtime, context: &ContractContext<'_>) -> Result<Published, Error> {
    let open = context.run.open.as_ref();
    let done = Notify::new();
    let published = std::thread::scope(|scope| {
        let watching = || {
            runtime.block_on(async {
                tokio::select! {
                    biased;
                    () = done.notified() => {}
                    _ = context.stop.wait() => open.interrupt(),
                }
            });
        };
        let watcher = std::thread::Builder::new()
            .name("inrush-stop".to_owned())
            .spawn_scoped(scope, watching);
        let published = match watcher {
            Ok(_) => open.publish(&|step| reached(context, step)),
            Err(source) => return Err(Error::Threads { source }),
        };
        done.notify_one();
        Ok(published)
    })?;
    let error = match published {
        Ok(published) => return Ok(published),
        Err(error) => error,
    };
    match open.is_switched() {
        Ok(true) => {
            return Ok(Published {
                notes: vec![format!(
                    "the rows are in their targets, but a later step failed: {error}"
                )],
                ..Published::default()
            });
        }
        Ok(false) => {}
        Err(asking) => return Err(unknown_switch(&error, &asking)),
    }
    match context.stop.asked() {
        Some(StopReason::Interrupted) => Err(Error::Interrupted),
        _ => Err(error.into()),
    }
}

fn reached(context: &ContractContext<'_>, step: PublishStep) {
    let points: &[FaultPoint] = match step {
        PublishStep::Under => &[FaultPoint::InSwitch],
        PublishStep::BeforeCommit => &[FaultPoint::BeforeSwitchCommit],
        PublishStep::Committed => &[FaultPoint::SwitchCommitSent, FaultPoint::AfterSwitchCommit],
    };
    for point in points {
        fault::reach(context.fault, *point);
    }
}
