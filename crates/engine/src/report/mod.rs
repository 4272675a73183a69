//! The report of a run: the account of every row, the time of each phase, and the rejected rows.

mod disk_reserve;
pub(crate) mod folder;
mod kept;
mod kept_prediction;
mod machine;
pub(crate) mod reject_writer;
mod rejects_folder;
#[cfg(test)]
mod schema_test;
mod shown;
mod types;

pub(crate) use folder::RunFolder;
pub use folder::{PACKAGE_FILE, PAGE_FILE, write_whole};
pub use inrush_plan::earlier::run_folder::REPORT_FILE;
pub use inrush_plan::load_plan::ServerReport;
pub use kept::age;
pub use kept::{KeptReport, KeptReportError};
pub use kept_prediction::{Prediction, find_prediction, leave_prediction};
pub use machine::{MachineReport, loader_cpu_s, machine, memory_peak_bytes};
pub(crate) use reject_writer::{
    REASONS_SUFFIX, ROWS_SUFFIX, ReasonReader, RejectFile, reject_file_name,
};
pub(crate) use rejects_folder::{FilesOf, REJECTS, RejectsFolder};
pub use types::*;
