//! Facts about the rows of a split, collected while they are loaded, to be compared with the database and with promises
//! about the file.

use arrow_array::RecordBatch;
use inrush_plan::ledger::{Account, SplitRecord};
use inrush_plan::verify::Tally;
use inrush_plan::{Reading, identity};
use inrush_rows::ids::UnitKey;
use inrush_source::{Split, SplitEnd};
use inrush_verdict::Phase;

use crate::gauge::Gauge;

/// The sums and the refused rows of the current split. The split's reader holds the hash and the trailer.
pub struct SplitEvidence {
    /// Sums of the rows that are sent, if more than their count is verified.
    tally: Option<Tally>,
    /// The ids of the rows that the destination refused ([`MadeRows::row_id`](super::row_maker::MadeRows::row_id)).
    refused: Vec<u64>,
}

impl SplitEvidence {
    /// Evidence for one flow.
    pub fn new(flow: &Reading) -> SplitEvidence {
        SplitEvidence {
            tally: Tally::new(&flow.verify),
            refused: Vec::new(),
        }
    }

    /// Adds rows that the database should have.
    pub fn add(&mut self, batch: &RecordBatch, gauge: &Gauge) {
        if let Some(tally) = &mut self.tally {
            let _verifying = gauge.enter(Phase::Verify);
            tally.add(batch);
        }
    }

    /// Notes the id of a row that the destination refused.
    pub fn refused(&mut self, row_id: u64) {
        self.refused.push(row_id);
    }

    /// Returns the ledger's record of a range whose rows are all written, and begins the next range.
    pub fn record(
        &mut self,
        unit_key: &UnitKey,
        split: &Split,
        account: Account,
        end: SplitEnd,
    ) -> SplitRecord {
        SplitRecord {
            unit_key: unit_key.clone(),
            split_key: identity::split_key(split),
            file_key: identity::file_key(&*split.input),
            file: split.input.name().display().to_string(),
            byte_start: split.range.start,
            byte_end: Some(split.range.end),
            file_bytes: split.input.size_bytes(),
            file_modified_ns: split.input.modified_ns(),
            file_state: split.input.mark(),
            account,
            content_hash: Some(end.hash),
            text_range: end.text_range,
            tally: self.tally.as_mut().map(Tally::take),
            trailer: end.trailer,
            refused: std::mem::take(&mut self.refused),
        }
    }
}
