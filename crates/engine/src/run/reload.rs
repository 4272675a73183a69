//! Loads units of a flow again, carefully, because its target refused a row when everything was to be published.
//!
//! One stream loads them in the order of the files, so that the first of several rows with the same key is kept. Most
//! destinations forget all units of the target first, so if the run is killed before they are loaded, it loads them from the
//! beginning later. Other destinations replace a unit when it is loaded ([`ReloadedUnits`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use inrush_destination::{CommittedRecord, ReloadedUnits};
use inrush_plan::destination_error::DestinationError;
use inrush_plan::ledger::Account;
use inrush_plan::units::work_items::WorkItem;
use inrush_plan::{UnitIndex, identity};
use inrush_rows::ids::UnitKey;

use super::committed_units::CommittedUnits;
use super::context::RunContext;
use super::prepared::PreparedRun;
use super::streams::AFTER_ALL;
use crate::error::Error;
use crate::event::Event;
use crate::load::{LoadStream, Loader};
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop;

/// Loads units of a flow again, so that the next attempt to publish finds the rows that its target refuses. Their inputs can be
/// read once more. `refusal` is the destination's error about a row. The units are removed from `committed`, and the units that
/// are loaded again are added, also if the load fails.
pub fn reload(
    context: &RunContext<'_>,
    flow: usize,
    refusal: &DestinationError,
    committed: &mut CommittedUnits,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let run = context.run;
    let units = || run.plan.flows[flow].units.iter().enumerate();
    let again: Vec<usize> = match run.open.prepare_reload(flow)? {
        ReloadedUnits::All => {
            forget(run, flow)?;
            units().map(|(at, _)| at).collect()
        }
        ReloadedUnits::Replaced(keys) => {
            let keys: BTreeSet<UnitKey> = keys.into_iter().collect();
            let asked = units().filter(|(_, unit)| keys.contains(&unit.key));
            asked.map(|(at, _)| at).collect()
        }
    };
    let again = again.into_iter().map(|at| (at, committed.take((flow, at))));
    let again: BTreeMap<usize, Account> = again.collect();
    let loaded = load(context, flow, refusal, &again, result);
    committed.add(&result.loaded);
    loaded
}

/// Loads these units of a flow. Each has the account that it had before.
fn load(
    context: &RunContext<'_>,
    flow: usize,
    refusal: &DestinationError,
    again: &BTreeMap<usize, Account>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let run = context.run;
    let planned = &run.plan.flows[flow];
    let load_run = context.load_run();
    let gauge = Arc::default();
    let note = |text| context.note(text);
    let setup = context.stream_setup(AFTER_ALL, &gauge, &note);
    let mut stream = run.open.open_stream(&setup)?;
    let target = LoadStream::new(context, &gauge, stream.as_mut());
    for (unit_at, unit) in planned.units.iter().enumerate() {
        context.notice(&Event::UnitRefused {
            flow: planned.reading.name.clone(),
            unit: unit.number,
            reason: refusal.to_string(),
        });
        let Some(account) = again.get(&unit_at) else {
            continue;
        };
        if context.stop.asked().is_some() {
            return Err(Error::Interrupted);
        }
        let item = WorkItem::whole((flow, unit_at), unit);
        let loader = Loader::new(&load_run, &target, AFTER_ALL, &item);
        row_loop::blocking(loader.reload(*account, result))?;
    }
    Ok(())
}

/// Removes the units of a flow from staging and the ledger.
fn forget(run: &PreparedRun, flow: usize) -> Result<(), Error> {
    let index = UnitIndex::new(&run.plan.flows);
    let mut keys = BTreeSet::new();
    run.open.units(&mut |record| {
        let key = match record {
            CommittedRecord::Unit(unit) => unit.key,
            CommittedRecord::Split(split) => split.unit_key,
        };
        let place = index.find(&identity::unit_of(&key));
        if place.is_some_and(|(of, _)| of == flow) {
            keys.insert(key);
        }
    })?;
    let keys: Vec<UnitKey> = keys.into_iter().collect();
    run.open.forget(&keys)?;
    run.rolled_back();
    Ok(())
}
