//! The records that every ledger has, however the destination stores them.

pub use crate::ledger::split_record::{SplitRecord, TouchedFile};

/// The engine's note in a record of a ledger.
pub mod unit_detail {
    pub use crate::ledger::unit_detail::of_split;
}
