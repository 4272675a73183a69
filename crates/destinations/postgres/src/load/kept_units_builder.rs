//! Reads the kept units of a run from the rows of the ledger: one for each unit, and one for each split. A unit that several
//! streams fill is kept in parts.

use std::collections::BTreeMap;

use inrush_destination::SplitRecord;
use inrush_plan::earlier::kept_units::{KeptPart, KeptUnits};
use inrush_plan::units::part::Part;
use inrush_plan::{KeyStart, LoadUnit, UnitPlace, identity};
use inrush_rows::ids::UnitKey;

use crate::ledger::UnitRow;
use crate::plan::FlowPlan;

/// Collects the kept units from the ledger's rows of units and splits.
pub struct KeptUnitsBuilder<'a> {
    places: BTreeMap<&'a UnitKey, (UnitPlace, &'a LoadUnit)>,
    rows: &'a BTreeMap<UnitKey, UnitRow>,
    kept: KeptUnits,
    /// The unit of the last split that was added, with its planned splits. The ledger returns the splits of a unit one after the other.
    open: Option<(UnitPlace, PlannedSplits)>,
}

impl<'a> KeptUnitsBuilder<'a> {
    /// Begins with the rows of the units. Units that the plan lacks are left out.
    pub fn new(
        flows: &'a [FlowPlan],
        rows: &'a BTreeMap<UnitKey, UnitRow>,
    ) -> KeptUnitsBuilder<'a> {
        let mut builder = KeptUnitsBuilder {
            places: BTreeMap::new(),
            rows,
            kept: KeptUnits::default(),
            open: None,
        };
        for (flow_at, flow) in flows.iter().enumerate() {
            for (unit_at, unit) in flow.units.iter().enumerate() {
                let Some(row) = rows.get(&unit.key) else {
                    continue;
                };
                let place = (flow_at, unit_at);
                builder.places.insert(&unit.key, (place, unit));
                let kept = builder.kept.unit(place);
                kept.is_whole = row.finished;
                kept.is_direct = row.straight;
                kept.is_careful = row.careful;
            }
        }
        builder
    }

    /// Adds a split, if its unit is kept.
    pub fn add_split(&mut self, split: SplitRecord) {
        let Some((place, unit)) = self.places.get(&split.unit_key) else {
            return;
        };
        let row = &self.rows[&split.unit_key];
        let kept = self.kept.unit(*place);
        if row.careful || !row.shared {
            // One stream has committed it as a whole.
            kept.account.add(&split.account);
            return;
        }
        let planned = match &mut self.open {
            Some((of, planned)) if of == place => planned,
            open => &mut open.insert((*place, PlannedSplits::of(unit))).1,
        };
        match planned.part_of(&split) {
            None => kept.account.add(&split.account),
            Some(part) => {
                let range = match (part, split.byte_end) {
                    (Part::Ranges { .. }, Some(end)) => Some(split.byte_start..end),
                    _ => None,
                };
                let part = KeptPart {
                    part,
                    account: split.account,
                    ranges: range.into_iter().collect(),
                };
                kept.add(&unit.splits, part);
            }
        }
    }

    /// The kept units.
    pub fn finish(self) -> KeptUnits {
        self.kept
    }
}

/// The planned splits of a unit, by the keys that the ledger has of them.
struct PlannedSplits {
    /// The numbers of the splits that one transaction commits, by their keys.
    whole: BTreeMap<KeyStart, usize>,
    /// The numbers of the splits that are fed, by the keys of their files.
    fed: BTreeMap<KeyStart, usize>,
}

impl PlannedSplits {
    fn of(unit: &LoadUnit) -> PlannedSplits {
        let (mut whole, mut fed) = (BTreeMap::new(), BTreeMap::new());
        for (number, split) in (1..).zip(&unit.splits) {
            match split.is_shared {
                true => {
                    let file = identity::file_key(&*split.input);
                    fed.extend(KeyStart::of(file.as_str()).map(|key| (key, number)));
                }
                false => {
                    let own = identity::split_key(split);
                    whole.extend(KeyStart::of(own.as_str()).map(|key| (key, number)));
                }
            }
        }
        PlannedSplits { whole, fed }
    }

    /// The part of the unit that a row of the ledger commits. `None` if the plan has no such split.
    fn part_of(&self, row: &SplitRecord) -> Option<Part> {
        let whole = KeyStart::of(row.split_key.as_str()).and_then(|key| self.whole.get(&key));
        let fed = || KeyStart::of(row.file_key.as_str()).and_then(|key| self.fed.get(&key));
        match whole {
            Some(number) => Some(Part::Split(*number)),
            None => fed().map(|number| Part::Ranges {
                split: *number,
                text_start: row.byte_start,
            }),
        }
    }
}
