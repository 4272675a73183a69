//! After the last unit: the account is checked against the ledger and the destination's own count,
//! then everything is published.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use inrush_destination::{Destination, PublishStep, Published};
use inrush_rows::cancel::StopReason;
use inrush_rows::ids::FileKey;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::ContractContext;
use super::summary::ContractSummary;
use crate::driver::failures::unknown_switch;
use crate::driver::plan::{ContractFlow, RangeUnit, files_of, split_of};
use crate::error::Error;
use crate::event::Event;
use crate::fault::{self, FaultPoint};
use crate::ledger::{Account, SplitRecord};
use crate::pipeline::{coverage, expectations, recheck};
use crate::plan::identity;

/// Units whose records are looked at together, about.
const UNITS_AT_A_TIME: usize = 1_000;

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
    let own = run.open.record().run_id;
    // First, for the destination may look at all of its units, and so may the ledger.
    let staged = run.open.staged_rows()?;
    // The ledger is asked, not the memory of this process.
    let runs = destination.runs(Some(&run.plan.run_key))?;
    let mut units = runs
        .into_iter()
        .find(|past| past.record.run_id == own)
        .map(|past| past.units)
        .unwrap_or_default();
    units.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    let split_of_unit = |unit: &RangeUnit| {
        let found = units.binary_search_by(|known| known.key.cmp(&unit.key));
        found.ok().and_then(|at| split_of(&units[at].detail))
    };
    let mut accounts = Vec::new();
    for (index, flow) in run.plan.flows.iter().enumerate() {
        let mut account = Account::default();
        let mut of_units: Vec<Option<Account>> = Vec::with_capacity(flow.units.len());
        for group in groups(flow) {
            let units = &flow.units[group];
            let splits: Vec<Option<SplitRecord>> = units.iter().map(split_of_unit).collect();
            let own: Vec<&SplitRecord> = splits.iter().flatten().collect();
            check(runtime, context, flow, units, &own)?;
            for split in &splits {
                let own = split.as_ref().map(|split| split.account);
                account.add(&own.unwrap_or_default());
                of_units.push(own);
            }
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
        accounts.push(of_units);
    }
    summary.verified(accounts);
    Ok(())
}

/// The units of a flow in parts, each with all ranges of its files, so that what the ledger has of a hundred thousand files
/// is not in memory at a time. What a package promises of all files together is held against all of them.
fn groups(flow: &ContractFlow) -> Vec<Range<usize>> {
    let units = &flow.units;
    if !flow.reading.expect.promises.is_empty() {
        return std::iter::once(0..units.len()).collect();
    }
    let mut groups = Vec::new();
    let mut start = 0;
    for (index, pair) in units.windows(2).enumerate() {
        let end = index + 1;
        let is_other_file = !Arc::ptr_eq(&pair[0].split.file, &pair[1].split.file);
        if end - start >= UNITS_AT_A_TIME && is_other_file {
            groups.push(start..end);
            start = end;
        }
    }
    groups.push(start..units.len());
    groups
}

/// Checks some files of a flow, whose units are `units`, by what the ledger has of them.
fn check(
    runtime: &Runtime,
    context: &ContractContext<'_>,
    flow: &ContractFlow,
    units: &[RangeUnit],
    own: &[&SplitRecord],
) -> Result<(), Error> {
    let files = files_of(units);
    runtime.block_on(recheck::texts(
        &flow.reading.dialect,
        files.iter().copied(),
        own,
        context.stop,
    ))?;
    let mut by_file: BTreeMap<&FileKey, Vec<&SplitRecord>> = BTreeMap::new();
    for split in own {
        by_file.entry(&split.file_key).or_default().push(split);
    }
    for file in &files {
        let key = identity::file_key(file);
        let of_file = by_file.remove(&key).unwrap_or_default();
        // What is read whole has no end that is known before.
        let end = of_file
            .iter()
            .all(|split| split.byte_end.is_some())
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
    expectations::check(&flow.reading, files.iter().copied(), own)?;
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
