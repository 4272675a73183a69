//! The two ways in which a stream reads a file: by itself, and fed by the one reader of a file that cannot be split.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{Chunks, SourceError, SourceMeter};

use super::feed::FeedRange;
use super::reader::SplitReader;

impl Chunks for SplitReader {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        SplitReader::next_chunk(self, records)
    }

    fn recycle(&mut self, chunk: Chunk) {
        SplitReader::recycle(self, chunk);
    }

    fn meter(&self) -> SourceMeter {
        SplitReader::meter(self)
    }

    fn meter_of_chunks(&mut self) -> SourceMeter {
        SplitReader::meter_of_chunks(self)
    }
}

impl Chunks for FeedRange {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        FeedRange::next_chunk(self, records)
    }

    fn recycle(&mut self, chunk: Chunk) {
        FeedRange::recycle(self, chunk);
    }

    fn meter(&self) -> SourceMeter {
        FeedRange::meter(self)
    }
}
