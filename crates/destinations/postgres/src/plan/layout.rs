//! Assigns the splits of a flow to load units, and decides which streams may fill a unit and which partition it
//! becomes.

use inrush_destination::{Filling, Layout, PublishesInto, UnitLayout};

use super::bounds::Interval;
use super::partition_names::PartitionNames;
use super::{Commit, Publish};

/// The load units of a flow with `split_count` splits. If units are partitions, `names` has the partitions' names. If
/// the bounds are declared, the first units are `intervals`, in their order.
pub fn lay_out(
    publish: &Publish,
    split_count: usize,
    intervals: &[Interval],
    mut names: Option<&mut PartitionNames<'_>>,
) -> Layout {
    let filling = match publish {
        Publish::Straight(Commit::EachSplit) => Filling::EachSplit,
        // Only the session of the switch may fill it.
        Publish::Straight(Commit::AtSwitch) => Filling::OneStream,
        _ => Filling::OneOrSeveral,
    };
    let units = groups(filling, split_count, intervals, names.is_some());
    let unit = |splits| UnitLayout {
        splits,
        filling,
        publishes_into: match (publish, &mut names) {
            (Publish::Straight(_), _) | (_, None) => PublishesInto::Target,
            (_, Some(names)) => PublishesInto::Partition(names.take()),
        },
    };
    Layout {
        units: units.into_iter().map(unit).collect(),
    }
}

/// The splits of each unit.
fn groups(
    filling: Filling,
    split_count: usize,
    intervals: &[Interval],
    are_partitions: bool,
) -> Vec<Vec<usize>> {
    let splits = 0..split_count;
    if !are_partitions {
        return match filling {
            // Rows in the target stay there, so a changed file must not affect the unit of another file.
            Filling::EachSplit => splits.map(|split| vec![split]).collect(),
            Filling::OneStream | Filling::OneOrSeveral => vec![splits.collect()],
        };
    }
    let mut is_placed = vec![false; split_count];
    for split in intervals.iter().flat_map(|interval| &interval.files) {
        is_placed[*split] = true;
    }
    // Files without a row belong to no partition, but still need an account. Without declared bounds each file is a
    // unit.
    let unplaced = splits.filter(|split| !is_placed[*split]);
    let placed = intervals.iter().map(|interval| interval.files.clone());
    placed.chain(unplaced.map(|split| vec![split])).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn printed(publish: &Publish, splits: usize, files: &[&[usize]], is_keyed: bool) -> String {
        let interval = |files: &&[usize]| Interval {
            lower: String::new(),
            upper: String::new(),
            files: files.to_vec(),
        };
        let intervals: Vec<Interval> = files.iter().map(interval).collect();
        let taken = BTreeSet::from(["t_p2".to_owned()]);
        let mut names = PartitionNames::new("t", &taken);
        let names = is_keyed.then_some(&mut names);
        let layout = lay_out(publish, splits, &intervals, names);
        assert_eq!(layout.check(splits), Ok(()));
        let json = serde_json::to_string(&layout).expect("a layout is plain data");
        let read: Layout = serde_json::from_str(&json).expect("it was written here");
        assert_eq!(read, layout, "{json}");
        layout.to_string()
    }

    #[test]
    fn without_a_key_all_splits_are_one_unit() {
        assert_eq!(
            printed(&Publish::Insert, 3, &[], false),
            "unit 1: splits 1, 2, 3; one stream or several; into the target"
        );
        assert_eq!(
            printed(&Publish::Straight(Commit::AtSwitch), 2, &[], false),
            "unit 1: splits 1, 2; one stream; into the target"
        );
    }

    #[test]
    fn rows_that_stay_in_the_target_at_once_are_a_unit_for_each_split() {
        assert_eq!(
            printed(&Publish::Straight(Commit::EachSplit), 2, &[], false),
            "unit 1: split 1; each split by itself; into the target\n\
             unit 2: split 2; each split by itself; into the target"
        );
    }

    #[test]
    fn with_a_key_each_split_is_a_partition_whose_name_is_free() {
        assert_eq!(
            printed(&Publish::Attach, 2, &[], true),
            "unit 1: split 1; one stream or several; into partition \"t_p1\"\n\
             unit 2: split 2; one stream or several; into partition \"t_p3\""
        );
    }

    #[test]
    fn declared_partitions_come_first_and_splits_without_rows_after_them() {
        assert_eq!(
            printed(&Publish::Attach, 4, &[&[3, 0], &[], &[1]], true),
            "unit 1: splits 4, 1; one stream or several; into partition \"t_p1\"\n\
             unit 2: no splits; one stream or several; into partition \"t_p3\"\n\
             unit 3: split 2; one stream or several; into partition \"t_p4\"\n\
             unit 4: split 3; one stream or several; into partition \"t_p5\""
        );
    }
}
