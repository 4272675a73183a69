//! Units that an earlier attempt has committed, and that are not loaded again.
//!
//! Each record of the contract's ledger commits a unit or a part of one, and has a key of its own. A ledger with a row for
//! the unit and one for each split is reduced by its own destination instead.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use inrush_rows::ids::{SplitKey, UnitKey};

use crate::driver::plan::{ContractFlow, RangeUnit, UnitAccounts};
use crate::ledger::{Account, LedgerRecord, SplitRecord};
use crate::plan::{KeyStart, UnitPlace, identity};

/// The units of a plan that are kept, wholly or in part.
pub struct KeptUnits {
    accounts: UnitAccounts,
    /// Units that several streams fill.
    in_parts: BTreeMap<UnitPlace, KeptParts>,
}

/// The kept parts of a unit that several streams fill.
#[derive(Default)]
struct KeptParts {
    records: Vec<KeptPart>,
    /// The splits that one record commits completely.
    splits: BTreeSet<KeyStart>,
}

/// A record of a part of a unit.
struct KeptPart {
    key: UnitKey,
    account: Account,
    /// Index of the split in its unit.
    split: usize,
    /// The key of the split, if the record commits all of it.
    whole: Option<KeyStart>,
    /// The ranges that the record commits, if the split is fed.
    ranges: Vec<Range<u64>>,
}

impl KeptUnits {
    /// Keeps no unit of these flows.
    pub fn none(flows: &[ContractFlow]) -> KeptUnits {
        KeptUnits {
            accounts: UnitAccounts::none(flows),
            in_parts: BTreeMap::new(),
        }
    }

    /// Keeps a record of a unit.
    pub fn add(&mut self, place: UnitPlace, unit: &RangeUnit, record: LedgerRecord) {
        let account = record.account();
        self.accounts.add(place, &account);
        let Some(split) = identity::split_of(&record.key, unit.splits.len()) else {
            return;
        };
        let mut part = KeptPart {
            account,
            split,
            whole: None,
            ranges: Vec::new(),
            key: record.key,
        };
        let parts = self.in_parts.entry(place).or_default();
        match unit.splits[split].is_shared {
            true => {
                let range = |split: &SplitRecord| Some(split.byte_start..split.byte_end?);
                part.ranges.extend(record.splits.iter().filter_map(range));
            }
            false => {
                let key = identity::split_key(&unit.splits[split]);
                part.whole = KeyStart::of(key.as_str());
                parts.splits.extend(part.whole);
            }
        }
        parts.records.push(part);
    }

    /// Drops the record of a unit with this key.
    pub fn remove(&mut self, place: UnitPlace, key: &UnitKey) {
        self.accounts.set(place, None);
        let Some(parts) = self.in_parts.get_mut(&place) else {
            return;
        };
        parts.records.retain(|record| record.key != *key);
        parts.splits = parts.records.iter().filter_map(|it| it.whole).collect();
        for record in &parts.records {
            self.accounts.add(place, &record.account);
        }
    }

    /// The account of each unit's kept rows.
    pub fn accounts(&self) -> &UnitAccounts {
        &self.accounts
    }

    /// True if a unit is kept, wholly or in part.
    pub fn has(&self, place: UnitPlace) -> bool {
        self.accounts.get(place).is_some()
    }

    /// True if a unit is kept that was committed with one record, so that nothing of it is left to load.
    pub fn is_whole(&self, place: UnitPlace) -> bool {
        self.has(place) && !self.in_parts.contains_key(&place)
    }

    /// True if a split of a unit that several streams fill is kept completely.
    pub fn has_split(&self, place: UnitPlace, key: &SplitKey) -> bool {
        let split = KeyStart::of(key.as_str());
        let parts = self.in_parts.get(&place);
        parts.is_some_and(|parts| split.is_some_and(|split| parts.splits.contains(&split)))
    }

    /// The kept records of a unit: the key and the row account of each.
    pub fn records<'a>(
        &'a self,
        place: UnitPlace,
        unit: &'a RangeUnit,
    ) -> impl Iterator<Item = (&'a UnitKey, Account)> {
        let parts = self.in_parts.get(&place);
        let whole = self.accounts.get(place).filter(|_| parts.is_none());
        let parts = parts.into_iter().flat_map(|parts| &parts.records);
        whole
            .into_iter()
            .map(|account| (&unit.key, account))
            .chain(parts.map(|own| (&own.key, own.account)))
    }

    /// The ranges of a split of a unit that are committed, if the split is fed.
    pub fn ranges(&self, place: UnitPlace, split: usize) -> Vec<Range<u64>> {
        let parts = self.in_parts.get(&place);
        let records = parts.into_iter().flat_map(|parts| &parts.records);
        let of_split = records.filter(|own| own.split == split);
        of_split.flat_map(|own| own.ranges.clone()).collect()
    }
}
