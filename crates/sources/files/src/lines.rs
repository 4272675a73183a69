//! Counts the line ends of a file before a position, when they are needed.
//!
//! A reader of a range knows the line ends in the range but not those before it, and only errors and rejects need
//! these. Counts of ranges that were read are noted. The others are counted in the file itself, each at most once.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use inrush_rows::chunk::Places;

/// How many bytes are read at a time.
const COUNT_BYTES: usize = 1 << 20;

/// The number of line ends in a text.
pub(super) fn count_line_ends(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// The known line ends of one file.
#[derive(Debug, Default)]
pub(super) struct LineCounts {
    /// The end of each piece and the number of its line ends, by the piece's first byte. Pieces do not overlap.
    pieces: Mutex<BTreeMap<u64, (u64, u64)>>,
}

/// The known line ends of a file. Not set for most files, because only ranges of a file need them. It is ignored when
/// files are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownLines(OnceLock<Arc<LineCounts>>);

impl KnownLines {
    /// The line ends known so far.
    pub(super) fn counts(&self) -> &Arc<LineCounts> {
        self.0.get_or_init(Arc::default)
    }
}

impl PartialEq for KnownLines {
    fn eq(&self, _: &KnownLines) -> bool {
        true
    }
}

impl Eq for KnownLines {}

impl LineCounts {
    /// Notes that the bytes from `start` to `end` have this number of line ends.
    pub(super) fn note(&self, start: u64, end: u64, line_ends: u64) {
        if start >= end {
            return;
        }
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let before = pieces.range(..end).next_back();
        let is_new = before.is_none_or(|(_, (known_end, _))| *known_end <= start);
        if is_new {
            pieces.insert(start, (end, line_ends));
        }
    }

    /// The number of line ends of a file before `end`; `line_byte` ends a line. Counts of pieces that must be read are
    /// noted.
    pub(super) fn before(&self, path: &Path, end: u64, line_byte: u8) -> io::Result<u64> {
        let mut pieces = self.pieces.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = None;
        let mut at = 0;
        let mut line_ends = 0;
        while at < end {
            if let Some((piece_end, count)) = pieces.get(&at)
                && *piece_end <= end
            {
                (at, line_ends) = (*piece_end, line_ends + count);
                continue;
            }
            let next = pieces.range(at + 1..).next().map(|(start, _)| *start);
            let gap_end = next.unwrap_or(end).min(end);
            let file = match &file {
                Some(file) => file,
                None => file.insert(File::open(path)?),
            };
            let count = count_in(file, at, gap_end, line_byte)?;
            // A piece that reaches past the end is left unchanged.
            pieces.entry(at).or_insert((gap_end, count));
            (at, line_ends) = (gap_end, line_ends + count);
        }
        Ok(line_ends)
    }
}

/// Counts the line ends of a file from `start` to `end`.
fn count_in(file: &File, start: u64, end: u64, line_byte: u8) -> io::Result<u64> {
    let mut bytes = vec![0; COUNT_BYTES.min((end - start) as usize)];
    let mut at = start;
    let mut line_ends = 0;
    while at < end {
        let most = bytes.len().min((end - at) as usize);
        match file.read_at(&mut bytes[..most], at)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                line_ends += memchr::memchr_iter(line_byte, &bytes[..count]).count() as u64;
                at += count as u64;
            }
        }
    }
    Ok(line_ends)
}

/// The places of records in a range whose first line number is not known.
#[derive(Debug)]
pub(super) struct RangePlaces {
    /// The file.
    pub(super) path: Arc<Path>,
    /// Its known line ends.
    pub(super) lines: Arc<LineCounts>,
    /// The position of the range's first record.
    pub(super) byte_offset: u64,
    /// The byte that ends its lines.
    pub(super) line_byte: u8,
}

impl Places for RangePlaces {
    fn lines_before(&self) -> u64 {
        // A file that cannot be read again fails with its own error elsewhere; the byte still identifies a reject.
        self.lines
            .before(&self.path, self.byte_offset, self.line_byte)
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_noted_is_not_counted_wrong(
            text in "[ab\n]{0,60}",
            notes in prop::collection::vec((0usize..60, 0usize..60), 0..6),
            asks in prop::collection::vec(0usize..60, 1..6),
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("file");
            std::fs::write(&path, &text).expect("can be written");
            let lines = LineCounts::default();
            let text = text.as_bytes();
            for (start, end) in notes {
                let (start, end) = (start.min(text.len()), end.min(text.len()));
                if start < end {
                    lines.note(start as u64, end as u64, count_line_ends(&text[start..end]));
                }
            }
            for end in asks {
                let end = end.min(text.len());
                let found = lines.before(&path, end as u64, b'\n').expect("readable");
                prop_assert_eq!(found, count_line_ends(&text[..end]));
            }
        }
    }
}
