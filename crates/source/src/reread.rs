//! Reads splits again that were loaded before, to find out whether their rows are the same.

use std::ops::Range;

use inrush_scan::Records;

use crate::{SourceError, SplitContent, SplitReader};

/// The number of bytes of a chunk, if its rows are only hashed.
const CHUNK_BYTES: usize = 1 << 20;

/// True if all splits of an input of this size have the same hash as when they were loaded. `open` opens the reader of
/// a range, with chunks of this many bytes.
pub fn has_same_hashes<R: SplitReader>(
    read: &[SplitContent],
    size_bytes: u64,
    mut open: impl FnMut(Range<u64>, usize) -> Result<R, SourceError>,
) -> Result<bool, SourceError> {
    let mut records = Records::default();
    for content in read {
        let mut reader = Box::new(open(content.range_in(size_bytes), CHUNK_BYTES)?);
        while reader.next_chunk(&mut records)?.is_some() {}
        if content.hash.as_ref() != Some(&reader.end().hash) {
            return Ok(false);
        }
    }
    Ok(true)
}
