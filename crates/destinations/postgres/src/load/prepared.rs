//! A run into PostgreSQL that is planned and holds its lock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use inrush_fault::Fault;
use inrush_plan::UnitPlace;
use inrush_rows::cancel::Stop;
use tokio::runtime::Handle;

use super::member_numbers::MemberSession;
use super::stored_ways::StoredWays;
use super::switching::Switching;
use crate::ledger::{Fence, Ledger, StoredRun};
use crate::plan::{FlowPlan, Plan, UnitPlan};
use crate::transaction::Transaction;
use crate::{DatabaseAddress, Session};

/// A run that is planned and entered into the ledger.
pub struct PostgresRun {
    /// The plan.
    pub plan: Plan,
    /// The units that earlier attempts have left in the ledger: true if all of a unit is committed.
    pub kept: Mutex<BTreeMap<UnitPlace, bool>>,
    /// The run in the ledger.
    pub record: StoredRun,
    /// Its fence.
    pub fence: Fence,
    /// The ledger.
    pub ledger: Ledger,
    /// The session of the ledger and the switch; it holds the run's lock.
    pub control: Session,
    /// The address of the server, for further sessions.
    pub address: DatabaseAddress,
    /// The runtime in which calls wait for the server.
    pub runtime: Handle,
    /// Ends these waits when it is asked.
    pub stop: Stop,
    /// The fault to cause, for tests.
    pub fault: Option<Arc<Fault>>,
    /// Assigns numbers to the members that lookups add to their references.
    pub members: Arc<MemberSession>,
    /// The transaction of a load with `staging = false`, while its rows are loaded.
    pub all_flows: Mutex<Option<Transaction>>,
    /// How the server stored the rows of each unit.
    pub stored_ways: StoredWays,
    /// The state of the switch.
    pub switching: Mutex<Switching>,
}

impl PostgresRun {
    /// The state of the switch. Only one thread at a time switches.
    pub fn switching(&self) -> MutexGuard<'_, Switching> {
        let switching = self.switching.lock();
        switching.unwrap_or_else(PoisonError::into_inner)
    }

    /// The units that earlier attempts have left in the ledger.
    pub fn kept(&self) -> MutexGuard<'_, BTreeMap<UnitPlace, bool>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A unit with its statements, and its flow.
    pub fn unit_plan(&self, (flow, unit): UnitPlace) -> (&FlowPlan, UnitPlan<'_>) {
        let flow = &self.plan.flows[flow];
        (flow, flow.unit(unit))
    }
}
