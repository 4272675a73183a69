//! The engine's own note in a record of a destination's ledger: the splits whose rows the record commits.
//!
//! A unit that one stream loads has one split, and its note is that [`SplitRecord`]. Of a unit that is fed each record has
//! the ranges that one stream took for it, in a list.

use serde::{Deserialize, Serialize};

use crate::ledger::SplitRecord;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Detail {
    Split(Box<SplitRecord>),
    Ranges(Vec<SplitRecord>),
}

/// The note of a unit that is committed as a whole.
pub fn of_split(split: SplitRecord) -> String {
    text(&Detail::Split(Box::new(split)))
}

/// The note of ranges of a unit that is fed.
pub fn of_ranges(ranges: Vec<SplitRecord>) -> String {
    text(&Detail::Ranges(ranges))
}

fn text(detail: &Detail) -> String {
    serde_json::to_string(detail).expect("a record has nothing that JSON lacks")
}

/// The splits that a note tells of; none where another program wrote it.
pub fn splits_of(detail: &str) -> Vec<SplitRecord> {
    match serde_json::from_str(detail) {
        Ok(Detail::Split(split)) => vec![*split],
        Ok(Detail::Ranges(ranges)) => ranges,
        Err(_) => Vec::new(),
    }
}
