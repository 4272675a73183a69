//! The part of a plan that does not depend on the destination: a package resolved against real files, before anything
//! runs.
//!
//! [`flow_inputs`] finds the inputs of a flow and the facts that they declare. [`columns`] decides which field fills which
//! column. Together they make a [`Reading`]. [`earlier`] finds the earlier run, and [`changed`], [`contents`] and
//! [`loaded`] compare the files with the text that this run has loaded. The planner of a destination makes its plan from
//! these parts.

pub(crate) mod abilities;
pub(crate) mod changed;
pub(crate) mod column_text;
pub(crate) mod columns;
pub(crate) mod contents;
pub(crate) mod earlier;
pub(crate) mod error;
pub(crate) mod expect;
pub(crate) mod fields;
pub(crate) mod file_index;
pub mod flow_inputs;
pub(crate) mod flow_reading;
pub(crate) mod identity;
pub(crate) mod key_start;
pub(crate) mod load_flow;
pub(crate) mod load_unit;
pub(crate) mod loaded;
pub(crate) mod long_units;
pub(crate) mod memory;
mod name_index;
pub(crate) mod options;
pub(crate) mod outputs;
pub(crate) mod package_runs;
pub(crate) mod partition_keys;
pub(crate) mod pieces;
pub(crate) mod places;
pub(crate) mod plan_text;
pub(crate) mod range_marks;
pub(crate) mod reading;
pub(crate) mod resolved_columns;
pub(crate) mod script;
pub mod since;
pub(crate) mod source_paces;
pub(crate) mod steps;
#[cfg(test)]
pub(crate) mod test_source;
pub(crate) mod typed_rows;
pub(crate) mod unit_index;

pub(crate) use contents::ContentChecks;
pub use error::PlanError;
pub use fields::FieldOrigin;
pub(crate) use key_start::KeyStart;
pub(crate) use memory::MemoryBound;
pub use options::Obstacles;
pub(crate) use options::PlanOptions;
pub(crate) use places::UnitPlace;
pub use reading::Reading;
pub(crate) use unit_index::{UnitAccounts, UnitIndex};
