//! Loads the units of a flow again, carefully, because its target refused a row when everything was to be published.
//!
//! All units of the flow are loaded by one stream in the order of its files, so that the first of several rows with the
//! same key is kept. The destination forgets the units first, so a run that is killed meanwhile loads them from the
//! beginning.

use std::sync::Arc;

use inrush_destination::Destination;

use super::ContractContext;
use super::members;
use crate::driver_error::DriverError;
use crate::error::Error;
use crate::event::Event;
use crate::ledger::each_record;
use crate::load::{LoadStream, Loader};
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop;
use crate::pipeline::work_items::WorkItem;
use crate::plan::{UnitAccounts, UnitIndex};
use crate::run::committed_units::CommittedUnits;
use crate::run::streams::AFTER_ALL;

/// The units of a flow that are to be loaded again.
pub struct Reload<'a> {
    /// The run.
    pub context: &'a ContractContext<'a>,
    /// The destination, whose ledger knows the units.
    pub destination: &'a dyn Destination,
    /// The index of the flow.
    pub flow: usize,
}

impl Reload<'_> {
    /// Loads the units. `refusal` is the destination's error about a row. What is loaded is added to `staged`, from which
    /// the units are removed first.
    pub fn load(
        &self,
        refusal: &DriverError,
        staged: &mut CommittedUnits,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let flow = &self.context.run.plan.flows[self.flow];
        for unit in &flow.units {
            self.context.notice(&Event::UnitRefused {
                flow: flow.reading.name.clone(),
                unit: unit.number,
                reason: refusal.to_string(),
            });
        }
        let committed = self.forget()?;
        staged.forget(self.flow);
        let loaded = self.load_all(&committed, result);
        staged.add(&result.loaded);
        loaded
    }

    fn load_all(&self, committed: &UnitAccounts, result: &mut StreamResult) -> Result<(), Error> {
        let Reload { context, flow, .. } = *self;
        let run = context.run;
        let load_run = context.load_run();
        let gauge = Arc::default();
        let note = |text| context.note(text);
        let setup = context.stream_setup(AFTER_ALL, &gauge, &note);
        let mut stream = run.open.open_stream(&setup)?;
        let target = LoadStream::new(context, &gauge, stream.as_mut());
        for (unit_at, unit) in run.plan.flows[flow].units.iter().enumerate() {
            let place = (flow, unit_at);
            if context.stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            let item = WorkItem::whole(place, unit);
            let loader = Loader::new(&load_run, &target, 0, &item);
            let account = committed.get(place).unwrap_or_default();
            let loading = loader.reload(account, result);
            row_loop::blocking(loading)?;
        }
        Ok(())
    }

    /// Removes the units of a flow from staging and the ledger, and returns what was committed of each.
    fn forget(&self) -> Result<UnitAccounts, Error> {
        let Reload {
            context,
            destination,
            flow: flow_index,
        } = *self;
        let run = context.run;
        let flows = &run.plan.flows;
        let index = UnitIndex::new(flows);
        let mut committed = UnitAccounts::none(flows);
        let mut keys = Vec::new();
        each_record(destination, run.open.record(), &mut |record| {
            let place = index.find(&record.unit_key());
            if let Some(place) = place.filter(|(flow, _)| *flow == flow_index) {
                committed.add(place, &record.account());
                keys.push(record.key);
            }
        })?;
        run.open.forget(&keys)?;
        members::forget(flows);
        Ok(committed)
    }
}
