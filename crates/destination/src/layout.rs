//! The load units of a flow: the splits of each, the streams that may fill it, and the partition that it becomes.
//!
//! Splits are identified by their indexes in the list of splits, so that a layout can be printed, sent and read back
//! without the files.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A split of a flow, as a destination sees it when it lays out the units. The splits of a flow come in the order of
/// its inputs, and those of one input in the order of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitFacts<'a> {
    /// Index of its input among the inputs of the flow, from 0. All ranges of one file have the same index.
    pub input: usize,
    /// Name of the input: a path as the user wrote it, or the name of a table.
    pub name: &'a Path,
    /// Bytes of its text; an estimate if it is compressed. `None` for a pipe, whose size is unknown before it is read.
    pub text_bytes: Option<u64>,
    /// Its rows, if the source knows them without reading it.
    pub row_count: Option<u64>,
}

/// The load units of a flow, in the order of their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The units.
    pub units: Vec<UnitLayout>,
}

/// One load unit of a layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitLayout {
    /// The numbers of its splits, from 0, in the order in which one stream loads them. A destination with its own
    /// driver may have a unit without splits for a partition that stays empty.
    pub splits: Vec<usize>,
    /// Which streams may fill it.
    pub filling: Filling,
    /// The target or partition that its rows are published into.
    pub publishes_into: PublishesInto,
}

/// Which streams may fill a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Filling {
    /// One stream, in one transaction.
    OneStream,
    /// One stream, or several if one stream alone would be busy after the others have ended.
    OneOrSeveral,
    /// Any number of streams. Each split is committed by itself.
    EachSplit,
}

/// The target or partition that a unit is published into.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PublishesInto {
    /// The target, with all other units.
    Target,
    /// A partition of the target, by its name, that contains only this unit.
    Partition(String),
}

/// A layout that cannot be loaded: it does not hold each split of its flow exactly once, or breaks another rule. This
/// is a mistake in the destination's code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A split is in no unit: its rows would be lost.
    #[error("split {} of {split_count} is in no load unit, so its rows would not be loaded", split + 1)]
    Missing {
        /// Its index, from 0.
        split: usize,
        /// Splits of the flow.
        split_count: usize,
    },
    /// A split is in two units, or twice in one: its rows would be loaded twice.
    #[error("split {} of {split_count} is in load unit {unit} twice, or also in an earlier one, so its rows would be loaded \
             twice", split + 1)]
    Twice {
        /// Its index, from 0.
        split: usize,
        /// Splits of the flow.
        split_count: usize,
        /// Number of the second unit, from 1.
        unit: usize,
    },
    /// A unit names a split that the flow does not have.
    #[error("load unit {unit} names split {}, but the flow has {split_count}", split + 1)]
    Unknown {
        /// Its index, from 0.
        split: usize,
        /// Splits of the flow.
        split_count: usize,
        /// Number of the unit, from 1.
        unit: usize,
    },
    /// A unit has no split, and its destination makes partitions without rows by itself.
    #[error("load unit {unit} has no split, so there is nothing to commit")]
    Empty {
        /// Number of the unit, from 1.
        unit: usize,
    },
    /// The destination rejects single rows, but its units are not in the order of the splits. Then, of several rows
    /// with the same key, a row other than the first could be kept.
    #[error("load unit {unit} has split {} of {split_count} after a later one, and this destination rejects single rows in \
             the order of the splits", split + 1)]
    Order {
        /// Its index, from 0.
        split: usize,
        /// Splits of the flow.
        split_count: usize,
        /// Number of the unit, from 1.
        unit: usize,
    },
}

impl Layout {
    /// One unit for each split.
    pub fn one_unit_each(
        split_count: usize,
        filling: Filling,
        mut publishes_into: impl FnMut() -> PublishesInto,
    ) -> Layout {
        let unit = |split| UnitLayout {
            splits: vec![split],
            filling,
            publishes_into: publishes_into(),
        };
        Layout {
            units: (0..split_count).map(unit).collect(),
        }
    }

    /// Fails unless each split of the flow is in exactly one unit, once.
    pub fn check(&self, split_count: usize) -> Result<(), LayoutError> {
        let mut is_placed = vec![false; split_count];
        for (unit, number) in self.units.iter().zip(1..) {
            for split in &unit.splits {
                let (split, unit) = (*split, number);
                match is_placed.get_mut(split) {
                    Some(placed) if !*placed => *placed = true,
                    Some(_) => {
                        return Err(LayoutError::Twice {
                            split,
                            split_count,
                            unit,
                        });
                    }
                    None => {
                        return Err(LayoutError::Unknown {
                            split,
                            split_count,
                            unit,
                        });
                    }
                }
            }
        }
        match is_placed.iter().position(|placed| !placed) {
            None => Ok(()),
            Some(split) => Err(LayoutError::Missing { split, split_count }),
        }
    }

    /// Fails if a unit has no split.
    pub fn check_filled(&self) -> Result<(), LayoutError> {
        match self.units.iter().position(|unit| unit.splits.is_empty()) {
            None => Ok(()),
            Some(at) => Err(LayoutError::Empty { unit: at + 1 }),
        }
    }

