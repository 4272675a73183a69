//! The record of a loaded split, and of the file that it belongs to.

use std::ops::Range;

use inrush_rows::ids::{FileKey, RunId, SplitKey, UnitKey};
use serde::{Deserialize, Serialize};

/// The account of rows and bytes. Always: read = loaded + rejected + skipped.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct Account {
    /// The rows of the input, including skipped lines.
    pub rows_read: u64,
    /// Rows that are in the destination.
    pub rows_loaded: u64,
    /// Rows that could not be loaded.
    pub rows_rejected: u64,
    /// Blank lines, comments, COPY's end-of-data marker.
    pub rows_skipped: u64,
    /// Bytes of text read, after decompression.
    pub bytes_read: u64,
}

impl Account {
    /// Adds another account to this one.
    pub fn add(&mut self, other: &Account) {
        self.rows_read += other.rows_read;
        self.rows_loaded += other.rows_loaded;
        self.rows_rejected += other.rows_rejected;
        self.rows_skipped += other.rows_skipped;
        self.bytes_read += other.bytes_read;
    }

    /// The rows of these splits.
    pub fn of_splits<'a>(splits: impl IntoIterator<Item = &'a SplitRecord>) -> Account {
        let mut account = Account::default();
        for split in splits {
            account.add(&split.account);
        }
        account
    }

    /// The rows of those splits that belong to one unit.
    pub fn of_unit(splits: &[SplitRecord], unit_key: &UnitKey) -> Account {
        Account::of_unit_in(splits, unit_key)
    }

    /// As [`Account::of_unit`], wherever the splits stand.
    pub fn of_unit_in<'a>(
        splits: impl IntoIterator<Item = &'a SplitRecord>,
        unit_key: &UnitKey,
    ) -> Account {
        let splits = splits.into_iter();
        Account::of_splits(splits.filter(|split| split.unit_key == *unit_key))
    }

    /// Whether every row is accounted for.
    pub fn holds(&self) -> bool {
        self.rows_read == self.rows_loaded + self.rows_rejected + self.rows_skipped
    }
}

/// A split in the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SplitRecord {
    /// The unit.
    pub unit_key: UnitKey,
    /// Names the file and the range.
    #[serde(rename = "shard_key")]
    pub split_key: SplitKey,
    /// Names the file.
    pub file_key: FileKey,
    /// The file.
    pub file: String,
    /// First byte of the range.
    pub byte_start: u64,
    /// One past its last byte; none is the file's end.
    pub byte_end: Option<u64>,
    /// The file's size.
    pub file_bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub file_modified_ns: i64,
    /// What else the system said of the file when it was found.
    pub file_state: String,
    /// Its rows.
    pub account: Account,
    /// A hash of its text, taken while it was read.
    pub content_hash: Option<String>,
    /// Where that text stands in the file, where it is not compressed and not translated.
    pub text_range: Option<Range<u64>>,
    /// What was summed up over its rows, where the run verifies more than their count.
    pub tally: Option<Vec<String>>,
    /// The trailer record that stands at its end, where the flow declares one.
    pub trailer: Option<String>,
    /// Where the rows begin, in bytes of the file, that the server refused while it was loaded
    /// carefully. What could not be converted is found again by converting it again.
    pub refused: Vec<u64>,
}

/// A file that has the text of which splits were loaded, and another time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TouchedFile {
    /// Names the file.
    pub file_key: FileKey,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// What else the system says of it.
    pub state: String,
}

/// A file that a run has switched in, all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchedFile {
    /// The run.
    pub run_id: RunId,
    /// The tables that the run's targets were then.
    pub target_oids: Vec<u32>,
    /// The target, `schema.table`, quoted.
    pub target: String,
    /// Names the file.
    pub file_key: FileKey,
    /// The file's size then.
    pub file_bytes: u64,
    /// When the file had been changed last, in nanoseconds since 1970.
    pub file_modified_ns: i64,
    /// Rows that were loaded of it.
    pub rows_loaded: u64,
}
