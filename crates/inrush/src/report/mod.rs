//! What happened: the account of every row, where the time went, and what was kept aside.

mod folder;
mod machine;
mod rejects;
#[cfg(test)]
mod schema_test;
mod types;

pub use folder::RunFolder;
pub use machine::{MachineReport, machine, memory_peak_bytes};
pub use rejects::RejectFile;
pub use types::*;
