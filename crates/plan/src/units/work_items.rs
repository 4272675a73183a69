//! The pieces of work that streams take, and those that a stopped run has left.

use std::ops::{Deref, Range};

use inrush_rows::ids::SplitKey;
use serde::{Deserialize, Serialize};

use crate::identity;
use crate::load_flow::LoadFlow;
use crate::units::load_unit::LoadUnit;
use crate::units::long_units::work_bytes;
use crate::units::places::{SplitPlace, UnitPlace};

/// A piece of work of a stream: a private unit, or one split of a shared one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// Index of the flow.
    pub flow: usize,
    /// Index of the unit in it.
    pub unit: usize,
    /// The splits to load, by index.
    pub splits: Range<usize>,
    /// The bytes of these splits.
    pub bytes_count: u64,
}

impl WorkItem {
    /// A whole unit, for one stream.
    pub fn whole((flow, unit): UnitPlace, planned: &LoadUnit) -> WorkItem {
        WorkItem {
            flow,
            unit,
            splits: 0..planned.splits.len(),
            bytes_count: planned.bytes_count,
        }
    }

    /// Its unit.
    pub fn unit_place(&self) -> UnitPlace {
        (self.flow, self.unit)
    }

    /// Its first split.
    pub fn split_place(&self) -> SplitPlace {
        (self.flow, self.unit, self.splits.start)
    }
}

/// All work of a plan. Within the same turn, flows are ordered by size, the largest first, so that no stream is left
/// with a long piece at the end.
///
/// A split that is fed is in the list once for each stream, because all streams take rows from it.
pub fn all<F: Deref<Target = LoadFlow>>(flows: &[F], streams: usize) -> Vec<WorkItem> {
    let mut items = Vec::new();
    for (flow_index, flow) in flows.iter().enumerate() {
        for (unit_index, unit) in flow.units.iter().enumerate() {
            let place = (flow_index, unit_index);
            match unit.is_shared {
                true => items.extend(of_splits(place, unit, streams)),
                false => items.push(WorkItem::whole(place, unit)),
            }
        }
    }
    sort(&mut items, |flow| flows[flow].turn);
    items
}

/// The work on a unit that several streams fill.
pub fn of_splits(
    (flow, unit): UnitPlace,
    planned: &LoadUnit,
    streams: usize,
) -> impl Iterator<Item = WorkItem> {
    let splits = planned.splits.iter().enumerate();
    splits.flat_map(move |(index, split)| {
        let takers = if split.is_shared { streams } else { 1 };
        let is_endless = split.is_shared && split.input.is_read_once();
        let item = move |bytes_count| WorkItem {
            flow,
            unit,
            splits: index..index + 1,
            bytes_count,
        };
        turns(work_bytes(split), is_endless, takers).map(item)
    })
}

/// The committed part of a unit.
pub enum Committed<'a> {
    /// No part of it is committed.
    Nothing,
    /// The splits whose keys the function accepts.
    Splits(Box<dyn Fn(&SplitKey) -> bool + 'a>),
    /// All of it.
    All,
}

impl Committed<'_> {
    /// True if splits of these keys are still to be loaded. A unit without files is also work, because its table is
    /// created.
    pub fn leaves(&self, mut split_keys: impl Iterator<Item = SplitKey>) -> bool {
        match self {
            Committed::Nothing => true,
            Committed::Splits(is_there) => split_keys.any(|key| !is_there(&key)),
            Committed::All => false,
        }
    }
}

/// The work that earlier attempts have left, in the order of [`all`].
pub fn left<'a, F: Deref<Target = LoadFlow>>(
    flows: &'a [F],
    streams: usize,
    committed: impl Fn(UnitPlace, &'a LoadUnit) -> Committed<'a>,
) -> Vec<WorkItem> {
    let mut items = all(flows, streams);
    items.retain(|item| {
        let unit = &flows[item.flow].units[item.unit];
        let splits = unit.splits[item.splits.clone()].iter();
        committed(item.unit_place(), unit).leaves(splits.map(identity::split_key))
    });
    items
}

/// Orders work as streams take it. The sort is stable: equal pieces stay in the order of the package.
fn sort(items: &mut [WorkItem], turn: impl Fn(usize) -> usize) {
    items.sort_by_key(|item| (turn(item.flow), std::cmp::Reverse(item.bytes_count)));
}

/// The entries of a fed file in the list of work: one for each stream, with the bytes of text that the stream is
/// expected to take. The largest entries are taken first.
pub fn turns(bytes_count: u64, is_pipe: bool, streams: usize) -> impl Iterator<Item = u64> {
    let streams = streams.max(1);
    let part = bytes_count / streams as u64;
    // A pipe may never end, so one stream begins with it. The others help when no other work is left.
    let first = if is_pipe { u64::MAX } else { part };
    std::iter::once(first).chain(std::iter::repeat_n(part, streams - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_by_turn_and_then_by_size() {
        let item = |flow, unit, bytes_count| WorkItem {
            flow,
            unit,
            splits: 0..1,
            bytes_count,
        };
        let places = |turn: fn(usize) -> usize| {
            let mut items = vec![item(0, 0, 5), item(0, 1, 7), item(1, 0, 9), item(1, 1, 7)];
            sort(&mut items, turn);
            let places = items.iter().map(|item| (item.flow, item.unit));
            places.collect::<Vec<_>>()
        };
        // Largest first; equal ones in the order of the package.
        assert_eq!(places(|_| 0), [(1, 0), (0, 1), (1, 1), (0, 0)]);
        // Flow by flow.
        assert_eq!(places(|flow| flow), [(0, 1), (0, 0), (1, 0), (1, 1)]);
    }

    #[test]
    fn work_is_left_where_a_split_is_not_there() {
        let leaves = |committed: &Committed<'_>, keys: &[&str]| {
            committed.leaves(keys.iter().map(|key| SplitKey::new(*key)))
        };
        let one = Committed::Splits(Box::new(|key| key.as_str() == "one"));
        assert!(!leaves(&one, &["one"]));
        assert!(leaves(&one, &["two"]));
        assert!(leaves(&one, &["one", "two"]));
        // A partition without files has no splits.
        for keys in [&["one", "two"][..], &[]] {
            assert!(leaves(&Committed::Nothing, keys));
            assert!(!leaves(&Committed::All, keys));
        }
    }
}
