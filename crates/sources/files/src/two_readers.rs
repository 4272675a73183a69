//! The two ways in which a stream reads a file: independently, or fed by the only reader of a file that cannot be
//! split.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;
use inrush_source::{Chunks, SourceError, SourceMeter};

use super::feed::FeedRange;
use super::reader::TextReader;

impl Chunks for TextReader {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        TextReader::next_chunk(self, records)
    }

    fn recycle(&mut self, chunk: Chunk) {
        TextReader::recycle(self, chunk);
    }

    fn meter(&self) -> SourceMeter {
        TextReader::meter(self)
    }

    fn meter_of_chunks(&mut self) -> SourceMeter {
        TextReader::meter_of_chunks(self)
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
