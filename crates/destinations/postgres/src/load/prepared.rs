//! A prepared run into PostgreSQL, with the units and splits that it keeps from earlier attempts.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Arc;

use inrush_convert::RunStamp;
use inrush_destination::PublishesInto;
use inrush_engine::ledger::Account;
use inrush_engine::native::load::Part;
use inrush_engine::native::plan::{SplitPlace, UnitPlace, identity};
use inrush_engine::native::run::work_items::Committed;
use inrush_engine::native::run::{DriverRun, KeptRecord, PreparedRun};
use inrush_rows::ids::UnitKey;

use super::kept_splits::KeptSplits;
use super::member_numbers::MemberSession;
use super::stored_ways::StoredWays;
use super::unit_reject_files;
use crate::Session;
use crate::ledger::{Fence, Ledger, StoredRun, UnitRow};
use crate::plan::Plan;

/// A run that is planned and entered into the ledger.
pub struct PostgresRun {
    /// The part that is the same for all destinations.
    pub prepared: PreparedRun<Plan>,
    /// The run in the ledger.
    pub record: StoredRun,
    /// Its fence.
    pub fence: Fence,
    /// The ledger.
    pub ledger: Ledger,
    /// The session of the ledger and the switch; it holds the run's lock.
    pub control: Session,
    /// Units that were committed by an earlier attempt, by key.
    pub units_kept: BTreeMap<UnitKey, UnitRow>,
    /// Splits that were committed by an earlier attempt.
    pub splits_kept: KeptSplits,
    /// Assigns numbers to the members that lookups add to their references.
    pub members: Arc<MemberSession>,
    /// How the server stored the rows of each unit.
    pub stored_ways: StoredWays,
}

impl Deref for PostgresRun {
    type Target = PreparedRun<Plan>;

    fn deref(&self) -> &PreparedRun<Plan> {
        &self.prepared
    }
}

impl DerefMut for PostgresRun {
    fn deref_mut(&mut self) -> &mut PreparedRun<Plan> {
        &mut self.prepared
    }
}

impl DriverRun for PostgresRun {
    type Plan = Plan;

    fn stamp(&self) -> RunStamp {
        RunStamp {
            run_id: self.record.run_id,
            started_at_microseconds: self.record.started_at_microseconds,
        }
    }

    fn kept_units(&self) -> usize {
        let kept = self.units_kept.values();
        kept.filter(|unit| unit.finished).count()
    }

    fn committed(&self, place: UnitPlace) -> Committed<'_> {
        let (_, unit) = self.unit(place);
        match self.units_kept.get(&unit.key) {
            Some(kept) if kept.finished => Committed::All,
            // A unit of one stream is kept completely or not at all.
            _ if !unit.shared => Committed::Nothing,
            _ => Committed::Splits(Box::new(|split_key| {
                self.splits_kept.has(&unit.key, split_key)
            })),
        }
    }

    fn kept_account(&self, place: UnitPlace) -> Account {
        let (_, unit) = self.unit(place);
        self.splits_kept.account(&unit.key)
    }

    fn has_split(&self, (flow, unit, split): SplitPlace) -> bool {
        let (_, unit) = self.unit((flow, unit));
        let key = identity::split_key(&unit.splits[split]);
        self.splits_kept.has(&unit.key, &key)
    }

    fn kept_ranges(&self, (flow, unit, split): SplitPlace) -> Vec<Range<u64>> {
        let (_, unit) = self.unit((flow, unit));
        let file_key = identity::file_key(&*unit.splits[split].input);
        let of_unit = self.splits_kept.of_unit(&unit.key).iter();
        let of_file = of_unit.filter(|kept| kept.is_of_file(&file_key));
        of_file
            .filter_map(|kept| Some(kept.byte_start..kept.byte_end?))
            .collect()
    }

    /// One record for the whole unit.
    fn kept_records(&self, place: UnitPlace) -> Vec<KeptRecord> {
        let (flow, unit) = self.unit(place);
        let Some(kept) = self.units_kept.get(&unit.key) else {
            return Vec::new();
        };
        let splits = self.splits_kept.of_unit(&unit.key);
        let rows_rejected = splits.iter().map(|split| split.account.rows_rejected).sum();
        if rows_rejected == 0 {
            return Vec::new();
        }
        vec![KeptRecord {
            unit: place,
            key: unit.key.clone(),
            is_direct: kept.straight,
            rows_rejected,
            reject_files: unit_reject_files::names_of(flow, unit, kept, splits),
        }]
    }

    /// The plan's own statements say where the rows of a unit go.
    fn publishes_into(&self, _: UnitPlace) -> &PublishesInto {
        &PublishesInto::Target
    }

    fn reject_file_name(&self, place: UnitPlace, part: Part) -> String {
        let (flow, unit) = self.unit(place);
        unit_reject_files::of_part(flow, unit, part)
    }

    fn is_verified(&self, place: UnitPlace) -> bool {
        let (_, unit) = self.unit(place);
        unit.verify.is_some()
    }

    fn reloads_units_alone(&self) -> bool {
        true
    }
}
