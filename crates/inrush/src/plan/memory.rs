//! What a load takes of memory, whatever the size of its files.

use crate::source::Shard;

/// The most memory that the loader takes for its data, whatever the size of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBound {
    /// Bytes of one stream.
    pub stream_bytes: u64,
    /// Bytes of all streams.
    pub streams_bytes: u64,
    /// Bytes of the one reader that feeds all streams from a file that cannot be cut; zero where
    /// there is none.
    pub feed_bytes: u64,
    /// Bytes of the row groups that all streams decode at a time; zero where no file has typed rows.
    pub row_group_bytes: u64,
    /// Bytes by which each stream may grow for one very long record.
    pub long_record_bytes: u64,
}

impl MemoryBound {
    /// Bytes of all but very long records.
    pub fn total(&self) -> u64 {
        self.streams_bytes + self.feed_bytes + self.row_group_bytes
    }
}

/// What a stream holds of text, and of the batch that is made of it.
pub fn text_and_batch(chunk_bytes: u64, batch_rows: u64, columns_max: u64) -> u64 {
    // A chunk and the one that takes over its tail; four bytes for each possible field end and
    // sixteen for each record, where the shortest field is empty.
    let text = 2 * chunk_bytes + chunk_bytes * 4 + chunk_bytes / 2 * 16;
    text + batch_rows * columns_max * 17
}

/// The largest row group, or record batch, of all files of typed rows: no more of one is decoded at a
/// time, and usually much less.
pub fn row_group_bytes<'a>(shards: impl Iterator<Item = &'a Shard>) -> u64 {
    let tables = shards.filter_map(|shard| shard.file.table());
    let sizes = tables.map(|table| table.decoded_bytes_max());
    sizes.max().unwrap_or(0)
}
