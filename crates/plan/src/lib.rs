//! The plan of a package: what a run will read, load and check, before anything runs.
//!
//! A [`planner`] makes the plan, which changes nothing, and begins its run. [`build()`](build::build) has the order of the steps of
//! every plan. [`contract`] has the planner for every destination that answers the questions of the contract; a destination whose
//! plan says more has a planner of its own (`docs/design/one-driver.md`).
//!
//! [`reading`] finds what a flow reads: its inputs, and which field fills which column; [`steps`] plans the steps of the flow.
//! [`units`] are the pieces that are loaded. [`earlier`] finds the earlier run in the [`ledger`], what it has loaded, and what of
//! it is kept. [`lineage`] says where loaded values come from, and [`verify`] sums them up. The result is a [`LoadPlan`], as the
//! engine runs it.

pub mod abilities;
pub mod build;
pub mod contract;
pub mod destination_error;
pub mod earlier;
pub mod error;
pub mod hints;
pub mod identity;
pub mod ledger;
pub mod lineage;
pub mod load_flow;
pub mod load_plan;
pub mod memory;
pub mod options;
pub mod plan_text;
pub mod planner;
pub mod reading;
pub mod script;
pub mod step_tally;
pub mod steps;
pub mod units;
pub mod verify;

pub use earlier::contents::ContentChecks;
pub use error::PlanError;
pub use load_flow::{LoadFlow, Writes};
pub use load_plan::{LedgerRecords, LoadPlan, PlanFacts};
pub use memory::{LoadMemory, MemoryBound};
pub use options::{Obstacles, PlanOptions, PlanRefusal};
pub use reading::Reading;
pub use reading::fields::FieldOrigin;
pub use units::key_start::KeyStart;
pub use units::load_unit::{LoadUnit, Portions};
pub use units::places::UnitPlace;
pub use units::unit_index::{UnitAccounts, UnitIndex};
