//! A prepared run into a destination of the contract.

use std::ops::{Deref, DerefMut};

use inrush_convert::RunStamp;
use inrush_destination::{OpenRun, PublishesInto};

use super::members;
use crate::driver::plan::ContractPlan;
use crate::load::Part;
use crate::pipeline::reject_files;
use crate::plan::UnitPlace;
use crate::run::prepared::{DriverRun, PreparedRun};

/// A run that is planned and holds its lock.
pub struct ContractRun {
    /// The part that is the same for all destinations.
    pub prepared: PreparedRun<ContractPlan>,
    /// The destination's side of the run.
    pub open: Box<dyn OpenRun>,
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

    fn open(&self) -> &dyn OpenRun {
        self.open.as_ref()
    }

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

    fn keeps_versions(&self, flow: usize) -> bool {
        let merge = self.plan.flows[flow].target.merge.as_ref();
        merge.is_some_and(|merge| merge.versions.is_some())
    }

    /// Members that only the transaction knew have to be numbered again.
    fn rolled_back(&self) {
        members::forget(&self.plan.flows);
    }
}
