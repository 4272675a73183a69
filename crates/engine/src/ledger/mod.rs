//! The records of a ledger, the same for every destination: the units of runs, and the splits that they have loaded of each
//! file.
//!
//! The destination decides how its ledger is stored, and which records commit with the data.

#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod marks;
mod moment;
pub(crate) mod records;
mod switched_file;
pub(crate) mod unit_detail;

pub use inrush_destination::Account;
pub(crate) use inrush_destination::{SplitRecord, TouchedFile};
pub use moment::{moment_rfc3339, moment_text};
pub(crate) use records::{LedgerRecord, each_record, each_unit_total};
pub(crate) use switched_file::SwitchedFile;
