//! The records that every ledger has, however the destination stores them.

pub use crate::ledger::split_record::{SplitRecord, TouchedFile};

/// The engine's note in a record of a ledger.
pub mod unit_detail {
    pub use crate::ledger::unit_detail::of_split;
}

/// What earlier runs have loaded, by a column of their source.
pub mod marks {
    pub use crate::ledger::marks::{ranges_of, since_marks, since_stopped};
}
