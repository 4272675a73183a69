//! The planner for every destination that answers the questions of the contract of `inrush_destination`. It asks for abilities, types,
//! targets, a layout of the load units, and steps.
//!
//! [`ContractPlanner`] (`planner.rs`) makes plans and begins their runs. [`crate::build`] has the order of the steps of a plan, and
//! `build.rs` here has what this planner does at each step. `flow.rs` plans one flow, with `columns.rs`, `bounds.rs`, `merge.rs`,
//! `members.rs` and `units.rs`. `abilities.rs` has the abilities that a package may ask for, and `refuse.rs` refuses targets. `earlier.rs`
//! finds the units of an unpublished run that are kept, and `unplanned.rs` the reasons why others are not. `print.rs` prints a plan.
//! `measured.rs` and `scratch.rs` are for a preflight, and `member_numbers.rs` is for the run.

mod abilities;
mod bounds;
mod build;
mod columns;
mod earlier;
mod flow;
mod measured;
mod member_numbers;
mod members;
mod merge;
mod planner;
mod print;
mod refuse;
mod scratch;
mod units;
mod unplanned;

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use inrush_destination::{Abilities, RunSteps, TargetFacts, TargetPlan};
use inrush_rows::ids::RunId;

use crate::earlier::{Earlier, KeptCount};
use crate::load_flow::LoadFlow;
use crate::load_plan::{LoadPlan, PlanFacts};
use crate::{UnitAccounts, UnitPlace};

pub use self::build::build;
pub use self::planner::{ContractPlanner, OpenDestination};
pub use self::scratch::folder_beside;

/// A package resolved against real files and a destination that implements the contract.
#[derive(Clone, Debug)]
pub struct ContractPlan {
    /// The parts that do not depend on the destination.
    pub facts: Arc<PlanFacts>,
    /// What the destination can do.
    pub abilities: Abilities,
    /// The flows.
    pub flows: Vec<ContractFlow>,
    /// The earlier run of the same package that matters.
    pub earlier: Earlier<ContractWork>,
    /// The steps of the run at the destination.
    pub steps: RunSteps,
    /// The runs of the package that were switched before its flows were planned. If there are others when the run holds its
    /// lock, the plan is outdated.
    pub switched_before: Vec<RunId>,
}

/// Most callers need the facts that every plan has.
impl Deref for ContractPlan {
    type Target = PlanFacts;

    fn deref(&self) -> &PlanFacts {
        &self.facts
    }
}

/// One flow, planned.
#[derive(Clone, Debug)]
pub struct ContractFlow {
    /// The part that does not depend on the destination.
    pub load: Arc<LoadFlow>,
    /// The target after the run.
    pub target: TargetPlan,
    /// The target before the run, if it exists.
    pub facts: Option<TargetFacts>,
}

/// The part of an unpublished run's work that a plan keeps.
#[derive(Clone, Debug)]
pub struct ContractWork {
    /// Units that are kept: the plan has them, and their files still have the text that was loaded.
    pub kept: UnitAccounts,
    /// Units that the run has begun to load by several streams: parts of these are kept.
    pub in_parts: BTreeSet<UnitPlace>,
    /// The number of units of the run that the plan cannot use.
    pub dropped: usize,
}

impl ContractWork {
    /// How much of the run's work is kept.
    fn count(&self) -> KeptCount {
        let in_parts = self.in_parts.iter();
        KeptCount {
            units: self.kept.count(),
            in_part: in_parts
                .filter(|place| self.kept.get(**place).is_some())
                .count(),
            dropped: self.dropped,
        }
    }
}

/// Most callers need the part that does not depend on the destination.
impl Deref for ContractFlow {
    type Target = LoadFlow;

    fn deref(&self) -> &LoadFlow {
        &self.load
    }
}

impl DerefMut for ContractFlow {
    fn deref_mut(&mut self) -> &mut LoadFlow {
        Arc::make_mut(&mut self.load)
    }
}

impl ContractPlan {
    /// The plan as the engine runs it.
    pub fn to_load_plan(&self) -> LoadPlan {
        LoadPlan::of(&self.facts, self.flows.iter().map(|flow| &flow.load))
    }
}
