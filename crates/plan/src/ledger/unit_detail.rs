//! The engine's note in a record of a destination's ledger: the splits whose rows the record commits.
//!
//! The note of one split is its [`SplitRecord`]. The note of several splits, or of the ranges that one stream took of a
//! fed split, is a list of such records.

use inrush_source::Split;
use serde::{Deserialize, Serialize};

use crate::ledger::SplitRecord;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Detail {
    Split(Box<SplitRecord>),
    List(Vec<SplitRecord>),
}

/// The note of one split. It is also made from the records of a ledger that stores splits in another form.
pub fn of_split(record: SplitRecord) -> String {
    text(&Detail::Split(Box::new(record)))
}

/// The note of the ranges that one stream took of a fed split.
pub fn of_ranges(records: Vec<SplitRecord>) -> String {
    text(&Detail::List(records))
}

/// The note of the planned splits that a record commits.
pub fn of_splits(planned: &[Split], mut records: Vec<SplitRecord>) -> String {
    for (split, record) in planned.iter().zip(&mut records) {
        // The size of a pipe's data is not known beforehand.
        record.byte_end = record.byte_end.filter(|_| !split.is_whole());
    }
    match <[SplitRecord; 1]>::try_from(records) {
        Ok([record]) => of_split(record),
        Err(records) => text(&Detail::List(records)),
    }
}

fn text(detail: &Detail) -> String {
    serde_json::to_string(detail).expect("a record has nothing that JSON lacks")
}

/// The splits in a note; none if another program wrote it.
pub fn splits_of(detail: &str) -> Vec<SplitRecord> {
    match serde_json::from_str(detail) {
        Ok(Detail::Split(split)) => vec![*split],
        Ok(Detail::List(records)) => records,
        Err(_) => Vec::new(),
    }
}
