//! A piece of an input.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use inrush_rows::location::Location;
use serde::{Deserialize, Serialize};

use crate::input::Input;

/// A piece of an input that one stream reads. It is plain data: with it, another process that opens the same source
/// reads the same rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSplit {
    /// The index of its input among the [inputs](crate::Source::input) of the source.
    pub input: usize,
    /// Its range in the input, in the source's own unit: stored bytes of a file, blocks of a table. The splits of an
    /// input follow each other without a gap.
    pub range: Range<u64>,
    /// Where its first row begins, if that is known only after reading everything before the split
    /// ([`Source::locate`](crate::Source::locate)).
    pub first_record: Option<RecordStart>,
    /// True if several streams take parts of it ([`Source::share`](crate::Source::share)), because it cannot be read
    /// from its middle.
    pub is_shared: bool,
    /// The number of stored bytes, as far as it is known before reading. It measures the work of the split.
    pub size_bytes: u64,
}

/// The place where a record or a blank line begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordStart {
    /// The number of bytes of the file before it.
    pub byte_offset: u64,
    /// Its line, counted from 1.
    pub line: u64,
}

/// A split in a plan, together with its input: the rows whose first byte, or other position, is in its range.
#[derive(Clone, Debug)]
pub struct Split {
    /// Its input.
    pub input: Arc<dyn Input>,
    /// [`SourceSplit::range`].
    pub range: Range<u64>,
    /// [`SourceSplit::first_record`]. It is found once, right before the streams begin.
    pub first_record: OnceLock<RecordStart>,
    /// [`SourceSplit::is_shared`].
    pub is_shared: bool,
    /// [`SourceSplit::size_bytes`].
    pub size_bytes: u64,
}

impl Split {
    /// A planned split, made from a source's split and its input.
    pub fn of(input: Arc<dyn Input>, split: SourceSplit) -> Split {
        Split {
            input,
            range: split.range,
            first_record: split
                .first_record
                .map_or_else(OnceLock::new, OnceLock::from),
            is_shared: split.is_shared,
            size_bytes: split.size_bytes,
        }
    }

    /// Sets the place where its first row begins. A place that is already known is kept.
    pub fn locate(&self, first_record: RecordStart) {
        let _ = self.first_record.set(first_record);
    }

    /// The split as plain data, for its source.
    pub fn in_source(&self) -> SourceSplit {
        SourceSplit {
            input: self.input.index(),
            range: self.range.clone(),
            first_record: self.first_record.get().copied(),
            is_shared: self.is_shared,
            size_bytes: self.size_bytes,
        }
    }

    /// The place where it begins, as far as it is known before reading.
    pub fn location(&self) -> Location {
        Location {
            file: Arc::clone(self.input.name()),
            line: self.first_record.get().map_or(1, |first| first.line),
            byte_offset: self.range.start,
            key: None,
        }
    }

    /// True if it is its whole input.
    pub fn is_whole(&self) -> bool {
        self.range.start == 0 && self.size_bytes == self.input.size_bytes()
    }
}
