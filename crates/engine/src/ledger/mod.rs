//! The records of a ledger, the same for every destination: runs, and the splits that they have loaded of each file.
//!
//! The destination decides how its ledger is stored, and which records commit with the data.

mod account;
pub(crate) mod run;
pub(crate) mod split_record;

pub use account::Account;
pub(crate) use run::{LedgerRun, LedgerRunState, moment_text};
pub(crate) use split_record::{SplitRecord, SwitchedFile, TouchedFile};
