//! The switch: all staging tables become part of their targets in one transaction.
//!
//! The plan has written its statements, except bounds that depend on the data. [`tasks`] inserts these bounds and
//! refuses overlaps before anything is attached, and [`run`] runs the switch, under its [`locks`]. Why the switch scans
//! nothing: `docs/design/switch.md`.

mod careful;
pub mod deferred;
mod error;
mod locks;
mod members;
pub mod order;
mod partition_indexes;
mod routed;
mod row_statements;
mod run;
mod search_path;
pub mod take_out;
mod target_copy;
mod tasks;
mod user_statements;
mod versions;

pub use careful::{CarefulRows, CopiedRows};
pub use error::SwitchError;
pub use row_statements::RowStatements;
pub use run::{PAUSE_BETWEEN_TRIES, SwitchTask, TRIES, run};
pub use tasks::{LoadedUnit, TargetTask, tasks};
