//! The bytes that represent the rows of a table in a content hash: digests of the stored bytes, group by group, and of
//! the types in the footer.
//!
//! Equal bytes mean equal rows. If a file was written again with the same rows and the same size, but with other bytes,
//! it counts as changed. Then it is refused, so rows of both versions are never mixed.

use std::fs::File;
use std::hash::Hasher;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use inrush_source::SourceError;
use twox_hash::XxHash3_64;

use super::TableFile;
use crate::source_file::SourceFile;
use crate::stored::check_unchanged;

/// How many bytes are read and hashed at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// The digests of the groups that begin in a byte range of a table, in order.
pub(crate) struct TableContent {
    file: Arc<SourceFile>,
    table: Arc<TableFile>,
    stored: File,
    groups: Range<usize>,
    block: Vec<u8>,
    is_begun: bool,
}

impl TableContent {
    pub(crate) fn open(
        file: &Arc<SourceFile>,
        table: &Arc<TableFile>,
        range: &Range<u64>,
    ) -> Result<TableContent, SourceError> {
        let stored = File::open(&file.path).map_err(|cause| SourceError::Unreadable {
            path: file.path.to_path_buf(),
            cause,
        })?;
        check_unchanged(&stored, file)?;
        Ok(TableContent {
            groups: table.groups_in(range),
            file: Arc::clone(file),
            table: Arc::clone(table),
            stored,
            block: Vec::new(),
            is_begun: false,
        })
    }

    /// Appends the digests of groups up to the one that begins at or after row `row_end`. A group without rows has no
    /// digest.
    pub(crate) fn append_until(
        &mut self,
        row_end: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), SourceError> {
        while self.next_row().is_some_and(|row| row < row_end) {
            self.append_next(out)?;
        }
        Ok(())
    }

    /// Appends the digest of the next group. Returns whether there was one.
    pub(crate) fn append_next(&mut self, out: &mut Vec<u8>) -> Result<bool, SourceError> {
        if self.next_row().is_none() {
            return Ok(false);
        }
        let table = Arc::clone(&self.table);
        let mut hash = XxHash3_64::with_seed(0);
        if !self.is_begun {
            hash.write(format!("{:?}", table.fields).as_bytes());
            for part in &table.shared {
                self.add(part, &mut hash)?;
            }
            self.is_begun = true;
        }
        let group = &table.groups[self.groups.start];
        hash.write(&group.row_count.to_le_bytes());
        self.add(&(group.start..group.end), &mut hash)?;
        out.extend_from_slice(&hash.finish().to_le_bytes());
        self.groups.start += 1;
        Ok(true)
    }

    /// The first row of the next group that has rows.
    fn next_row(&mut self) -> Option<u64> {
        loop {
            let group = self.table.groups[self.groups.clone()].first()?;
            if group.row_count > 0 {
                return Some(group.first_row);
            }
            self.groups.start += 1;
        }
    }

    /// Adds a part of the file.
    fn add(&mut self, part: &Range<u64>, hash: &mut XxHash3_64) -> Result<(), SourceError> {
        self.block.resize(BLOCK_BYTES, 0);
        let mut at = part.start;
        while at < part.end {
            let most =
                usize::try_from(part.end - at).map_or(BLOCK_BYTES, |left| left.min(BLOCK_BYTES));
            match self.stored.read_at(&mut self.block[..most], at) {
                // The file became shorter.
                Ok(0) => return check_unchanged(&self.stored, &self.file),
                Ok(count) => {
                    hash.write(&self.block[..count]);
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) => return Err(SourceError::read(&self.file.path, at, cause)),
            }
        }
        Ok(())
    }
}
