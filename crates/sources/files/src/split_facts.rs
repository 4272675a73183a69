//! Facts about a split that are collected while its rows are read: a hash, the place of its text, its trailer.

use std::ops::Range;

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{ContentHash, SourceError, SourceMeter, SplitEnd};

use super::trailer::TrailerCatch;

/// Facts of one split.
pub(super) struct SplitFacts {
    hash: ContentHash,
    text_range: Option<Range<u64>>,
    trailer: Option<TrailerCatch>,
    trailer_count: u64,
}

impl SplitFacts {
    /// No facts yet. If `trailer_starts_with` is given, the file's last record is a trailer that begins with it.
    pub(super) fn new(trailer_starts_with: Option<&str>) -> SplitFacts {
        SplitFacts {
            hash: ContentHash::default(),
            text_range: None,
            trailer: trailer_starts_with.map(TrailerCatch::new),
            trailer_count: 0,
        }
    }

    /// Adds a chunk, and removes a trailer from its records.
    pub(super) fn see(
        &mut self,
        chunk: &mut Chunk,
        records: &mut Records,
    ) -> Result<(), SourceError> {
        self.hash.add(chunk.content());
        let end = chunk.byte_offset + chunk.text.len() as u64;
        match &mut self.text_range {
            Some(range) => range.end = end,
            None => self.text_range = Some(chunk.byte_offset..end),
        }
        if let Some(trailer) = &mut self.trailer {
            self.trailer_count += trailer.take_from(chunk, records)?;
        }
        Ok(())
    }

    /// The counts of a reader, with a trailer counted as a skipped line.
    pub(super) fn counted(&self, mut meter: SourceMeter) -> SourceMeter {
        meter.record_count -= self.trailer_count;
        meter.skipped_line_count += self.trailer_count;
        meter
    }

    /// All facts.
    pub(super) fn end(mut self) -> SplitEnd {
        SplitEnd {
            hash: self.hash.take(),
            text_range: self.text_range,
            trailer: self.trailer.as_mut().and_then(TrailerCatch::take),
        }
    }
}
