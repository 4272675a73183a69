//! Chunks of whole rows from any source, and rows that stay in their source's own form.

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;

use crate::error::SourceError;
use crate::meter::SourceMeter;

/// Reads chunks of whole rows: records of text, or typed values ([`Chunk::of_rows`]).
pub trait Chunks {
    /// The next whole rows; `records` gets their positions in the chunk. `None` at the end, and at every later call.
    /// After an error the reader must not be used again.
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError>;

    /// Waits until more may be read, if the rate of reading is limited. A caller that measures the time of this wait
    /// calls it before [`next_chunk`](Chunks::next_chunk) or [`append_rows`](NativeRows::append_rows). Otherwise these
    /// two methods wait themselves.
    fn keep_pace(&mut self) {}

    /// Takes back the memory of a chunk.
    fn recycle(&mut self, chunk: Chunk);

    /// The amounts that have been read so far, and the cost of reading them.
    fn meter(&self) -> SourceMeter;

    /// Like `meter`, but only for the chunks that were handed out, without data that was read ahead. It is for callers
    /// that treat a part of a file as the whole file. Call it at the end, because it may read on a little.
    fn meter_of_chunks(&mut self) -> SourceMeter {
        self.meter()
    }
}

/// Reads whole rows in the source's own binary form, for a destination of the same kind: no value is decoded. A reader
/// hands out either chunks or such rows, never both.
pub trait NativeRows: Chunks {
    /// Appends the next whole rows to `block`, until it has about `until` bytes, and returns their number. `None` at the
    /// end, and at every later call. After an error the reader must not be used again.
    fn append_rows(
        &mut self,
        block: &mut Vec<u8>,
        until: usize,
    ) -> Result<Option<u64>, SourceError>;
}
