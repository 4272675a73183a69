//! The engine's part of a ledger's records.

/// The engine's note in a record of a ledger.
pub mod unit_detail {
    pub use crate::ledger::unit_detail::of_split;
}
