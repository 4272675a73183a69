//! The engine's note in a record of a destination's ledger: the splits whose rows the record commits.
//!
//! A unit that one stream loads has one split, and its note is that [`SplitRecord`]. In a fed unit, the note of each
//! record lists the ranges that one stream took.

use inrush_source::Split;
use serde::{Deserialize, Serialize};

use crate::ledger::SplitRecord;

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Detail {
    Split(Box<SplitRecord>),
    Ranges(Vec<SplitRecord>),
}

/// The note of the splits that a record commits. They are `planned` itself or ranges of it.
pub fn of_records(planned: &Split, mut records: Vec<SplitRecord>) -> String {
    if planned.is_shared {
        return text(&Detail::Ranges(records));
    }
    match records.pop() {
        Some(mut record) if records.is_empty() => {
            // The size of a pipe's data is not known beforehand.
            record.byte_end = record.byte_end.filter(|_| !planned.is_whole());
            text(&Detail::Split(Box::new(record)))
        }
        _ => unreachable!("a unit that is not fed is one split"),
    }
}

fn text(detail: &Detail) -> String {
    serde_json::to_string(detail).expect("a record has nothing that JSON lacks")
}

/// The splits in a note; none if another program wrote it.
pub fn splits_of(detail: &str) -> Vec<SplitRecord> {
    match serde_json::from_str(detail) {
        Ok(Detail::Split(split)) => vec![*split],
        Ok(Detail::Ranges(ranges)) => ranges,
        Err(_) => Vec::new(),
    }
}
