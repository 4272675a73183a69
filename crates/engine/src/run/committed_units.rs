//! The units that the ledger has of a run, with the destination's own counts.

use std::collections::{BTreeMap, BTreeSet};

use inrush_rows::ids::UnitKey;

use super::gathering::Gathering;
use super::plan::RunPlan;
use super::prepared::DriverRun;
use super::unit_reports::UnitEnd;
use crate::ledger::Account;
use crate::pipeline::results::LoadedPieces;
use crate::plan::{UnitAccounts, UnitIndex, UnitPlace};

/// The committed units of a run, at one moment.
pub struct CommittedUnits {
    accounts: UnitAccounts,
    counted: Counted,
    /// Flows whose units are being loaded again, carefully. The report says so for units that are loaded.
    careful: BTreeSet<usize>,
}

/// The destination's own counts.
enum Counted {
    /// The staged rows of each target.
    Targets(Vec<u64>),
    /// The rows of each unit that the ledger has.
    Units(BTreeMap<UnitPlace, CountedUnit>),
}

/// A unit that the destination counts by itself, as its ledger has it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountedUnit {
    /// All of it is committed.
    pub is_finished: bool,
    /// One stream has loaded it carefully as a whole.
    pub is_careful: bool,
    /// The destination's count, once it is finished.
    pub rows: Option<u64>,
}

impl CommittedUnits {
    /// Units of which the destination has counted all staged rows of each target.
    pub fn of_targets(accounts: UnitAccounts, rows: Vec<u64>) -> CommittedUnits {
        CommittedUnits {
            accounts,
            counted: Counted::Targets(rows),
            careful: BTreeSet::new(),
        }
    }

    /// Units that the destination has counted one by one. Units that the plan does not have are left out.
    pub fn of_units<R: DriverRun>(
        run: &R,
        units: impl Iterator<Item = (UnitKey, CountedUnit)>,
        accounts: impl Iterator<Item = (UnitKey, Account)>,
    ) -> CommittedUnits {
        let flows = run.plan.flows();
        let index = UnitIndex::new(flows);
        let mut by_place = UnitAccounts::none(flows);
        for (key, account) in accounts {
            if let Some(place) = index.find(&key) {
                by_place.add(place, &account);
            }
        }
        let units = units.filter_map(|(key, unit)| Some((index.find(&key)?, unit)));
        CommittedUnits {
            accounts: by_place,
            counted: Counted::Units(units.collect()),
            careful: BTreeSet::new(),
        }
    }

    /// The units that this attempt knows without reading the ledger: those that it kept and those that it committed.
    pub fn known<R: DriverRun>(run: &R, gathering: &Gathering) -> CommittedUnits {
        let flows = run.plan.flows();
        let mut accounts = UnitAccounts::none(flows);
        for (place, kept) in run.kept.iter() {
            accounts.add(place, &kept.account);
        }
        for loaded in &gathering.loaded {
            accounts.add((loaded.flow, loaded.unit), &loaded.account);
        }
        let rows = (0..flows.len()).map(|flow| accounts.total(flow).rows_loaded);
        let rows = rows.collect();
        CommittedUnits::of_targets(accounts, rows)
    }

    /// Forgets the units of a flow, which are no longer in staging, and marks the flow as careful.
    pub fn forget(&mut self, flow: usize) {
        self.accounts.forget(flow);
        self.careful.insert(flow);
    }

    /// Adds units that were committed after the ledger was read.
    pub fn add(&mut self, loaded: &LoadedPieces) {
        for piece in loaded {
            self.accounts.add((piece.flow, piece.unit), &piece.account);
        }
    }

    /// A unit. `is_loaded` is true if this attempt has loaded rows of it.
    pub fn unit<R: DriverRun>(&self, run: &R, place: UnitPlace, is_loaded: bool) -> UnitEnd {
        let account = self.accounts.get(place);
        match &self.counted {
            Counted::Units(units) => {
                let unit = units.get(&place).copied().unwrap_or_default();
                let is_kept = run.kept.is_whole(place);
                UnitEnd {
                    is_kept,
                    is_finished: unit.is_finished,
                    is_careful: unit.is_careful,
                    server_copy: (!is_kept).then(|| run.server_copy(place)).flatten(),
                    account: account.unwrap_or_default(),
                    rows_counted: unit.rows,
                }
            }
            Counted::Targets(_) => {
                // For a file that is read through a feed, only reading it to its end proves that all of it was kept.
                let is_finished = match run.sharing.get(&place) {
                    None => account.is_some(),
                    Some(sharing) => sharing.is_done(),
                };
                let account = account.unwrap_or_default();
                UnitEnd {
                    is_kept: is_finished && !is_loaded && run.kept.get(place).is_some(),
                    is_finished,
                    is_careful: self.careful.contains(&place.0),
                    server_copy: None,
                    account,
                    // Rows are committed only if the destination counts this number.
                    rows_counted: is_finished.then_some(account.rows_loaded),
                }
            }
        }
    }

    /// The destination's own count of all staged rows of a flow; `None` if it counts each unit by itself.
    pub fn rows_staged(&self, flow: usize) -> Option<u64> {
        match &self.counted {
            Counted::Targets(rows) => Some(rows.get(flow).copied().unwrap_or(0)),
            Counted::Units(_) => None,
        }
    }
}
