//! Reads splits again that were loaded before, to find out whether their rows are the same.

use inrush_scan::Records;

use crate::{SourceError, SplitContent, SplitReader};

/// Bytes of a chunk of rows that are only hashed.
const CHUNK_BYTES: usize = 1 << 20;

/// True if all splits have the hash that they had. `open` reads one of them in chunks of this many bytes.
pub fn has_same_hashes<R: SplitReader>(
    read: &[SplitContent],
    mut open: impl FnMut(&SplitContent, usize) -> Result<R, SourceError>,
) -> Result<bool, SourceError> {
    let mut records = Records::default();
    for content in read {
        let mut reader = Box::new(open(content, CHUNK_BYTES)?);
        while reader.next_chunk(&mut records)?.is_some() {}
        if content.hash.as_ref() != Some(&reader.end().hash) {
            return Ok(false);
        }
    }
    Ok(true)
}
