//! The state of a file that shows whether it was written to since it was found: its inode and its time of change.

use std::fmt;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// The system's facts about a file in addition to its size and time: a write to the file, or its replacement by another
/// file, changes one of them, and no program can set them back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileState {
    /// The file's number on its disk.
    pub inode: u64,
    /// When its inode was last changed, in nanoseconds since 1970.
    pub changed_ns: i64,
}

impl FileState {
    /// The state from the system's metadata.
    pub(super) fn of(metadata: &Metadata) -> FileState {
        FileState {
            inode: metadata.ino(),
            changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl fmt::Display for FileState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.inode, self.changed_ns)
    }
}

/// When a file was last written, in nanoseconds since 1970.
pub(super) fn modified_ns(metadata: &Metadata) -> i64 {
    nanoseconds(metadata.mtime(), metadata.mtime_nsec())
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}
