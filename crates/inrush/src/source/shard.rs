//! A piece of a file that one stream loads.

use std::ops::Range;
use std::sync::Arc;

use super::SourceFile;
use crate::location::Location;

/// A piece of a file that one stream loads. For now it is always a whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Which bytes of the file as it is stored.
    pub byte_range: Range<u64>,
}

impl Shard {
    /// All of a file.
    pub fn whole(file: Arc<SourceFile>) -> Shard {
        let byte_range = 0..file.size_bytes;
        Shard { file, byte_range }
    }

    /// Bytes as they are stored: how much work it is, as far as that is known beforehand.
    pub fn size_bytes(&self) -> u64 {
        self.byte_range.end - self.byte_range.start
    }

    /// Where it begins.
    pub fn location(&self) -> Location {
        Location {
            file: Arc::clone(&self.file.path),
            line: 1,
            byte_offset: self.byte_range.start,
        }
    }

    /// Whether it is all of its file.
    pub fn is_whole(&self) -> bool {
        self.byte_range == (0..self.file.size_bytes)
    }
}
