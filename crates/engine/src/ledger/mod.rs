//! What a ledger knows, wherever it is kept: runs, and what they have loaded of each file.
//!
//! How it is kept, and what commits with it, is the destination's own affair.

mod record;
mod run;

pub use record::{Account, SplitRecord, SwitchedFile, TouchedFile};
pub use run::{LedgerRun, LedgerRunState};
