//! Chooses the units that several streams fill: those that would keep one stream busy after the others have ended.

use std::ops::DerefMut;

use inrush_source::{Source, SourceError, Split};

use crate::load_flow::LoadFlow;
use crate::units::load_unit::LoadUnit;
use crate::units::work_items;

/// How much longer a load may take than if all streams ended at the same time. Sharing a unit has a cost (one
/// transaction no longer fills the whole table), so small differences in the sizes of files are accepted.
const LONGER_AT_MOST: f64 = 1.1;

/// The facts of a unit that decide if it is shared.
#[derive(Clone, Copy, Debug)]
struct UnitSize {
    /// Bytes of text, as far as its files tell.
    bytes_count: u64,
    /// It reads a pipe, whose length is unknown.
    is_endless: bool,
    /// It is shared in any case.
    is_shared: bool,
}

impl UnitSize {
    fn of(unit: &LoadUnit) -> UnitSize {
        UnitSize {
            bytes_count: unit.bytes_count,
            is_endless: unit.has_pipe(),
            is_shared: unit.is_shared,
        }
    }
}

/// Shares the units of all flows that would keep one stream busy after the others have ended. Returns how many of the
/// wanted streams have work then; at least one.
pub fn share_among<F: DerefMut<Target = LoadFlow>>(
    flows: &mut [F],
    wanted: usize,
) -> Result<usize, SourceError> {
    share_long_units(flows, wanted)?;
    let pieces = work_items::all(flows, wanted).len();
    Ok(wanted.min(pieces).max(1))
}

fn share_long_units<F: DerefMut<Target = LoadFlow>>(
    flows: &mut [F],
    streams: usize,
) -> Result<(), SourceError> {
    let mut units: Vec<(&dyn Source, &mut LoadUnit)> = Vec::new();
    for flow in flows {
        let LoadFlow {
            reading,
            units: own,
            ..
        } = &mut **flow;
        units.extend(own.iter_mut().map(|unit| (&*reading.source, unit)));
    }
    let sizes: Vec<UnitSize> = units.iter().map(|(_, unit)| UnitSize::of(unit)).collect();
    share(&sizes, streams, |index| {
        let (source, unit) = &mut units[index];
        unit.share_if_useful(*source)
    })
}

/// Shares the largest units among streams until no private unit makes a long tail. `share` shares the unit with this
/// index, and returns false if that is not possible.
fn share<E>(
    units: &[UnitSize],
    streams: usize,
    mut share: impl FnMut(usize) -> Result<bool, E>,
) -> Result<(), E> {
    if streams <= 1 {
        return Ok(());
    }
    let total: u64 = units.iter().map(|unit| unit.bytes_count).sum();
    let limit = LONGER_AT_MOST * total as f64 / streams as f64;
    let mut private: Vec<usize> = (0..units.len())
        .filter(|index| !units[*index].is_shared)
        .collect();
    private.sort_by_key(|index| std::cmp::Reverse(units[*index].bytes_count));
    let sizes: Vec<u64> = private
        .iter()
        .map(|index| units[*index].bytes_count)
        .collect();
    // The loads of the private units: `kept` has those that were examined, `all` also those that are still to come.
    let mut kept = Loads::new(streams);
    let mut all = kept.with(&sizes);
    for (at, index) in private.into_iter().enumerate() {
        let helps = all.longest() > limit && kept.longest() <= limit;
        if (units[index].is_endless || helps) && share(index)? {
            all = kept.with(&sizes[at + 1..]);
            continue;
        }
        kept.add(sizes[at]);
    }
    Ok(())
}

/// The estimated bytes of text of a split. Compressed text is taken to be four times its stored size.
pub fn work_bytes(split: &Split) -> u64 {
    split.input.text_bytes(split.size_bytes)
}

/// The load of each stream from private units: the largest unit first, each to the stream with the smallest load so
/// far. Shared units are then given to the streams with small loads.
#[derive(Clone)]
struct Loads(Vec<u64>);

impl Loads {
    fn new(streams: usize) -> Loads {
        Loads(vec![0; streams])
    }

    fn add(&mut self, bytes: u64) {
        if let Some(least) = self.0.iter_mut().min() {
            *least += bytes;
        }
    }

    fn with(&self, sizes: &[u64]) -> Loads {
        let mut loads = self.clone();
        sizes.iter().for_each(|bytes| loads.add(*bytes));
        loads
    }

    fn longest(&self) -> f64 {
        self.0.iter().max().map_or(0.0, |bytes| *bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn shared(sizes: &[u64], streams: usize, can_be: impl Fn(usize) -> bool) -> Vec<usize> {
        let unit = |bytes_count: &u64| UnitSize {
            bytes_count: *bytes_count,
            is_endless: *bytes_count == 0,
            is_shared: false,
        };
        let units: Vec<UnitSize> = sizes.iter().map(unit).collect();
        let mut shared = Vec::new();
        let tried = share::<Infallible>(&units, streams, |index| {
            if can_be(index) {
                shared.push(index);
            }
            Ok(can_be(index))
        });
        assert!(tried.is_ok());
        shared
    }

    #[test]
    fn the_units_that_make_a_long_tail_are_shared() {
        let all = |_| true;
        assert_eq!(shared(&[9], 2, all), [0]);
        assert_eq!(shared(&[9], 1, all), [0; 0]);
        assert_eq!(shared(&[5, 5], 2, all), [0; 0]);
        assert_eq!(shared(&[1, 9, 1], 2, all), [1]);
        // A unit that cannot be shared takes its time in any case.
        assert_eq!(shared(&[9, 5, 1], 2, |index| index != 0), [0; 0]);
        // A pipe, whose length is unknown.
        assert_eq!(shared(&[5, 0, 5], 2, all), [1]);
    }

    #[test]
    fn the_largest_goes_to_the_stream_that_has_the_least() {
        let longest = |sizes: &[u64], streams| Loads::new(streams).with(sizes).longest();
        assert_eq!(longest(&[5, 5, 5, 5], 4), 5.0);
        assert_eq!(longest(&[5, 5, 5, 5, 5], 4), 10.0);
        assert_eq!(longest(&[9, 5, 4, 1], 2), 10.0);
        assert_eq!(longest(&[], 3), 0.0);
    }
}
