//! Checks that a file still has the text that an earlier attempt has loaded of it.
//!
//! A file whose size, time of change, inode and time of its inode's change are what they were has not
//! been written to: nobody can set the last one. It is not read. Where only its size is the same, as
//! after `touch`, `chmod`, or a copy to its old place, the ranges that are committed are read again
//! and held against the hashes that were taken while they were loaded.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_files::{FED_RANGE_BYTES, Feed, FeedSettings, SourceFile, TableFile};
use inrush_rows::cancel::Stop;
use inrush_scan::{Dialect, Records};
use inrush_source::SourceError;

use super::identity;
use crate::ledger::SplitRecord;
use crate::verify::ContentHash;

/// Text that is read and hashed at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// What is known of a file that an earlier attempt has loaded of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// It was not written to.
    Untouched,
    /// It has the same text, and its time, or its place on the disk, is another one.
    Same,
    /// It has other text.
    Changed,
}

/// Looks at files, at each one once: for all plans of a run.
#[derive(Debug, Default)]
pub struct ContentChecks {
    found: Mutex<BTreeMap<String, Contents>>,
}

impl ContentChecks {
    /// Holds a file against its splits in the ledger, of which there is one at least.
    pub async fn look(
        &self,
        file: &Arc<SourceFile>,
        dialect: &Dialect,
        splits: &[&SplitRecord],
        stop: &Stop,
    ) -> Result<Contents, SourceError> {
        if splits
            .iter()
            .any(|split| split.file_bytes != file.size_bytes)
        {
            return Ok(Contents::Changed);
        }
        let state = file.state.to_string();
        let is_untouched = |split: &&SplitRecord| {
            split.file_modified_ns == file.modified_ns && split.file_state == state
        };
        if splits.iter().all(is_untouched) {
            return Ok(Contents::Untouched);
        }
        let file_key = identity::file_key(file);
        let modified = file.modified_ns.to_string();
        let texts = [file_key.as_str(), &state].into_iter();
        let texts = texts.chain(splits.iter().map(|split| split.split_key.as_str()));
        let name = identity::digest(texts.chain([modified.as_str()]));
        let known = {
            let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            found.get(&name).copied()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let is_same = if let Some(table) = file.table() {
            rows_are_same(file, table, splits, stop)?
        } else if file.reads_in_ranges()? {
            ranges_are_same(file, splits, stop)?
        } else {
            fed_is_same(file, dialect, splits, stop).await?
        };
        let contents = match is_same {
            true => Contents::Same,
            false => Contents::Changed,
        };
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(name, contents);
        Ok(contents)
    }
}

/// The text of a split is what stands between two places of a plain file.
fn ranges_are_same(
    file: &Arc<SourceFile>,
    splits: &[&SplitRecord],
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
        if let Some(Range { start, end }) = split.text_range {
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
        if split.content_hash.as_ref() != Some(&hash.take()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The rows of a split are known by the bytes that they are stored as.
fn rows_are_same(
    file: &Arc<SourceFile>,
    table: &Arc<TableFile>,
    splits: &[&SplitRecord],
    stop: &Stop,
) -> Result<bool, SourceError> {
    for split in splits {
        let range = split.byte_start..split.byte_end.unwrap_or(file.size_bytes);
        let mut hash = ContentHash::default();
        for digest in TableFile::digests(file, table, &range)? {
            refuse_stopped(file, stop)?;
            hash.add(&digest?);
        }
        if split.content_hash.as_ref() != Some(&hash.take()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What cannot be read from its middle is read as it was for the load: ranges are cut at the same
/// places, and all of them follow each other in a file that one stream had loaded.
async fn fed_is_same(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    splits: &[&SplitRecord],
    stop: &Stop,
) -> Result<bool, SourceError> {
    let settings = FeedSettings {
        range_bytes: FED_RANGE_BYTES,
        chunk_bytes: BLOCK_BYTES,
        streams: 1,
    };
    let feed = Feed::start(file, dialect, settings, &[])?;
    let mut whole = ContentHash::default();
    let mut ranges = BTreeMap::new();
    let mut records = Records::default();
    while let Some(mut range) = feed.next_range().await? {
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
        let own = split.content_hash.as_ref();
        let is_range = ranges
            .get(&split.byte_start)
            .is_some_and(|(end, hash)| split.byte_end == Some(*end) && own == Some(hash));
        let is_whole = split.byte_start == 0 && split.byte_end == Some(file.size_bytes);
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
