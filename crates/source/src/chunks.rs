//! Chunks of whole rows, whatever they are read from.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;

use crate::error::SourceError;
use crate::meter::SourceMeter;

/// Reads chunks of whole rows: records of text, or typed values ([`Chunk::of_rows`]).
pub trait Chunks {
    /// The next whole rows, in `records` by their positions in the chunk; nothing at the end, however often it is asked.
    /// After an error the reader is of no more use.
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError>;

    /// Takes back the memory of a chunk.
    fn recycle(&mut self, chunk: Chunk);

    /// What has been read so far, and what it cost.
    fn meter(&self) -> SourceMeter;

    /// The same of the chunks that were handed out alone, without what was read ahead of them: for whoever takes a part
    /// of a file for all of it. It may read on a little, so it comes at the end.
    fn meter_of_chunks(&mut self) -> SourceMeter {
        self.meter()
    }
}
