//! Facts gathered of the rows of a split while they pass, to be compared with the database and with promises about the
//! file.

use std::ops::Range;

use arrow_array::RecordBatch;
use inrush_files::{Split, TrailerCatch};
use inrush_rows::chunk::Chunk;
use inrush_rows::ids::UnitKey;
use inrush_scan::Records;
use inrush_source::{ContentHash, SourceError};
use inrush_verdict::Phase;

use crate::gauge::Gauge;
use crate::ledger::{Account, SplitRecord};
use crate::plan::{Reading, identity};
use crate::verify::Tally;

/// Sums, hash and trailer of one split after the other.
pub struct SplitEvidence {
    /// Sums of the rows that are sent, where more than their count is verified.
    tally: Option<Tally>,
    /// The trailer that the file ends with, where its flow says that there is one.
    trailer: Option<TrailerCatch>,
    content: ContentHash,
    /// The places of the text in the file, as far as its bytes are the text's own.
    text_range: Option<Range<u64>>,
    /// Where the rows begin that the destination refused.
    refused: Vec<u64>,
}

impl SplitEvidence {
    /// What the flow asks for.
    pub fn new(flow: &Reading) -> SplitEvidence {
        SplitEvidence {
            tally: Tally::new(&flow.verify),
            trailer: flow.expect.trailer_catch(),
            content: ContentHash::default(),
            text_range: None,
            refused: Vec::new(),
        }
    }

    /// Sees text before its records are converted. Takes a trailer away, and returns how many.
    pub fn see(&mut self, chunk: &mut Chunk, records: &mut Records) -> Result<u64, SourceError> {
        self.content.add(chunk.content());
        let end = chunk.byte_offset + chunk.text.len() as u64;
        match &mut self.text_range {
            Some(range) => range.end = end,
            None => self.text_range = Some(chunk.byte_offset..end),
        }
        match &mut self.trailer {
            Some(trailer) => trailer.take_from(chunk, records),
            None => Ok(0),
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

    /// What the ledger is to know of a range whose rows have all passed; the next one begins.
    pub fn record(&mut self, unit_key: &UnitKey, split: &Split, account: Account) -> SplitRecord {
        SplitRecord {
            unit_key: unit_key.clone(),
            split_key: identity::split_key(split),
            file_key: identity::file_key(&split.file),
            file: split.file.path.display().to_string(),
            byte_start: split.byte_range.start,
            byte_end: Some(split.byte_range.end),
            file_bytes: split.file.size_bytes,
            file_modified_ns: split.file.modified_ns,
            file_state: split.file.state.to_string(),
            account,
            content_hash: Some(self.content.take()),
            text_range: self.text_range.take(),
            tally: self.tally.as_mut().map(Tally::take),
            trailer: self.trailer.as_mut().and_then(TrailerCatch::take),
            refused: std::mem::take(&mut self.refused),
        }
    }
}