    /// Fails unless the units have the splits in their order. The units of different partitions have no rows with the
    /// same key, so only the order within each of them counts.
    pub fn check_order(&self, split_count: usize) -> Result<(), LayoutError> {
        let mut last_of_target = None;
        for (unit, number) in self.units.iter().zip(1..) {
            let mut last_of_partition = None;
            let last = match unit.publishes_into {
                PublishesInto::Target => &mut last_of_target,
                PublishesInto::Partition(_) => &mut last_of_partition,
            };
            for split in &unit.splits {
                if last.replace(*split) > Some(*split) {
                    return Err(LayoutError::Order {
                        split: *split,
                        split_count,
                        unit: number,
                    });
                }
            }
        }
        Ok(())
    }
}

/// One line for each unit, without a line end after the last one. Splits are counted from 1.
impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, unit) in self.units.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "unit {}: {unit}", at + 1)?;
        }
        Ok(())
    }
}

impl fmt::Display for UnitLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.splits[..] {
            [] => f.write_str("no splits")?,
            [split] => write!(f, "split {}", split + 1)?,
            splits => {
                let numbers: Vec<String> = splits.iter().map(|at| (at + 1).to_string()).collect();
                write!(f, "splits {}", numbers.join(", "))?;
            }
        }
        write!(f, "; {}; into {}", self.filling, self.publishes_into)
    }
}

impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Filling::OneStream => "one stream",
            Filling::OneOrSeveral => "one stream or several",
            Filling::EachSplit => "each split by itself",
        })
    }
}

impl fmt::Display for PublishesInto {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishesInto::Target => f.write_str("the target"),
            PublishesInto::Partition(name) => write!(f, "partition {name:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(units: &[&[usize]]) -> Layout {
        let unit = |splits: &&[usize]| UnitLayout {
            splits: splits.to_vec(),
            filling: Filling::OneOrSeveral,
            publishes_into: PublishesInto::Target,
        };
        Layout {
            units: units.iter().map(unit).collect(),
        }
    }

    #[test]
    fn each_split_is_in_one_unit_once() {
        assert_eq!(layout(&[]).check(0), Ok(()));
        // Units may be in any order, and one may stay empty.
        assert_eq!(layout(&[&[2, 0], &[], &[1]]).check(3), Ok(()));
        let each = Layout::one_unit_each(3, Filling::OneStream, || PublishesInto::Target);
        assert_eq!(each.check(3), Ok(()));
        for (units, expected) in [
            (
                &[&[0][..], &[2]][..],
                "split 2 of 3 is in no load unit, so its rows would not be loaded",
            ),
            (
                &[&[0, 1], &[1, 2]],
                "split 2 of 3 is in load unit 2 twice, or also in an earlier one, so its rows would be loaded twice",
            ),
            (
                &[&[0, 1, 1], &[2]],
                "split 2 of 3 is in load unit 1 twice, or also in an earlier one, so its rows would be loaded twice",
            ),
            (
                &[&[0, 1, 2], &[3]],
                "load unit 2 names split 4, but the flow has 3",
            ),
        ] {
            let error = layout(units).check(3).err();
            assert_eq!(
                error.map(|error| error.to_string()).as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn a_unit_without_splits_is_found() {
        assert_eq!(layout(&[&[1], &[0]]).check_filled(), Ok(()));
        let empty = layout(&[&[0, 1], &[]]).check_filled();
        assert_eq!(empty, Err(LayoutError::Empty { unit: 2 }));
    }

    #[test]
    fn splits_out_of_their_order_are_found() {
        assert_eq!(layout(&[&[0, 1], &[2], &[3]]).check_order(4), Ok(()));
        for units in [&[&[0][..], &[2, 1]][..], &[&[0, 2], &[1]]] {
            let found = layout(units).check_order(3).err();
            assert_eq!(
                found.map(|error| error.to_string()).as_deref(),
                Some(
                    "load unit 2 has split 2 of 3 after a later one, and this destination rejects single rows in the order \
                     of the splits"
                )
            );
        }
        let mut partitions = layout(&[&[2], &[0, 1]]);
        for unit in &mut partitions.units {
            unit.publishes_into = PublishesInto::Partition("p".to_owned());
        }
        assert_eq!(partitions.check_order(3), Ok(()));
        partitions.units[1].splits.reverse();
        assert!(partitions.check_order(3).is_err());
    }

    #[test]
    fn a_layout_is_printed_unit_by_unit() {
        let partition = |name: &str| PublishesInto::Partition(name.to_owned());
        let unit = |splits: &[usize], filling, publishes_into| UnitLayout {
            splits: splits.to_vec(),
            filling,
            publishes_into,
        };
        let layout = Layout {
            units: vec![
                unit(&[0, 2], Filling::OneOrSeveral, partition("orders_p1")),
                unit(&[], Filling::OneStream, partition("a \"b\"")),
                unit(&[1], Filling::EachSplit, PublishesInto::Target),
            ],
        };
        assert_eq!(
            layout.to_string(),
            "unit 1: splits 1, 3; one stream or several; into partition \"orders_p1\"\n\
             unit 2: no splits; one stream; into partition \"a \\\"b\\\"\"\n\
             unit 3: split 2; each split by itself; into the target"
        );
    }
}
