//! Chunks of whole rows from any source.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;

use crate::error::SourceError;
use crate::meter::SourceMeter;

/// Reads chunks of whole rows: records of text, or typed values ([`Chunk::of_rows`]).
pub trait Chunks {
    /// The next whole rows, and in `records` their positions in the chunk. `None` at the end, and at every later call.
    /// After an error the reader must not be used again.
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError>;

    /// Takes back the memory of a chunk.
    fn recycle(&mut self, chunk: Chunk);

    /// The totals of what has been read so far, and their cost.
    fn meter(&self) -> SourceMeter;

    /// Like `meter`, but only for the chunks that were handed out, without data that was read ahead. For callers that
    /// treat a part of a file as the whole file. Call it at the end, because it may read on a little.
    fn meter_of_chunks(&mut self) -> SourceMeter {
        self.meter()
    }
}
