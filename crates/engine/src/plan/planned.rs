//! The part of a flow's plan, and of its units, that does not depend on the destination.

use std::sync::Arc;

use inrush_convert::RunStamp;
use inrush_package::Mode;
use inrush_rows::ids::UnitKey;
use inrush_source::{Input, Source, SourceError, Split};

use super::Reading;
use super::since::NothingNew;
use crate::error::Error;
use crate::pipeline::row_maker::RowMaker;

/// A unit, by the indexes of its flow and of itself.
pub type UnitPlace = (usize, usize);

/// A split, by the indexes of its flow, of its unit, and of itself.
pub type SplitPlace = (usize, usize, usize);

/// A flow of a plan.
pub trait PlannedFlow {
    /// Its load units.
    type Unit: PlannedUnit;

    /// The reading of its files.
    fn reading(&self) -> &Reading;

    /// Its load units, in the order of their numbers.
    fn units(&self) -> &[Self::Unit];

    /// Its load units, mutable, and its reading.
    fn units_mut(&mut self) -> (&Reading, &mut [Self::Unit]);

    /// The splits of all units, mutable, and its reading.
    fn splits_mut(&mut self) -> (&Reading, impl Iterator<Item = &mut Split>) {
        let (reading, units) = self.units_mut();
        (reading, units.iter_mut().flat_map(PlannedUnit::splits_mut))
    }

    /// What becomes of the rows of its target.
    fn mode(&self) -> Mode;

    /// Why it has nothing to load, if it loads only new rows and there are none.
    fn nothing_new(&self) -> Option<&NothingNew>;

    /// True if its target has rows now; `None` if it does not exist.
    fn has_rows(&self) -> Option<bool>;

    /// Its files, each once, in the order of the flow.
    fn files(&self) -> Vec<&Arc<dyn Input>> {
        let mut files: Vec<&Arc<dyn Input>> = self.all_splits().map(|split| &split.input).collect();
        files.sort_by_key(|file| file.index());
        files.dedup_by(|file, before| Arc::ptr_eq(file, before));
        files
    }

    /// The splits of all units.
    fn all_splits(&self) -> impl Iterator<Item = &Split> {
        self.units().iter().flat_map(PlannedUnit::splits)
    }

    /// Bytes of its files as they are stored.
    fn stored_bytes(&self) -> u64 {
        self.all_splits().map(|split| split.size_bytes).sum()
    }

    /// True if its rows are written directly to the target.
    fn is_straight(&self) -> bool {
        false
    }

    /// True if its rows are written directly to the target and committed split by split.
    fn commits_each_split(&self) -> bool {
        false
    }

    /// True if its rows are written directly to the target and committed together with those of all flows.
    fn commits_at_publish(&self) -> bool {
        false
    }

    /// True if a pipe is among its files.
    fn has_pipes(&self) -> bool {
        self.all_splits().any(|split| split.input.is_read_once())
    }
}

/// A load unit of a plan.
pub trait PlannedUnit {
    /// Counted from 1 within its flow.
    fn number(&self) -> usize;

    /// Identifies its files with their state, its target, and how the rows are read.
    fn key(&self) -> &UnitKey;

    /// Its splits. Ranges of the same file follow each other.
    fn splits(&self) -> &[Split];

    /// The same splits, mutable.
    fn splits_mut(&mut self) -> &mut [Split];

    /// Its staging table; empty if it has none.
    fn staging_table(&self) -> &str {
        ""
    }

    /// Bytes of text of its files; an estimate for compressed files.
    fn bytes_count(&self) -> u64;

    /// True if several streams fill it. Each split is committed by itself, a fed split in many parts.
    fn is_shared(&self) -> bool;

    /// Shares the unit among several streams if that is possible and keeps more than one stream busy. Returns true if
    /// it is now shared. `source` is the flow's source.
    fn share_if_useful(&mut self, source: &dyn Source) -> Result<bool, SourceError>;

    /// The maker of its rows from the records of a file. `reading` is its flow's.
    fn row_maker(&self, reading: &Reading, stamp: RunStamp) -> Result<RowMaker, Error> {
        reading.row_maker(stamp)
    }

    /// The splits for one stream, in the order of the files. A file that was cut into ranges for several streams, or
    /// was to be fed to them, is one split again. `source` is the flow's source.
    fn whole_splits(&self, source: &dyn Source) -> Vec<Split> {
        let splits = self.splits();
        if !self.is_shared() {
            return splits.to_vec();
        }
        let mut found: Vec<Split> = Vec::new();
        for own in splits.chunk_by(|first, second| Arc::ptr_eq(&first.input, &second.input)) {
            let input = &own[0].input;
            let whole = source.whole(input.index());
            let is_whole = own[0].range.start == whole.range.start
                && own[own.len() - 1].range.end == whole.range.end
                && own
                    .windows(2)
                    .all(|pair| pair[0].range.end == pair[1].range.start);
            match is_whole {
                true => found.push(Split::of(Arc::clone(input), whole)),
                false => found.extend(own.iter().cloned()),
            }
        }
        found
    }
}
