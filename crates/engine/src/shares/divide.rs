//! Divides the work of a run into shares.

use std::sync::Arc;

use inrush_plan::load_flow::LoadFlow;
use inrush_plan::units::work_items::WorkItem;

/// The work of a run, divided.
#[derive(Debug, PartialEq, Eq)]
pub struct Division {
    /// The work of the process that holds the run: units that several of its streams fill together.
    pub own: Vec<WorkItem>,
    /// The shares of other processes.
    pub shares: Vec<Vec<WorkItem>>,
}

/// Divides work into shares of about the same size in bytes. The order within a share stays that of the work.
pub fn divide(work: Vec<WorkItem>, flows: &[Arc<LoadFlow>], count: usize) -> Division {
    let is_own = |item: &WorkItem| flows[item.flow].units[item.unit].is_shared;
    let (own, others): (Vec<WorkItem>, Vec<WorkItem>) = work.into_iter().partition(is_own);
    Division {
        own,
        shares: balanced(others, count),
    }
}

/// Each piece goes to the share with the fewest bytes so far; among equal shares, to the one with the fewest pieces.
fn balanced(work: Vec<WorkItem>, count: usize) -> Vec<Vec<WorkItem>> {
    let mut shares: Vec<(u64, Vec<WorkItem>)> = vec![(0, Vec::new()); count];
    for item in work {
        let least = shares
            .iter_mut()
            .min_by_key(|(bytes, items)| (*bytes, items.len()));
        let (bytes, items) = least.expect("there is a share");
        *bytes += item.bytes_count;
        items.push(item);
    }
    shares.into_iter().map(|(_, items)| items).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items(sizes: &[u64]) -> Vec<WorkItem> {
        let item = |(unit, bytes_count): (usize, &u64)| WorkItem {
            flow: 0,
            unit,
            splits: 0..1,
            bytes_count: *bytes_count,
        };
        sizes.iter().enumerate().map(item).collect()
    }

    fn units(shares: &[Vec<WorkItem>]) -> Vec<Vec<usize>> {
        let units = |share: &Vec<WorkItem>| share.iter().map(|item| item.unit).collect();
        shares.iter().map(units).collect()
    }

    #[test]
    fn shares_have_about_the_same_bytes() {
        // The largest first, as streams take them.
        let shares = balanced(items(&[9, 5, 4, 3, 3]), 2);
        assert_eq!(units(&shares), [vec![0, 3], vec![1, 2, 4]]);
    }

    #[test]
    fn files_without_rows_are_spread_too_and_a_share_may_be_empty() {
        assert_eq!(
            units(&balanced(items(&[0, 0, 0]), 2)),
            [vec![0, 2], vec![1]]
        );
        assert_eq!(units(&balanced(items(&[7]), 2)), [vec![0], vec![]]);
    }
}
