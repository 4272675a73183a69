//! A prepared run into a destination of the contract.

use std::ops::{Deref, DerefMut};

use inrush_destination::OpenRun;

use crate::driver::plan::ContractPlan;
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

    fn keeps_versions(&self, flow: usize) -> bool {
        let merge = self.plan.flows[flow].target.merge.as_ref();
        merge.is_some_and(|merge| merge.versions.is_some())
    }
}
