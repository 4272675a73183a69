//! What happened: the account of every row, where the time went, and what was kept aside.

mod folder;
mod machine;
mod prediction;
mod rejects;
#[cfg(test)]
mod schema_test;
mod types;

pub use folder::{PACKAGE_FILE, RunFolder};
pub use machine::{MachineReport, machine, memory_peak_bytes};
pub use prediction::{Prediction, find_prediction, leave_prediction};
pub use rejects::{REASONS_SUFFIX, ROWS_SUFFIX, RejectFile, reject_file_name};
pub use types::*;
