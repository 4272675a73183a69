//! Compares a file with the text or rows that an earlier run has read of it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_scan::{Dialect, Records};
use inrush_source::{ContentHash, SourceError, SplitContent, wait};

use super::feed::{Feed, FeedSettings};
use super::source_file::SourceFile;
use super::table::TableFile;

/// How many bytes of text are read and hashed at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// Reads the parts of a file that an earlier run has read, and compares their hashes. The file has the same size as
/// before; if it was shared, its parts had about `part_bytes`.
pub fn has_same_content(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    part_bytes: usize,
    read: &[SplitContent],
    stop: &Stop,
) -> Result<bool, SourceError> {
    if let Some(table) = file.table() {
        rows_are_same(file, table, read, stop)
    } else if file.reads_in_ranges()? {
        ranges_are_same(file, read, stop)
    } else {
        fed_is_same(file, dialect, part_bytes, read, stop)
    }
}

/// The text of a split is the text between two positions of a plain file.
fn ranges_are_same(
    file: &Arc<SourceFile>,
    splits: &[SplitContent],
    stop: &Stop,
) -> Result<bool, SourceError> {
    let unreadable = |cause| SourceError::Unreadable {
        path: file.path.to_path_buf(),
        cause,
    };
    let mut open = File::open(&file.path).map_err(unreadable)?;
    let mut block = vec![0; BLOCK_BYTES];
    for split in splits {
        let mut hash = ContentHash::default();
        if let Some(Range { start, end }) = split.text_range.clone() {
            open.seek(SeekFrom::Start(start)).map_err(unreadable)?;
            let mut left = end.saturating_sub(start);
            while left > 0 {
                refuse_stopped(file, stop)?;
                let most = usize::try_from(left).unwrap_or(usize::MAX).min(BLOCK_BYTES);
                match open.read(&mut block[..most]) {
                    Ok(0) => return Ok(false),
                    Ok(count) => {
                        hash.add(&block[..count]);
                        left -= count as u64;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(unreadable(error)),
                }
            }
        }
        if split.hash.as_ref() != Some(&hash.take()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The rows of a split are compared by their stored bytes.
fn rows_are_same(
    file: &Arc<SourceFile>,
    table: &Arc<TableFile>,
    splits: &[SplitContent],
    stop: &Stop,
) -> Result<bool, SourceError> {
    for split in splits {
        let range = split.start..split.end.unwrap_or(file.size_bytes);
        let mut hash = ContentHash::default();
        for digest in TableFile::digests(file, table, &range)? {
            refuse_stopped(file, stop)?;
            hash.add(&digest?);
        }
        if split.hash.as_ref() != Some(&hash.take()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A file that cannot be read from its middle is read as in the load: ranges are cut at the same positions. If one
/// stream had loaded the whole file, all ranges are read one after the other.
fn fed_is_same(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    range_bytes: usize,
    splits: &[SplitContent],
    stop: &Stop,
) -> Result<bool, SourceError> {
    let settings = FeedSettings {
        range_bytes,
        chunk_bytes: BLOCK_BYTES,
        streams: 1,
    };
    let feed = Feed::start(file, dialect, settings, &[])?;
    let mut whole = ContentHash::default();
    let mut ranges = BTreeMap::new();
    let mut records = Records::default();
    while let Some(mut range) = wait(feed.next_range())? {
        let mut hash = ContentHash::default();
        while let Some(chunk) = range.next_chunk(&mut records)? {
            refuse_stopped(file, stop)?;
            hash.add(chunk.text());
            whole.add(chunk.text());
            range.recycle(chunk);
        }
        ranges.insert(range.text_range.start, (range.text_range.end, hash.take()));
    }
    let whole = whole.take();
    Ok(splits.iter().all(|split| {
        let own = split.hash.as_ref();
        let is_range = ranges
            .get(&split.start)
            .is_some_and(|(end, hash)| split.end == Some(*end) && own == Some(hash));
        let is_whole = split.start == 0 && split.end == Some(file.size_bytes);
        is_range || (is_whole && own == Some(&whole))
    }))
}

fn refuse_stopped(file: &SourceFile, stop: &Stop) -> Result<(), SourceError> {
    match stop.asked() {
        None => Ok(()),
        Some(_) => Err(SourceError::Stopped {
            path: file.path.to_path_buf(),
        }),
    }
}
