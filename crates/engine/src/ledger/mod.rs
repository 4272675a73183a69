//! The records of a ledger, the same for every destination: the units of runs, and the splits that they have loaded of each
//! file.
//!
//! The destination decides how its ledger is stored, and which records commit with the data.

mod account;
#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod marks;
mod moment;
pub(crate) mod records;
pub(crate) mod split_record;
pub(crate) mod unit_detail;

pub use account::Account;
pub use moment::{moment_rfc3339, moment_text};
pub(crate) use records::{LedgerRecord, each_record, each_unit_total};
pub(crate) use split_record::{SplitRecord, SwitchedFile, TouchedFile};
