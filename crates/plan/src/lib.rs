//! The plan of a package: what a run will read, load and check, before anything runs.
//!
//! A [`planner`] makes the plan, which changes nothing, and begins its run. [`build()`](build::build) has the order of the steps of
//! every plan. [`contract`] has the planner for every destination that answers the questions of the contract; a destination whose
//! plan says more has a planner of its own (`docs/design/one-driver.md`).
//!
//! [`flow_inputs`] finds the inputs of a flow and the facts that they declare, [`steps`] plans its steps, and [`columns`] decides which
//! field fills which column. [`flow_reading`] puts them together as a [`Reading`]. [`earlier`] finds the earlier run in the
//! [`ledger`], [`loaded`] finds the files that are loaded already, and [`changed`] and [`contents`] compare files with the text that was
//! loaded. [`lineage`] says where loaded values come from, and [`verify`] sums them up. The result is a [`LoadPlan`], as the engine
//! runs it.

pub mod abilities;
pub mod build;
pub mod changed;
pub mod column_text;
pub mod columns;
pub mod contents;
pub mod contract;
pub mod coverage;
pub mod destination_error;
pub mod earlier;
pub mod error;
pub mod expect;
pub mod fields;
pub mod file_index;
pub mod flow_inputs;
pub mod flow_reading;
pub mod hints;
pub mod identity;
pub mod kept_units;
pub mod key_start;
pub mod ledger;
pub mod lineage;
pub mod load_flow;
pub mod load_plan;
pub mod load_unit;
pub mod loaded;
pub mod long_units;
pub mod memory;
mod name_index;
pub mod options;
pub mod outputs;
pub mod package_runs;
pub mod part;
pub mod partition_keys;
pub mod pieces;
pub mod places;
pub mod plan_text;
pub mod planner;
pub mod range_marks;
pub mod reading;
pub mod resolved_columns;
pub mod run_folder;
pub mod script;
pub mod since;
pub mod source_paces;
pub mod step_tally;
pub mod steps;
pub mod test_source;
pub mod typed_rows;
pub mod unit_index;
pub mod verify;
pub mod work_items;

pub use contents::ContentChecks;
pub use error::PlanError;
pub use fields::FieldOrigin;
pub use key_start::KeyStart;
pub use load_flow::{LoadFlow, Writes};
pub use load_plan::{LedgerRecords, LoadPlan, PlanFacts};
pub use load_unit::{LoadUnit, Portions};
pub use memory::{LoadMemory, MemoryBound};
pub use options::{Obstacles, PlanOptions, PlanRefusal};
pub use places::UnitPlace;
pub use reading::Reading;
pub use unit_index::{UnitAccounts, UnitIndex};
