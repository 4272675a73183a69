//! The record of a loaded split and of its file. The engine writes these records into the record of a unit
//! ([`UnitRecord::detail`](crate::UnitRecord::detail)); a ledger may keep them in rows of their own instead.

use std::ops::Range;

use inrush_rows::ids::{FileKey, SplitKey, UnitKey};
use serde::{Deserialize, Serialize};

use crate::account::Account;

/// A split in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRecord {
    /// The unit.
    pub unit_key: UnitKey,
    /// Identifies the file and the range.
    #[serde(rename = "shard_key")]
    pub split_key: SplitKey,
    /// Identifies the file.
    pub file_key: FileKey,
    /// The file.
    pub file: String,
    /// First byte of the range.
    pub byte_start: u64,
    /// One past its last byte; `None` if that is the file's end.
    pub byte_end: Option<u64>,
    /// The file's size.
    pub file_bytes: u64,
    /// When it was last changed, in nanoseconds since 1970.
    pub file_modified_ns: i64,
    /// The other metadata of the file when it was found: inode, and the time of the inode's last change.
    pub file_state: String,
    /// Its rows.
    pub account: Account,
    /// A hash of its text, taken while it was read.
    pub content_hash: Option<String>,
    /// The byte range of that text in the file; only for files that are neither compressed nor translated.
    pub text_range: Option<Range<u64>>,
    /// The sums over its rows, if the run verifies more than their count.
    pub tally: Option<Vec<String>>,
    /// The trailer record at its end, if the flow declares one.
    pub trailer: Option<String>,
    /// Byte offsets of the rows that the server refused during a careful load. If steps make several rows of each
    /// record, an offset is multiplied by the number of these rows, and the row's index among them is added. Rows that
    /// could not be converted are not listed, because a second conversion finds them again.
    pub refused: Vec<u64>,
}

/// A file that was touched after it was loaded: its modification time has changed, but its text has not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedFile {
    /// Identifies the file.
    pub file_key: FileKey,
    /// When it was last changed, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Its other metadata: inode, and the time of the inode's last change.
    pub state: String,
}
