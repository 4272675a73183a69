//! The parts of a unit that transactions commit.

use inrush_rows::ids::UnitKey;

use crate::plan::identity;

/// A part of a unit that is loaded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The split with this number, counted from 1.
    Split(usize),
    /// Ranges of a split that is fed.
    Ranges {
        /// The split's number, counted from 1.
        split: usize,
        /// First byte of the text of the first range.
        text_start: u64,
    },
}

impl Part {
    /// The key of the record that commits this part of a unit with this key and this many splits. If the unit has one split, the
    /// key of that split is the key of the unit.
    pub fn record_key(self, unit_key: &UnitKey, split_count: usize) -> UnitKey {
        let split_key = |number| match split_count {
            1 => unit_key.clone(),
            _ => identity::part_key(unit_key, number),
        };
        match self {
            Part::Whole => unit_key.clone(),
            Part::Split(number) => split_key(number),
            Part::Ranges { split, text_start } => {
                identity::range_key(&split_key(split), text_start)
            }
        }
    }
}
