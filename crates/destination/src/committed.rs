//! These types describe what an open run has committed: the records of its ledger, and the destination's own counts of its rows.

use inrush_rows::ids::UnitKey;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::account::Account;
use crate::ledger_records::UnitRecord;
use crate::split_record::SplitRecord;

/// A record of a run, as its streams have committed it. A ledger has records of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommittedRecord {
    /// The record of a transaction.
    Unit(UnitRecord),
    /// The record of a split, from a ledger that has one for each split
    /// ([`UnitStream::keeps_splits`](crate::UnitStream::keeps_splits)).
    Split(Box<SplitRecord>),
}

/// The destination's own count of the rows that a run has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StagedRows {
    /// All rows of each target, in the plan's order.
    OfTargets(Vec<u64>),
    /// The rows of each unit that the ledger has.
    OfUnits(Vec<(UnitKey, CountedUnit)>),
}

/// A unit that the destination counts by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CountedUnit {
    /// True if all of it is committed.
    pub is_finished: bool,
    /// True if one stream has loaded it carefully as a whole, or if the publish has rejected rows of it.
    pub is_careful: bool,
    /// The destination's count, once it is finished.
    pub rows: Option<u64>,
}

/// A unit as the ledger has it when its run ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitAtEnd {
    /// Its key.
    pub key: UnitKey,
    /// Its state, with its count.
    pub counted: CountedUnit,
    /// The sums over its records.
    pub account: Account,
}

/// How a destination with an extension of Inrush stored the rows of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ServerCopyReport")]
pub struct StoredWay {
    /// `tuples`, `executor` and `pages` are methods of the extension; `copy` is the server's own COPY.
    pub way: String,
    /// Why the rows were stored by `copy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The change with which the extension can store them next time, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}
