//! The report of a run: the account of every row, the time of each phase, and the rejected rows.

mod disk_reserve;
pub mod folder;
mod kept;
mod kept_prediction;
mod machine;
mod reject_writer;
#[cfg(test)]
mod schema_test;
mod shown;
mod types;

pub use folder::{PACKAGE_FILE, PAGE_FILE, REPORT_FILE, RunFolder, write_whole};
pub use kept::age;
pub use kept::{KeptReport, KeptReportError};
pub use kept_prediction::{Prediction, find_prediction, leave_prediction};
pub use machine::{MachineReport, loader_cpu_s, machine, memory_peak_bytes};
pub use reject_writer::{REASONS_SUFFIX, ROWS_SUFFIX, ReasonReader, RejectFile, reject_file_name};
pub use types::*;
