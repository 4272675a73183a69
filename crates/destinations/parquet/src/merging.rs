//! Merges small input files: consecutive files become one load unit, and so one file.

use inrush_destination::{Filling, Layout, PublishesInto, SplitFacts, UnitLayout};

/// The most splits of a unit. Its record, which is written and read as a whole, has about 700 bytes for each.
const SPLITS_MAX: usize = 1000;

/// Makes the load units of a flow: consecutive splits with at most this many bytes of text together are one unit.
/// Without a limit each split is a unit.
pub(super) fn lay_out(splits: &[SplitFacts<'_>], merge_bytes: Option<u64>) -> Layout {
    let mut units: Vec<UnitLayout> = Vec::new();
    let mut bytes_of_unit = 0_u64;
    for (at, split) in splits.iter().enumerate() {
        // The size of a pipe is unknown, so it is a unit of its own.
        let bytes = split.text_bytes.unwrap_or(u64::MAX);
        bytes_of_unit = bytes_of_unit.saturating_add(bytes);
        match units.last_mut() {
            Some(unit)
                if merge_bytes.is_some_and(|max| bytes_of_unit <= max)
                    && unit.splits.len() < SPLITS_MAX =>
            {
                unit.splits.push(at);
                // If several streams filled the unit, they would write a file for each split.
                unit.filling = Filling::OneStream;
            }
            _ => {
                bytes_of_unit = bytes;
                units.push(UnitLayout {
                    splits: vec![at],
                    filling: Filling::OneOrSeveral,
                    publishes_into: PublishesInto::Target,
                });
            }
        }
    }
    Layout { units }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn units(sizes: &[Option<u64>], merge_bytes: Option<u64>) -> Vec<Vec<usize>> {
        let facts = |(input, text_bytes): (usize, &Option<u64>)| SplitFacts {
            input,
            name: Path::new("a.csv"),
            text_bytes: *text_bytes,
            row_count: None,
        };
        let splits: Vec<SplitFacts<'_>> = sizes.iter().enumerate().map(facts).collect();
        let layout = lay_out(&splits, merge_bytes);
        assert_eq!(layout.check(sizes.len()), Ok(()));
        for unit in &layout.units {
            let is_alone = unit.splits.len() == 1;
            assert_eq!(unit.filling == Filling::OneOrSeveral, is_alone);
        }
        layout.units.into_iter().map(|unit| unit.splits).collect()
    }

    #[test]
    fn small_files_that_follow_each_other_are_one_unit() {
        let sizes = [4, 5, 1, 20, 3, 7, 0].map(Some);
        let merged = units(&sizes, Some(10));
        assert_eq!(merged, [vec![0, 1, 2], vec![3], vec![4, 5, 6]]);
        assert_eq!(units(&sizes, None).len(), sizes.len());
        assert_eq!(units(&[], Some(10)).len(), 0);
    }

    #[test]
    fn a_pipe_stays_alone() {
        let sizes = [Some(1), None, None, Some(1), Some(u64::MAX)];
        assert_eq!(units(&sizes, Some(10)).len(), 5);
    }

    #[test]
    fn a_unit_has_no_more_splits_than_a_record_may_name() {
        let merged = units(&[Some(1); SPLITS_MAX + 1], Some(1 << 30));
        let sizes: Vec<usize> = merged.iter().map(Vec::len).collect();
        assert_eq!(sizes, [SPLITS_MAX, 1]);
    }
}
