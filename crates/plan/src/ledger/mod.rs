//! The records of a ledger, the same for every destination: the units of runs, and the splits that they have loaded of each
//! file.
//!
//! The destination decides how its ledger is stored, and which records commit with the data.

pub mod fake;
pub mod marks;
mod moment;
pub mod records;
mod switched_file;
pub mod unit_detail;

pub use inrush_destination::{Account, SplitRecord, TouchedFile};
pub use moment::{moment_rfc3339, moment_text};
pub use records::{LedgerRecord, accounts_of_targets, each_record, each_unit_total};
pub use switched_file::SwitchedFile;
