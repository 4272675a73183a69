//! What streams hand back.

use std::collections::BTreeMap;

use crate::column_policy::ColumnChanges;
use crate::error::Error;
use crate::ledger::Account;
use crate::meter::Meter;
use crate::reject::Reject;

/// What one stream did.
#[derive(Default)]
pub struct StreamResult {
    /// Pieces of work that it finished.
    pub loaded: Vec<Loaded>,
    /// The first rejects of what it did not finish.
    pub rejects: Vec<Reject>,
    /// Where its time went.
    pub meter: Meter,
    /// Seconds from the start of loading to its end.
    pub ended_s: f64,
    /// Why it stopped early.
    pub error: Option<Error>,
}

/// A piece of work that is committed.
#[derive(Debug)]
pub struct Loaded {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the unit in it.
    pub unit: usize,
    /// All of the unit: what was loaded of it before does not count.
    pub is_whole: bool,
    /// The server could refuse rows of it.
    pub is_careful: bool,
    /// Its rows.
    pub account: Account,
    /// Where the time went.
    pub meter: Meter,
    /// Values that were changed, by column.
    pub changes: BTreeMap<String, ColumnChanges>,
    /// Its first rejects.
    pub rejects: Vec<Reject>,
}
