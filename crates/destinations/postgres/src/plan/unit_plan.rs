//! A planned load unit.

use inrush_convert::{KeyBounds, KeySet, RunStamp};
use inrush_destination::Filling;
use inrush_engine::error::Error;
use inrush_engine::native::load::RowMaker;
use inrush_engine::native::plan::PlannedUnit;
use inrush_engine::plan::Reading;
use inrush_rows::ids::UnitKey;
use inrush_source::{Source, SourceError, Split};

use crate::staging::UnitBounds;

/// One load unit, planned.
#[derive(Clone, Debug)]
pub struct UnitPlan {
    /// Counted from 1 within its flow.
    pub number: usize,
    /// Identifies its files with their state, its target, and how they are read.
    pub key: UnitKey,
    /// Its staging table.
    pub staging_table: String,
    /// The splits that it holds.
    pub splits: Vec<Split>,
    /// Bytes of its files; an estimate for compressed files.
    pub bytes_count: u64,
    /// Which streams may fill it.
    pub filling: Filling,
    /// Filled by several streams, each split in its own transaction and without FREEZE.
    pub shared: bool,
    /// The partition that it becomes.
    pub partition_name: Option<String>,
    /// Its bounds, if they are known before it is loaded.
    pub bounds: Option<UnitBounds>,
    /// The same bounds, for the check during conversion.
    pub key_bounds: Option<KeyBounds>,
    /// The keys that have a partition, for the check during conversion if rows are routed.
    pub key_set: Option<KeySet>,
    /// Statements that create its staging table.
    pub create: Vec<String>,
    /// The COPY that fills it.
    pub copy: String,
    /// The COPY that fills it if several streams do.
    pub copy_shared: String,
    /// Counts its rows.
    pub measure: String,
    /// The query for its sums, if more than the number of rows is verified.
    pub verify: Option<String>,
    /// Statements that prepare it after it is filled, such as indexes.
    pub ready: Vec<String>,
}

impl PlannedUnit for UnitPlan {
    /// Rows whose key is outside the unit become rejects.
    fn row_maker(&self, reading: &Reading, stamp: RunStamp) -> Result<RowMaker, Error> {
        let maker = reading.row_maker(stamp)?;
        let maker = match &self.key_set {
            Some(set) => maker.with_target(|target| target.with_key_set(set.clone())),
            None => maker,
        };
        Ok(match &self.key_bounds {
            Some(bounds) => maker.with_target(|target| target.with_key_bounds(bounds.clone())),
            None => maker,
        })
    }

    fn number(&self) -> usize {
        self.number
    }

    fn key(&self) -> &UnitKey {
        &self.key
    }

    fn splits(&self) -> &[Split] {
        &self.splits
    }

    fn splits_mut(&mut self) -> &mut [Split] {
        &mut self.splits
    }

    fn staging_table(&self) -> &str {
        &self.staging_table
    }

    fn bytes_count(&self) -> u64 {
        self.bytes_count
    }

    fn is_shared(&self) -> bool {
        self.shared
    }

    fn share_if_useful(&mut self, source: &dyn Source) -> Result<bool, SourceError> {
        if self.filling == Filling::OneStream {
            return Ok(false);
        }
        let pieces = self.pieces(source)?;
        let helps = pieces.len() > 1 || pieces.iter().any(|piece| piece.is_shared);
        if helps {
            self.share_in(pieces);
        }
        Ok(helps)
    }
}
