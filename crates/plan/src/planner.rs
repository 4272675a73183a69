//! The planner of a destination: it makes plans, and enters their runs into the ledger.
//!
//! ```text
//! Planner
//!   plan -> PackagePlan            nothing is changed
//!     load_plan, earlier             the work of the run, and what earlier runs have done of it
//!     measured -> MeasuredPlan       what only the destination can measure or know, for a preflight
//!     begin -> EnteredRun            the lock is held, and the run is in the ledger
//!     join -> JoinedRun              another process holds the lock
//! ```
//!
//! [`ContractPlanner`](crate::contract::ContractPlanner) plans for every destination of the contract. A destination whose plan
//! says more than the contract asks for has a planner of its own. The engine runs the plans of all planners alike.

use std::fmt;
use std::sync::Arc;

use inrush_destination::{MeasuredPlan, OpenRun, RunLedger, RunRecord};
use inrush_fault::Fault;
use inrush_package::Package;
use inrush_rows::cancel::Stop;
use inrush_rows::ids::{RunName, UnitKey};

use crate::destination_error::DestinationError;
use crate::earlier::kept_units::KeptUnits;
use crate::earlier::{Earlier, KeptCount};
use crate::error::PlanError;
use crate::load_plan::LoadPlan;
use crate::options::PlanOptions;
use crate::units::load_unit::LoadUnit;
use crate::units::places::UnitPlace;
use crate::units::work_items::Committed;

/// Makes plans for one destination.
pub trait Planner {
    /// Connects, if the destination has connections and none is open yet. If this is not called, the first plan connects. Ends
    /// with [`PlanError::Interrupted`] if the run is asked to stop meanwhile.
    fn connect(&self, _stop: &Stop) -> Result<(), PlanError> {
        Ok(())
    }

    /// Plans a package against its sources and the destination as they are now. Nothing is changed. Ends with
    /// [`PlanError::Interrupted`] if the run is asked to stop meanwhile.
    fn plan(
        &self,
        package: &Package,
        options: &PlanOptions<'_>,
    ) -> Result<Box<dyn PackagePlan>, PlanError>;

    /// The ledger of the destination.
    fn ledger(&self) -> &dyn RunLedger;

    /// True if other processes can join its runs.
    fn can_be_joined(&self) -> bool {
        false
    }
}

/// A plan as it is shown. Its `Display` is the plan in words.
pub trait ShownPlan: fmt::Debug + fmt::Display {
    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    fn require_runnable(&self) -> Result<(), PlanError> {
        Ok(())
    }

    /// Writes its steps as a script in the destination's SQL. A step that a script cannot perform is a comment.
    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A plan of a package, with its destination.
pub trait PackagePlan {
    /// The plan as the engine runs it.
    fn load_plan(&self) -> LoadPlan;

    /// The plan as it is shown.
    fn shown(&self) -> &dyn ShownPlan;

    /// The plan without its destination.
    fn into_shown(self: Box<Self>) -> Box<dyn ShownPlan>;

    /// The earlier run of the package that matters for the plan.
    fn earlier(&self) -> Earlier<KeptCount>;

    /// The error with which a run would end if it began now, because another process holds a run of this package. `None` if no
    /// process is known to hold one, or if nothing is left to do.
    fn held(&self) -> Result<Option<DestinationError>, PlanError> {
        Ok(None)
    }

    /// The part of a unit that earlier attempts of the run have committed, as far as the plan knows it.
    fn committed<'a>(&'a self, place: UnitPlace, unit: &LoadUnit) -> Committed<'a>;

    /// Lets the lookups number the members that they add by themselves, so that a preflight adds none to a table.
    fn rehearse_members(&self) {
        for asked in self
            .load_plan()
            .flows
            .iter()
            .flat_map(|flow| &flow.asked_members)
        {
            asked.members.rehearse();
        }
    }

    /// The plan as its destination measures it for a preflight.
    fn measured(&self) -> Result<Box<dyn MeasuredPlan + '_>, PlanError>;

    /// Takes the lock of the run, and enters the run into the ledger. `None` if the package must be planned again, because the plan
    /// was made without the lock and may be outdated.
    fn begin(self: Box<Self>, entry: &RunEntry) -> Result<Option<EnteredRun>, PlanError>;

    /// Joins a run that another process holds and has planned in the same way. `joiner` names the host and the process of the caller.
    fn join(self: Box<Self>, run: &RunRecord, joiner: &str) -> Result<JoinedRun, PlanError>;
}

/// The engine's part of a run that is to be entered into the ledger. The plan has the rest.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// Its name, unless it resumes an earlier run, whose name it keeps.
    pub name: RunName,
    /// Host and process of the caller.
    pub holder: String,
    /// The fault to cause, for tests.
    pub fault: Option<Arc<Fault>>,
}

/// A run that is in the ledger and holds its lock.
pub struct EnteredRun {
    /// Its plan.
    pub plan: LoadPlan,
    /// The destination's side of it.
    pub open: Box<dyn OpenRun>,
    /// It resumes an earlier attempt.
    pub is_resumed: bool,
    /// The units that are kept from earlier attempts.
    pub kept: KeptUnits,
    /// Keys of records of earlier attempts that the plan cannot use. The engine removes them.
    pub unwanted: Vec<UnitKey>,
}

/// A run that another process holds, and that this process has joined.
pub struct JoinedRun {
    /// Its plan, as it was made here.
    pub plan: LoadPlan,
    /// The destination's side of it.
    pub open: Box<dyn OpenRun>,
}
