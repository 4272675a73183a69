//! The part of a plan that does not depend on the destination: a package resolved against real files, before anything
//! runs.
//!
//! [`flow_inputs`] finds the inputs of a flow and what they say about themselves, [`columns`] decides which field fills
//! which column, and together they make a [`Reading`]. [`earlier`] finds the run that was before, and [`changed`],
//! [`contents`] and [`loaded`] compare the files with the text that was loaded then. A driver makes its own plan of these.

pub mod abilities;
pub mod changed;
pub mod column_text;
pub mod columns;
pub mod contents;
pub mod earlier;
pub mod error;
pub mod expect;
pub mod fields;
mod file_index;
pub mod flow_inputs;
pub mod identity;
mod key_start;
pub mod loaded;
pub mod long_units;
pub mod memory;
mod name_index;
pub mod options;
pub mod pieces;
pub mod plan_text;
pub mod planned;
mod reading;
pub mod since;
pub mod source_paces;
#[cfg(test)]
pub(crate) mod test_source;
pub mod typed_rows;
pub mod user_sql;

pub use contents::ContentChecks;
pub use error::PlanError;
pub use expect::ExpectPlan;
pub use key_start::KeyStart;
pub use memory::MemoryBound;
pub use options::{Obstacles, PlanOptions, PlanRefusal};
pub use planned::{PlannedFlow, PlannedUnit, SplitPlace, UnitPlace};
pub use reading::Reading;
