//! Splits that an earlier attempt has committed. There may be a hundred thousand of them, so only the facts that are needed
//! before the switch are kept in memory. The checks before the switch read the whole ledger again.
//!
//! The engine's `KeptUnits` are records of the contract: the key of a record says which part of which unit it commits. Here a
//! unit is one row of the ledger, and its splits are rows of their own, found by the key of the split.

use std::collections::BTreeMap;

use inrush_destination::SplitRecord;
use inrush_engine::ledger::Account;
use inrush_engine::native::plan::KeyStart;
use inrush_rows::ids::{FileKey, SplitKey, UnitKey};

use crate::ledger::UnitAccounts;

/// The splits of an earlier attempt, by the keys of their units.
#[derive(Default)]
pub struct KeptSplits(BTreeMap<UnitKey, Vec<KeptSplit>>);

/// A split of an earlier attempt.
pub struct KeptSplit {
    split: Option<KeyStart>,
    file: Option<KeyStart>,
    /// First byte of its range.
    pub byte_start: u64,
    /// One past its last byte; `None` if that is the file's end.
    pub byte_end: Option<u64>,
    /// Its rows.
    pub account: Account,
}

impl KeptSplit {
    /// True if it belongs to the file with this key.
    pub fn is_of_file(&self, key: &FileKey) -> bool {
        self.file.is_some() && self.file == KeyStart::of(key.as_str())
    }

    /// True if it is the split with this key.
    pub fn is_split(&self, key: &SplitKey) -> bool {
        self.split.is_some() && self.split == KeyStart::of(key.as_str())
    }
}

impl KeptSplits {
    /// Adds a split.
    pub fn push(&mut self, split: SplitRecord) {
        let kept = KeptSplit {
            split: KeyStart::of(split.split_key.as_str()),
            file: KeyStart::of(split.file_key.as_str()),
            byte_start: split.byte_start,
            byte_end: split.byte_end,
            account: split.account,
        };
        match self.0.get_mut(&split.unit_key) {
            Some(splits) => {
                // They arrive in the order of their keys, if the server sorts them by their bytes.
                let at = splits.partition_point(|known| known.split <= kept.split);
                splits.insert(at, kept);
            }
            None => drop(self.0.insert(split.unit_key, vec![kept])),
        }
    }

    /// The splits of a unit.
    pub fn of_unit(&self, unit_key: &UnitKey) -> &[KeptSplit] {
        self.0.get(unit_key).map_or(&[], Vec::as_slice)
    }

    /// True if a unit has the split with this key.
    pub fn has(&self, unit_key: &UnitKey, split_key: &SplitKey) -> bool {
        let wanted = KeyStart::of(split_key.as_str());
        let splits = self.of_unit(unit_key);
        wanted.is_some()
            && splits
                .binary_search_by_key(&wanted, |kept| kept.split)
                .is_ok()
    }

    /// The rows of a unit's splits.
    pub fn account(&self, unit_key: &UnitKey) -> Account {
        let mut account = Account::default();
        for split in self.of_unit(unit_key) {
            account.add(&split.account);
        }
        account
    }

    /// The rows of all units.
    pub fn accounts(&self) -> UnitAccounts {
        let units = self.0.keys();
        UnitAccounts {
            units: units.map(|key| (key.clone(), self.account(key))).collect(),
            split_count: self.0.values().map(|splits| splits.len() as u64).sum(),
        }
    }

    /// Removes the splits of a unit.
    pub fn remove(&mut self, unit_key: &UnitKey) {
        self.0.remove(unit_key);
    }
}
