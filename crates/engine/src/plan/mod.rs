//! The half of a plan that does not depend on where its rows go: a package resolved against real files, before
//! anything runs.
//!
//! [`flow_files`] finds the files of a flow and what they say of themselves, [`columns`] which field fills which column;
//! what comes of both is a [`Reading`]. [`changed`], [`contents`] and [`loaded`] hold the files against what was loaded
//! of them before. An engine makes its own plan of these.

pub mod changed;
pub mod column_text;
pub mod columns;
pub mod contents;
pub mod error;
pub mod expect;
pub mod fields;
pub mod flow_files;
mod header_row;
mod headers;
pub mod identity;
pub mod loaded;
pub mod memory;
mod name_index;
pub mod options;
pub mod plan_text;
mod reading;
mod sniffed;
pub mod typed_rows;
pub mod user_sql;

pub use contents::ContentChecks;
pub use error::PlanError;
pub use expect::ExpectPlan;
pub use memory::MemoryBound;
pub use options::{Obstacles, PlanOptions};
pub use reading::Reading;
