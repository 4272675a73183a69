//! The records that every ledger has, however the destination stores them.

pub use crate::ledger::run::{LedgerRun, LedgerRunState};
pub use crate::ledger::split_record::{SplitRecord, SwitchedFile, TouchedFile};
