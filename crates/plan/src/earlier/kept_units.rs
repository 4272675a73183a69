//! The units that are kept from earlier attempts: the rows that those attempts have committed are not loaded again.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use inrush_destination::{RunLedger, RunRecord};
use inrush_rows::ids::{SplitKey, UnitKey};
use inrush_source::Split;

use crate::ledger::{Account, LedgerRecord, SplitRecord, each_record};
use crate::load_flow::LoadFlow;
use crate::units::load_unit::LoadUnit;
use crate::units::part::Part;
use crate::{KeyStart, UnitIndex, UnitPlace, identity};

/// The units of a plan that are kept from earlier attempts.
#[derive(Default)]
pub struct KeptUnits(BTreeMap<UnitPlace, KeptUnit>);

/// Goes through the records of a run in the ledger: keeps those of wanted units, and returns the keys of the others.
pub fn in_ledger(
    ledger: &dyn RunLedger,
    run: &RunRecord,
    flows: &[Arc<LoadFlow>],
    is_wanted: impl Fn(UnitPlace) -> bool,
) -> inrush_destination::Result<(KeptUnits, Vec<UnitKey>)> {
    let index = UnitIndex::new(flows);
    let mut kept = KeptUnits::default();
    let mut unwanted = Vec::new();
    each_record(ledger, run, &mut |record| {
        let place = index.place_of(&record);
        match place.filter(|place| is_wanted(*place)) {
            Some(place) => {
                let unit = &flows[place.0].units[place.1];
                kept.add_record(place, unit, &record);
            }
            None => unwanted.push(record.key),
        }
    })?;
    Ok((kept, unwanted))
}

/// A unit that an earlier attempt began, and the part of it that is committed: the whole unit, parts of it, or nothing
/// yet.
#[derive(Default)]
pub struct KeptUnit {
    /// Its rows.
    pub account: Account,
    /// It is kept completely: nothing of it is left to load.
    pub is_whole: bool,
    /// Its rows were written directly to the target, so they cannot be removed.
    pub is_direct: bool,
    /// One stream has loaded it carefully as a whole; known only if the destination counts each unit by itself.
    pub is_careful: bool,
    parts: Vec<KeptPart>,
    /// The splits that are kept completely, each committed by one record.
    splits: BTreeSet<KeyStart>,
}

/// A part of a unit that several streams fill.
pub struct KeptPart {
    /// Which part it is.
    pub part: Part,
    /// Its rows.
    pub account: Account,
    /// The ranges of text that it has, if its split is fed.
    pub ranges: Vec<Range<u64>>,
}

impl KeptUnits {
    /// The unit at this place. If it is not there, it is added, without committed rows.
    pub fn unit(&mut self, place: UnitPlace) -> &mut KeptUnit {
        self.0.entry(place).or_default()
    }

    /// Keeps the part of a unit that a record of the ledger commits. A record that another program wrote is left out.
    pub fn add_record(&mut self, place: UnitPlace, planned: &LoadUnit, record: &LedgerRecord) {
        let account = record.account();
        match Part::of_record(&record.key, planned.splits.len()) {
            None => {}
            Some(Part::Whole) => {
                let unit = self.unit(place);
                unit.account.add(&account);
                unit.is_whole = true;
            }
            Some(part) => {
                let range = |split: &SplitRecord| Some(split.byte_start..split.byte_end?);
                let ranges = match part {
                    Part::Ranges { .. } => record.splits.iter().filter_map(range).collect(),
                    _ => Vec::new(),
                };
                let part = KeptPart {
                    part,
                    account,
                    ranges,
                };
                self.unit(place).add(&planned.splits, part);
            }
        }
    }

    /// The unit, if an earlier attempt began it.
    pub fn get(&self, place: UnitPlace) -> Option<&KeptUnit> {
        self.0.get(&place)
    }

    /// All kept units.
    pub fn iter(&self) -> impl Iterator<Item = (UnitPlace, &KeptUnit)> {
        self.0.iter().map(|(place, unit)| (*place, unit))
    }

    /// Removes a part of a unit. If one record commits the whole unit, all of it is removed.
    pub fn remove_part(&mut self, place: UnitPlace, planned: &LoadUnit, part: Part) {
        let Some(mut kept) = self.0.remove(&place).filter(|_| part != Part::Whole) else {
            return;
        };
        kept.parts.retain(|own| own.part != part);
        for own in kept.parts {
            self.unit(place).add(&planned.splits, own);
        }
    }

    /// The number of units that are kept, wholly or in part.
    pub fn count(&self) -> usize {
        let kept = self.0.values();
        kept.filter(|unit| unit.is_whole || !unit.parts.is_empty())
            .count()
    }

    /// True if a unit is kept completely.
    pub fn is_whole(&self, place: UnitPlace) -> bool {
        self.get(place).is_some_and(|unit| unit.is_whole)
    }

    /// The rows of a unit; zero if nothing of it is kept.
    pub fn account(&self, place: UnitPlace) -> Account {
        self.get(place).map(|unit| unit.account).unwrap_or_default()
    }

    /// The kept ranges of text of a split that is fed. `split` is its index in the unit.
    pub fn ranges(&self, place: UnitPlace, split: usize) -> Vec<Range<u64>> {
        let parts = self.get(place).into_iter().flat_map(KeptUnit::parts);
        let of_split = parts.filter(|own| own.part.split_index() == Some(split));
        of_split.flat_map(|own| own.ranges.clone()).collect()
    }
}

impl KeptUnit {
    /// Adds a part. `splits` are the planned splits of the unit.
    pub fn add(&mut self, splits: &[Split], part: KeptPart) {
        self.account.add(&part.account);
        if let Part::Split(number) = part.part {
            let key = identity::split_key(&splits[number - 1]);
            self.splits.extend(KeyStart::of(key.as_str()));
        }
        self.parts.push(part);
    }

    /// The parts; none if the unit was committed as a whole.
    pub fn parts(&self) -> &[KeptPart] {
        &self.parts
    }

    /// True if the split with this key is kept completely.
    pub fn has_split(&self, key: &SplitKey) -> bool {
        let split = KeyStart::of(key.as_str());
        self.is_whole || split.is_some_and(|split| self.splits.contains(&split))
    }
}
