//! The parts of a unit that transactions commit.

use inrush_rows::ids::UnitKey;

use crate::identity;

/// A part of a unit that is loaded in one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole unit.
    Whole,
    /// The split with this number, counted from 1.
    Split(usize),
    /// Ranges of the split with this number, which is fed to all streams.
    Ranges {
        /// The split, counted from 1.
        split: usize,
        /// The first byte of the first range.
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

    /// The part that the record with this key commits, in a unit with this many splits. `None` if the unit has no such part:
    /// then another program wrote the record.
    pub fn of_record(record_key: &UnitKey, split_count: usize) -> Option<Part> {
        let Some(numbers) = identity::part_of(record_key) else {
            return Some(Part::Whole);
        };
        let (split, text_start) = match (split_count, numbers) {
            (1, (start, None)) => (1, Some(start)),
            (_, (split, start)) => (split.parse().ok()?, start),
        };
        if !(1..=split_count).contains(&split) {
            return None;
        }
        Some(match text_start {
            None => Part::Split(split),
            Some(start) => Part::Ranges {
                split,
                text_start: start.parse().ok()?,
            },
        })
    }

    /// The index of its split in the unit; `None` for the whole unit.
    pub fn split_index(self) -> Option<usize> {
        match self {
            Part::Whole => None,
            Part::Split(split) | Part::Ranges { split, .. } => Some(split - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::ids::RunKey;

    use super::*;

    #[test]
    fn a_record_is_named_by_its_part() {
        let unit = identity::unit_key(&RunKey::new("run"), "{}", &[]);
        let ranges = |split| Part::Ranges {
            split,
            text_start: 4_194_304,
        };
        for (part, split_count, ending) in [
            (Part::Whole, 1, ""),
            (Part::Whole, 3, ""),
            (Part::Split(2), 3, "-2"),
            (ranges(1), 1, "-4194304"),
            (ranges(2), 3, "-2-4194304"),
        ] {
            let key = part.record_key(&unit, split_count);
            // Ledgers have keys of this form. A resumed run finds the parts of the stopped run by these keys.
            assert_eq!(key.as_str(), format!("{unit}{ending}"));
            assert_eq!(Part::of_record(&key, split_count), Some(part), "{key}");
        }
        // Another program wrote these.
        for (ending, split_count) in [
            ("-2", 0),
            ("-0", 3),
            ("-4", 3),
            ("-4194304", 3),
            ("-1-x", 3),
            ("-x", 1),
        ] {
            let key = UnitKey::new(format!("{unit}{ending}"));
            assert_eq!(Part::of_record(&key, split_count), None, "{key}");
        }
    }
}
