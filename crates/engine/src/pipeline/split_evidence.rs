//! Facts gathered of the rows of a split while they pass, to be compared with the database and with promises about the
//! file.

use arrow_array::RecordBatch;
use inrush_rows::ids::UnitKey;
use inrush_source::{Split, SplitEnd};
use inrush_verdict::Phase;

use crate::gauge::Gauge;
use crate::ledger::{Account, SplitRecord};
use crate::plan::{Reading, identity};
use crate::verify::Tally;

/// Sums and refused rows of one split after the other. Its reader knows its hash and its trailer.
pub struct SplitEvidence {
    /// Sums of the rows that are sent, where more than their count is verified.
    tally: Option<Tally>,
    /// Byte offsets of the rows that the destination refused.
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

    /// Adds rows that the database is to have.
    pub fn add(&mut self, batch: &RecordBatch, gauge: &Gauge) {
        if let Some(tally) = &mut self.tally {
            let _verifying = gauge.enter(Phase::Verify);
            tally.add(batch);
        }
    }

    /// Notes where a row begins that the destination refused, in bytes of the file.
    pub fn refused(&mut self, byte_offset: u64) {
        self.refused.push(byte_offset);
    }

    /// The ledger's record of a range whose rows have all passed; the next range begins.
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
