//! A piece of a file that one stream loads.

use std::ops::Range;
use std::sync::Arc;

use inrush_rows::location::Location;
use inrush_source::{RecordStart, SourceSplit};

use super::SourceFile;

/// A piece of a file that one stream loads: the records (and blank lines) whose first byte lies in its range. The range
/// that begins at byte 0 also has everything before the rows, even past the range's end: a byte order mark, skipped
/// lines, the header and the lines before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The file.
    pub file: Arc<SourceFile>,
    /// The range of bytes of the file as it is stored.
    pub byte_range: Range<u64>,
    /// Where the first record of the range begins. This is known only if the whole file was read to find it. That is
    /// needed if the dialect has quotes or escapes, because a line end may then be inside a record. Otherwise the
    /// reader finds the first record.
    pub first_record: Option<RecordStart>,
    /// True if several streams load it through a [`Feed`](super::Feed), because it cannot be read from the middle.
    pub is_fed: bool,
}

impl Split {
    /// All of a file.
    pub fn whole(file: Arc<SourceFile>) -> Split {
        let byte_range = 0..file.size_bytes;
        Split {
            file,
            byte_range,
            first_record: None,
            is_fed: false,
        }
    }

    /// The records of a plain file that begin in a byte range.
    pub fn range(
        file: Arc<SourceFile>,
        byte_range: Range<u64>,
        first_record: Option<RecordStart>,
    ) -> Split {
        Split {
            file,
            byte_range,
            first_record,
            is_fed: false,
        }
    }

    /// The split of `file` for a split of the source.
    pub(super) fn of(file: Arc<SourceFile>, split: SourceSplit) -> Split {
        Split {
            file,
            byte_range: split.range,
            first_record: split.first_record,
            is_fed: split.is_shared,
        }
    }

    /// This split as the source describes it.
    pub fn in_source(&self) -> SourceSplit {
        SourceSplit {
            input: self.file.index as usize,
            range: self.byte_range.clone(),
            first_record: self.first_record,
            is_shared: self.is_fed,
            size_bytes: self.size_bytes(),
        }
    }

    /// The number of stored bytes, as far as it is known before reading. It measures the work of the split.
    pub fn size_bytes(&self) -> u64 {
        self.byte_range.end - self.byte_range.start
    }

    /// The place where the split begins, as far as it is known before reading.
    pub fn location(&self) -> Location {
        Location {
            file: Arc::clone(&self.file.path),
            line: self.first_record.map_or(1, |first| first.line),
            byte_offset: self.byte_range.start,
            key: None,
        }
    }

    /// True if it covers the whole file.
    pub fn is_whole(&self) -> bool {
        self.byte_range == (0..self.file.size_bytes)
    }
}

impl From<Split> for inrush_source::Split {
    fn from(split: Split) -> inrush_source::Split {
        let in_source = split.in_source();
        inrush_source::Split::of(split.file, in_source)
    }
}
