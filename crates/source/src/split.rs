//! A piece of an input.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// A piece of an input that one stream reads. It is plain data: another process that opens the same source reads the same
/// rows by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSplit {
    /// The place of its input among the [inputs](crate::Source::input) of the source.
    pub input: usize,
    /// Which part of the input, in the source's own unit: the bytes of a file as it is stored, the blocks of a table. The
    /// splits of an input follow each other without a gap.
    pub range: Range<u64>,
    /// Where its first row begins, if only a look at all that stands before the split can tell
    /// ([`Source::locate`](crate::Source::locate)).
    pub first_record: Option<RecordStart>,
    /// Several streams take parts of it ([`Source::share`](crate::Source::share)): it cannot be read from its middle.
    pub is_shared: bool,
    /// Bytes as they are stored: how much work it is, as far as that is known beforehand.
    pub size_bytes: u64,
}

/// Where a record, or a blank line, begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordStart {
    /// Bytes of the file before it.
    pub byte_offset: u64,
    /// Its line, counted from 1.
    pub line: u64,
}
