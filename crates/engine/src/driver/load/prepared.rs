//! A prepared run into a destination of the contract, with the units that it keeps of earlier attempts.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut, Range};
use std::sync::{Mutex, PoisonError};

use inrush_convert::RunStamp;
use inrush_destination::{OpenRun, PublishesInto};
use inrush_rows::ids::UnitKey;

use super::kept::KeptUnits;
use super::members;
use crate::driver::plan::{ContractPlan, UnitIndex};
use crate::error::Error;
use crate::ledger::Account;
use crate::load::Part;
use crate::pipeline::reject_files;
use crate::pipeline::work_items::Committed;
use crate::plan::planned::SplitPlace;
use crate::plan::{UnitPlace, identity};
use crate::report::reject_file_name;
use crate::run::prepared::{DriverRun, KeptRecord, PreparedRun};

/// A run that is planned and holds its lock.
pub struct ContractRun {
    /// The part that is the same for all destinations.
    pub prepared: PreparedRun<ContractPlan>,
    /// The destination's side of the run.
    pub open: Box<dyn OpenRun>,
    /// The units that are kept.
    pub kept: KeptUnits,
    /// Units that this process has finished.
    pub finished: Mutex<BTreeSet<UnitPlace>>,
}

impl Deref for ContractRun {
    type Target = PreparedRun<ContractPlan>;

    fn deref(&self) -> &PreparedRun<ContractPlan> {
        &self.prepared
    }
}

impl DerefMut for ContractRun {
    fn deref_mut(&mut self) -> &mut PreparedRun<ContractPlan> {
        &mut self.prepared
    }
}

impl DriverRun for ContractRun {
    type Plan = ContractPlan;

    fn stamp(&self) -> RunStamp {
        let record = self.open.record();
        RunStamp {
            run_id: record.run_id,
            started_at_microseconds: record.started_at_microseconds,
        }
    }

    fn kept_units(&self) -> usize {
        self.kept.accounts().count()
    }

    /// All of a fed file is committed only if its feed says so.
    fn committed(&self, unit: UnitPlace) -> Committed<'_> {
        match self.kept.is_whole(unit) {
            true => Committed::All,
            false => Committed::Splits(Box::new(move |key| self.kept.has_split(unit, key))),
        }
    }

    fn kept_account(&self, unit: UnitPlace) -> Account {
        self.kept.accounts().get(unit).unwrap_or_default()
    }

    fn has_split(&self, (flow, unit, split): SplitPlace) -> bool {
        let place = (flow, unit);
        let split = &self.plan.flows[flow].units[unit].splits[split];
        self.kept.is_whole(place) || self.kept.has_split(place, &identity::split_key(split))
    }

    fn kept_ranges(&self, (flow, unit, split): SplitPlace) -> Vec<Range<u64>> {
        self.kept.ranges((flow, unit), split)
    }

    fn kept_records(&self, place: UnitPlace) -> Vec<KeptRecord> {
        let flow = &self.plan.flows[place.0];
        let records = self.kept.records(place, &flow.units[place.1]);
        let record = |(key, account): (&UnitKey, Account)| {
            let file = reject_files::of_record(&flow.reading.name, key);
            KeptRecord {
                unit: place,
                key: key.clone(),
                is_direct: false,
                rows_rejected: account.rows_rejected,
                reject_files: vec![reject_file_name(&file)],
            }
        };
        records.map(record).collect()
    }

    fn publishes_into(&self, (flow, unit): UnitPlace) -> &PublishesInto {
        &self.plan.flows[flow].units[unit].publishes_into
    }

    fn reject_file_name(&self, place: UnitPlace, part: Part) -> String {
        let flow = &self.plan.flows[place.0];
        reject_files::of_record(&flow.reading.name, &self.record_key(place, part))
    }

    fn finished(&self, place: UnitPlace) {
        let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        finished.insert(place);
    }

    /// Members that only the transaction knew have to be numbered again.
    fn rolled_back(&self) {
        members::forget(&self.plan.flows);
    }
}

impl ContractRun {
    /// Units that several streams have filled and that are committed completely, but that this process has not finished.
    pub fn unfinished(&self) -> Vec<UnitPlace> {
        let finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let is_left = |place: &UnitPlace| !finished.contains(place) && !self.kept.is_whole(*place);
        let complete = self.sharing.iter().filter(|(_, sharing)| sharing.is_done());
        complete.map(|(place, _)| *place).filter(is_left).collect()
    }

    /// Removes records from the destination, together with records that depend on them.
    pub fn forget(&mut self, keys: Vec<UnitKey>) -> Result<(), Error> {
        if keys.is_empty() {
            return Ok(());
        }
        let gone = self.open.forget(&keys)?;
        let index = UnitIndex::new(&self.prepared.plan.flows);
        for key in keys.iter().chain(&gone) {
            if let Some(place) = index.find(&identity::unit_of(key)) {
                self.kept.remove(place, key);
            }
        }
        Ok(())
    }
}
