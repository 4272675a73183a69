//! A prepared run into a destination of the contract.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, PoisonError};

use inrush_convert::RunStamp;
use inrush_destination::{OpenRun, PublishesInto};
use inrush_rows::ids::UnitKey;

use super::members;
use crate::driver::plan::{ContractPlan, UnitIndex};
use crate::error::Error;
use crate::load::Part;
use crate::pipeline::reject_files;
use crate::plan::{UnitPlace, identity};
use crate::run::prepared::{DriverRun, PreparedRun};

/// A run that is planned and holds its lock.
pub struct ContractRun {
    /// The part that is the same for all destinations.
    pub prepared: PreparedRun<ContractPlan>,
    /// The destination's side of the run.
    pub open: Box<dyn OpenRun>,
    /// Units that this process has finished.
    pub finished: Mutex<BTreeSet<UnitPlace>>,
}

impl Deref for ContractRun {
    type Target = PreparedRun<ContractPlan>;

    fn deref(&self) -> &PreparedRun<ContractPlan> {
        &self.prepared
    }
}

impl DerefMut for ContractRun {
    fn deref_mut(&mut self) -> &mut PreparedRun<ContractPlan> {
        &mut self.prepared
    }
}

impl DriverRun for ContractRun {
    type Plan = ContractPlan;

    fn stamp(&self) -> RunStamp {
        let record = self.open.record();
        RunStamp {
            run_id: record.run_id,
            started_at_microseconds: record.started_at_microseconds,
        }
    }

    fn publishes_into(&self, (flow, unit): UnitPlace) -> &PublishesInto {
        &self.plan.flows[flow].units[unit].publishes_into
    }

    fn reject_file_name(&self, place: UnitPlace, part: Part) -> String {
        let flow = &self.plan.flows[place.0];
        reject_files::of_record(&flow.reading.name, &self.record_key(place, part))
    }

    fn finished(&self, place: UnitPlace) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.insert(place);
    }

    /// Members that only the transaction knew have to be numbered again.
    fn rolled_back(&self) {
        members::forget(&self.plan.flows);
    }
}

impl ContractRun {
    /// Units that several streams have filled and that are committed completely, but that this process has not finished.
    pub fn unfinished(&self) -> Vec<UnitPlace> {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = |place: &UnitPlace| !finished.contains(place) && !self.kept.is_whole(*place);
        let complete = self.sharing.iter().filter(|(_, sharing)| sharing.is_done());
        complete.map(|(place, _)| *place).filter(is_left).collect()
    }

    /// Removes records from the destination, together with records that depend on them.
    pub fn forget(&mut self, keys: Vec<UnitKey>) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let gone = self.open.forget(&keys)?;
        let PreparedRun { plan, kept, .. } = &mut self.prepared;
        let index = UnitIndex::new(&plan.flows);
        for key in keys.iter().chain(&gone) {
            let Some(place) = index.find(&identity::unit_of(key)) else {
                continue;
            };
            let unit = &plan.flows[place.0].units[place.1];
            if let Some(part) = Part::of_record(key, unit.splits.len()) {
                kept.remove_part(place, unit, part);
            }
        }
        Ok(())
    }
}
