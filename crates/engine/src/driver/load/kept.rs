//! Units that an earlier attempt has committed, and that are not loaded again.

use std::collections::BTreeMap;
use std::ops::Range;

use inrush_rows::ids::UnitKey;

use crate::driver::plan::{ContractFlow, LedgerRecord, RangeUnit, UnitAccounts};
use crate::ledger::{Account, SplitRecord};
use crate::plan::UnitPlace;

/// The units of a plan that are kept, wholly or in part.
pub struct KeptUnits {
    accounts: UnitAccounts,
    /// The records of units whose files are fed.
    fed: BTreeMap<UnitPlace, Vec<KeptRanges>>,
}

/// A record of some ranges of a fed unit.
struct KeptRanges {
    key: UnitKey,
    account: Account,
    ranges: Vec<Range<u64>>,
}

impl KeptUnits {
    /// Keeps no unit of these flows.
    pub fn none(flows: &[ContractFlow]) -> KeptUnits {
        KeptUnits {
            accounts: UnitAccounts::none(flows),
            fed: BTreeMap::new(),
        }
    }

    /// Keeps a record of a unit.
    pub fn add(&mut self, place: UnitPlace, record: LedgerRecord) {
        let account = record.account();
        self.accounts.add(place, &account);
        if !record.is_whole() {
            let range = |split: &SplitRecord| Some(split.byte_start..split.byte_end?);
            let ranges = record.splits.iter().filter_map(range).collect();
            self.fed.entry(place).or_default().push(KeptRanges {
                key: record.key,
                account,
                ranges,
            });
        }
    }

    /// Drops the record of a unit with this key.
    pub fn remove(&mut self, place: UnitPlace, key: &UnitKey) {
        let Some(records) = self.fed.get_mut(&place) else {
            self.accounts.set(place, None);
            return;
        };
        records.retain(|record| record.key != *key);
        self.accounts.set(place, None);
        for record in records.iter() {
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

    /// True if a unit is kept that was committed in one record: nothing is left to load of it.
    pub fn is_whole(&self, place: UnitPlace) -> bool {
        self.has(place) && !self.fed.contains_key(&place)
    }

    /// The kept records of a unit: the key and the row account of each.
    pub fn records<'a>(
        &'a self,
        place: UnitPlace,
        unit: &'a RangeUnit,
    ) -> impl Iterator<Item = (&'a UnitKey, Account)> {
        let fed = self.fed.get(&place);
        let whole = self.accounts.get(place).filter(|_| fed.is_none());
        let ranges = fed.into_iter().flatten();
        whole
            .into_iter()
            .map(|account| (&unit.key, account))
            .chain(ranges.map(|own| (&own.key, own.account)))
    }

    /// The committed ranges of a fed unit.
    pub fn ranges(&self, place: UnitPlace) -> Vec<Range<u64>> {
        let records = self.fed.get(&place).into_iter().flatten();
        records.flat_map(|own| own.ranges.clone()).collect()
    }
}
