//! Loads the units of a flow again, carefully, because its target refused a row when everything was to be published.
//!
//! All units of the flow are loaded by one stream in the order of its files, so that the first of several rows with the
//! same key is kept. The destination forgets the units first, so a run that is killed meanwhile loads them from the
//! beginning.

use std::cell::RefCell;

use inrush_destination::Destination;

use super::ContractContext;
use super::stream::ContractStream;
use crate::driver::plan::{UnitAccounts, UnitIndex, each_record};
use crate::driver_error::DriverError;
use crate::error::Error;
use crate::event::Event;
use crate::gauge::Gauge;
use crate::load::Loader;
use crate::pipeline::reject_count::RowTally;
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop;
use crate::pipeline::work_items::WorkItem;
use crate::plan::{PlannedFlow, PlannedUnit};

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
    /// Loads the units. `refusal` is the destination's error about a row; `forgotten` is called as soon as no row of
    /// the units is in staging. If loading fails, the result has the error and the units that were loaded before it.
    pub fn load(
        &self,
        refusal: DriverError,
        forgotten: impl FnOnce(),
    ) -> Result<StreamResult, Error> {
        let Reload {
            context,
            flow: flow_index,
            ..
        } = *self;
        let run = context.run;
        let flow = &run.plan.flows[flow_index];
        if let Some(pipe) = flow.splits().find(|split| !split.input.is_read_again()) {
            return Err(Error::RefusedFromPipe {
                limit: flow.reading.reject_limit.rows_accepted(),
                pipe: pipe.input.name().display().to_string(),
                source: refusal,
            });
        }
        for unit in &flow.units {
            context.notice(&Event::UnitRefused {
                flow: flow.reading.name.clone(),
                unit: unit.number,
                reason: refusal.to_string(),
            });
        }
        let committed = self.forget()?;
        forgotten();
        let load_run = context.load_run();
        let gauge = Gauge::default();
        let mut stream = run.open.open_stream()?;
        let mut result = StreamResult::default();
        for (unit_index, unit) in flow.units.iter().enumerate() {
            let place = (flow_index, unit_index);
            if context.stop.asked().is_some() {
                result.error = Some(Error::Interrupted);
                break;
            }
            if let Some(sharing) = run.sharing.get(&place) {
                sharing.take_back();
            }
            let target = ContractStream {
                context,
                gauge: &gauge,
                stream: RefCell::new(stream.as_mut()),
            };
            let item = WorkItem::whole(place, unit);
            let loader = Loader::new(&load_run, &target, 0, &item);
            let account = committed.get(place).unwrap_or_default();
            let bytes = unit.splits().iter().map(|split| split.size_bytes).sum();
            let loading = loader.careful_unit(RowTally::from(account), bytes, None, &mut result);
            if let Err(error) = row_loop::blocking(loading) {
                // The first error is reported; an error of the rollback adds nothing to it.
                let _ = stream.abort();
                result.error = Some(error);
                break;
            }
        }
        Ok(result)
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
        for (unit_index, _) in flows[flow_index].units().iter().enumerate() {
            run.fed_files.close((flow_index, unit_index));
        }
        run.open.forget(&keys)?;
        Ok(committed)
    }
}
