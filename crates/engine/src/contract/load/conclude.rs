//! After the last unit: the account is checked against the ledger and the destination's own count,
//! then everything is published.

use std::collections::BTreeMap;

use inrush_destination::{Destination, PublishStep, Published};
use inrush_rows::cancel::StopReason;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::Context;
use super::summary::ContractSummary;
use crate::contract::failures::unknown_switch;
use crate::contract::plan::shard_of;
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::ledger::{Account, ShardRecord};
use crate::pipeline::{coverage, expectations, recheck};
use crate::plan::identity;

/// Checks and publishes.
pub fn conclude(
    runtime: &Runtime,
    context: &Context<'_>,
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
    context: &Context<'_>,
    destination: &dyn Destination,
    summary: &mut ContractSummary,
) -> Result<(), Error> {
    let run = context.run;
    let own = run.open.record().run_id;
    // The ledger is asked, not the memory of this process.
    let runs = destination.runs(Some(&run.plan.run_key))?;
    let units = runs
        .into_iter()
        .find(|past| past.record.run_id == own)
        .map(|past| past.units)
        .unwrap_or_default();
    let mut shards: BTreeMap<String, ShardRecord> = BTreeMap::new();
    for unit in &units {
        if let Some(shard) = shard_of(&unit.detail) {
            shards.insert(unit.key.clone(), shard);
        }
    }
    let staged = run.open.staged_rows()?;
    for (index, flow) in run.plan.flows.iter().enumerate() {
        let of_flow: Vec<&ShardRecord> = flow
            .units
            .iter()
            .filter_map(|unit| shards.get(&unit.key))
            .collect();
        runtime.block_on(recheck::texts(
            &flow.reading.dialect,
            flow.files().into_iter(),
            &of_flow,
            context.stop,
        ))?;
        let mut by_file: BTreeMap<&str, Vec<&ShardRecord>> = BTreeMap::new();
        for shard in &of_flow {
            by_file.entry(&shard.file_key).or_default().push(shard);
        }
        for file in flow.files() {
            let key = identity::file_key(file);
            let of_file = by_file.remove(key.as_str()).unwrap_or_default();
            // What is read whole has no end that is known before.
            let end = of_file
                .iter()
                .all(|shard| shard.byte_end.is_some())
                .then_some(file.size_bytes);
            coverage::check_file(file, &of_file, end)?;
            if of_file.is_empty() {
                return Err(Error::Verification {
                    what: format!("the ledger's units of {}", file.path.display()),
                    counted: 0,
                    sent: 1,
                });
            }
            coverage::check_bytes(file, &of_file)?;
        }
        expectations::check(&flow.reading, flow.files().into_iter(), &of_flow)?;
        let mut account = Account::default();
        for shard in &of_flow {
            account.add(&shard.account);
        }
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
    summary.verified(shards);
    Ok(())
}

/// Publishes, no longer than until the run is asked to stop. A stop in the middle leaves open what
/// came of it: the ledger tells.
fn publish(runtime: &Runtime, context: &Context<'_>) -> Result<Published, Error> {
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

fn reached(context: &Context<'_>, step: PublishStep) {
    let points: &[FaultPoint] = match step {
        PublishStep::Under => &[FaultPoint::InSwitch],
        PublishStep::BeforeCommit => &[FaultPoint::BeforeSwitchCommit],
        PublishStep::Committed => &[FaultPoint::SwitchCommitSent, FaultPoint::AfterSwitchCommit],
    };
    for point in points {
        fault::reach(context.fault, *point);
    }
}
