//! Chooses the units that several streams fill: those that would keep one stream busy after the others have ended.

use inrush_source::SourceError;

use super::{FlowPlan, UnitPlan};

/// How many times the time of a load in which all streams end together a plan may take. Sharing a unit costs
/// FREEZE and, under `wal_level = minimal`, WAL, so what files that are nearly even differ by is waited for.
const LONGER_AT_MOST: f64 = 1.1;

/// Shares the largest units among streams until what one stream loads alone makes no long tail.
pub fn share(flows: &mut [FlowPlan], streams: usize) -> Result<(), SourceError> {
    if streams <= 1 {
        return Ok(());
    }
    let units = flows.iter_mut().flat_map(|flow| &mut flow.units);
    let mut units: Vec<&mut UnitPlan> = units.collect();
    let total: u64 = units.iter().map(|unit| unit.bytes_count).sum();
    let limit = LONGER_AT_MOST * total as f64 / streams as f64;
    units.retain(|unit| !unit.shared);
    units.sort_by_key(|unit| std::cmp::Reverse(unit.bytes_count));
    let sizes: Vec<u64> = units.iter().map(|unit| unit.bytes_count).collect();
    // Of units that stay private, and the same with all that are still to be looked at.
    let mut kept = Loads::new(streams);
    let mut all = kept.with(&sizes);
    for (at, unit) in units.into_iter().enumerate() {
        // Nobody knows how long a pipe is.
        let is_endless = unit.splits.iter().any(|split| split.file.is_pipe());
        let helps = all.longest() > limit && kept.longest() <= limit;
        if is_endless || helps {
            let pieces = unit.pieces()?;
            if pieces.len() > 1 || pieces.iter().any(|piece| piece.is_fed) {
                unit.share_in(pieces);
                all = kept.with(&sizes[at + 1..]);
                continue;
            }
        }
        kept.add(sizes[at]);
    }
    Ok(())
}

/// What each stream loads of units that none shares, the largest first, each by the stream that has the least so
/// far. What is shared fills up the others.
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
    use super::*;

    #[test]
    fn the_largest_goes_to_the_stream_that_has_the_least() {
        let longest = |sizes: &[u64], streams| Loads::new(streams).with(sizes).longest();
        assert_eq!(longest(&[5, 5, 5, 5], 4), 5.0);
        assert_eq!(longest(&[5, 5, 5, 5, 5], 4), 10.0);
        assert_eq!(longest(&[9, 5, 4, 1], 2), 10.0);
        assert_eq!(longest(&[], 3), 0.0);
    }
}
