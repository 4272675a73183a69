//! The account of rows: where each row that was read has gone.

use inrush_rows::ids::UnitKey;
use serde::{Deserialize, Serialize};

use super::split_record::SplitRecord;

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
