//! What is gathered of the rows of a file range while they pass, to be held against the database
//! and against what others promise of the file.

use std::ops::Range;
use std::time::Instant;

use arrow_array::RecordBatch;
use inrush_scan::Records;

use super::trailer::TrailerCatch;
use crate::chunk::Chunk;
use crate::meter::{Meter, nanoseconds};
use crate::plan::Reading;
use crate::verify::{ContentHash, Tally, VerifyError};

/// What is gathered of one file range after the other.
pub struct Proof {
    /// Sums of the rows that are sent, where more than their count is verified.
    tally: Option<Tally>,
    /// The trailer that the file ends with, where its flow says that there is one.
    trailer: Option<TrailerCatch>,
    content: ContentHash,
    /// The places of the text in the file, as far as its bytes are the text's own.
    text_range: Option<Range<u64>>,
}

/// What was gathered of one file range, as the ledger keeps it.
pub struct Gathered {
    /// A hash of its text.
    pub content_hash: String,
    /// Where that text stands in the file, where it is neither compressed nor translated.
    pub text_range: Option<Range<u64>>,
    /// Sums of its rows.
    pub tally: Option<Vec<String>>,
    /// Its trailer.
    pub trailer: Option<String>,
}

impl Proof {
    /// What the flow asks for.
    pub fn new(flow: &Reading) -> Proof {
        Proof {
            tally: Tally::new(&flow.verify),
            trailer: flow.expect.trailer.as_ref().map(TrailerCatch::new),
            content: ContentHash::default(),
            text_range: None,
        }
    }

    /// Sees text before its records are converted. Takes a trailer away, and returns how many.
    pub fn see(&mut self, chunk: &mut Chunk, records: &mut Records) -> Result<u64, VerifyError> {
        self.content.add(chunk.content());
        let end = chunk.byte_offset + chunk.bytes_count as u64;
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
    pub fn add(&mut self, batch: &RecordBatch, meter: &mut Meter) {
        if let Some(tally) = &mut self.tally {
            let started = Instant::now();
            tally.add(batch);
            meter.verify_ns += nanoseconds(started.elapsed());
        }
    }

    /// Takes what was gathered of a range, and begins with the next one.
    pub fn take(&mut self) -> Gathered {
        Gathered {
            content_hash: self.content.take(),
            text_range: self.text_range.take(),
            tally: self.tally.as_mut().map(Tally::take),
            trailer: self.trailer.as_mut().and_then(TrailerCatch::take),
        }
    }
}
