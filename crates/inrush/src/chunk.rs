//! A piece of a file in memory, and the unit of work of a stream.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_buffer::Buffer;

use crate::location::Location;

/// Zero bytes behind the valid bytes of a chunk, so that a kernel may load a whole word at the
/// last field without a bounds check of its own.
pub const CHUNK_PADDING_BYTES: usize = 64;

/// Whole records of one file. Text columns of the batches made of it are views into `bytes`.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The text, followed by [`CHUNK_PADDING_BYTES`] bytes of padding.
    pub bytes: Buffer,
    /// Valid bytes; what stands behind them is padding.
    pub bytes_count: usize,
    /// The file.
    pub file: Arc<PathBuf>,
    /// Bytes of the uncompressed file before the chunk.
    pub byte_offset: u64,
    /// Lines of the file before the chunk.
    pub line_offset: u64,
    /// Records of it that are not valid UTF-8, as indices in order; empty nearly always.
    pub invalid_utf8: Vec<u32>,
}

impl Chunk {
    /// The valid bytes.
    pub fn text(&self) -> &[u8] {
        &self.bytes.as_slice()[..self.bytes_count]
    }

    /// The place of a byte of this chunk that `line` line ends of the chunk stand before.
    pub fn location(&self, position: u32, line: u32) -> Location {
        Location {
            file: Arc::clone(&self.file),
            line: self.line_offset + u64::from(line) + 1,
            byte_offset: self.byte_offset + u64::from(position),
        }
    }
}
