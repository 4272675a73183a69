//! The units that the ledger has of a run, with the destination's own counts.

use std::collections::{BTreeMap, BTreeSet};

use inrush_destination::{CountedUnit, StagedRows, UnitAtEnd};
use inrush_plan::earlier::kept_units::KeptUnit;
use inrush_plan::ledger::Account;
use inrush_plan::{UnitAccounts, UnitIndex, UnitPlace};

use super::context::RunContext;
use super::gathering::Gathering;
use super::prepared::PreparedRun;
use super::unit_reports::UnitEnd;
use crate::pipeline::results::LoadedPieces;

/// The committed units of a run, at one moment.
pub struct CommittedUnits {
    accounts: UnitAccounts,
    counted: Counted,
    /// Units that are being loaded again, carefully. Once such a unit is loaded, its pieces say so, too.
    careful: BTreeSet<UnitPlace>,
}

/// The destination's own counts.
enum Counted {
    /// The staged rows of each target.
    Targets(Vec<u64>),
    /// The rows of each unit that the ledger has.
    Units(BTreeMap<UnitPlace, CountedUnit>),
}

impl CommittedUnits {
    /// Units with these accounts, and the destination's own count of their rows. Counted units that the plan does not have are
    /// left out.
    pub fn new(run: &PreparedRun, accounts: UnitAccounts, rows: StagedRows) -> CommittedUnits {
        let counted = match rows {
            StagedRows::OfTargets(rows) => Counted::Targets(rows),
            StagedRows::OfUnits(units) => {
                let index = UnitIndex::new(&run.plan.flows);
                let units = units.into_iter();
                let placed = units.filter_map(|(key, unit)| Some((index.find(&key)?, unit)));
                Counted::Units(placed.collect())
            }
        };
        CommittedUnits {
            accounts,
            counted,
            careful: BTreeSet::new(),
        }
    }

    /// The units when the run ends, for the report. If a publish changes the ledger's records, the units are read from the
    /// ledger again. Otherwise they are the verified units, or the units that this process knows if the run was not verified.
    /// `is_failed` is true if an error ends the run.
    pub fn at_end(
        context: &RunContext<'_>,
        verified: Option<CommittedUnits>,
        gathering: &mut Gathering,
        is_failed: bool,
    ) -> CommittedUnits {
        let run = context.run;
        let read = match run.open.units_at_end() {
            Ok(None) => {
                return verified.unwrap_or_else(|| CommittedUnits::known(run, gathering));
            }
            Ok(Some(units)) => Ok(CommittedUnits::of_units(run, units)),
            Err(error) => Err(error),
        };
        // If a transaction was not committed, what was verified in it is not in the ledger.
        let mut flows = run.plan.flows.iter();
        let is_undone = is_failed && flows.any(|flow| flow.commits_at_publish());
        match (read, verified.filter(|_| !is_undone)) {
            (Ok(read), _) => read,
            // The server went away after the switch; the switched units were verified before.
            (Err(_), Some(verified)) => verified,
            (Err(_), None) => {
                gathering.note(
                    "the ledger could not be read at the end; the report has only the rows of \
                     units kept from earlier attempts"
                        .to_owned(),
                );
                let unit = |(place, kept): (UnitPlace, &KeptUnit)| UnitAtEnd {
                    key: run.unit(place).1.key.clone(),
                    counted: CountedUnit {
                        is_finished: kept.is_whole,
                        is_careful: kept.is_careful,
                        rows: kept.is_whole.then_some(kept.account.rows_loaded),
                    },
                    account: kept.account,
                };
                CommittedUnits::of_units(run, run.kept.iter().map(unit).collect())
            }
        }
    }

    /// Units that the ledger has counted and added up one by one.
    fn of_units(run: &PreparedRun, units: Vec<UnitAtEnd>) -> CommittedUnits {
        let flows = &run.plan.flows;
        let index = UnitIndex::new(flows);
        let mut accounts = UnitAccounts::none(flows);
        for unit in &units {
            if let Some(place) = index.find(&unit.key) {
                accounts.add(place, &unit.account);
            }
        }
        let counted = units.into_iter().map(|unit| (unit.key, unit.counted));
        CommittedUnits::new(run, accounts, StagedRows::OfUnits(counted.collect()))
    }

    /// The units that this attempt knows without reading the ledger: those that it kept and those that it committed.
    fn known(run: &PreparedRun, gathering: &Gathering) -> CommittedUnits {
        let flows = &run.plan.flows;
        let mut accounts = UnitAccounts::none(flows);
        for (place, kept) in run.kept.iter() {
            accounts.add(place, &kept.account);
        }
        for loaded in &gathering.loaded {
            accounts.add((loaded.flow, loaded.unit), &loaded.account);
        }
        let rows = (0..flows.len()).map(|flow| accounts.total(flow).rows_loaded);
        let rows = StagedRows::OfTargets(rows.collect());
        CommittedUnits::new(run, accounts, rows)
    }

    /// Removes a unit, which is about to be loaded again, carefully. Returns the account that it had.
    pub fn take(&mut self, place: UnitPlace) -> Account {
        let account = self.accounts.get(place).unwrap_or_default();
        self.accounts.set(place, None);
        if let Counted::Units(units) = &mut self.counted {
            units.remove(&place);
        }
        self.careful.insert(place);
        account
    }

    /// Adds units that were loaded again.
    pub fn add(&mut self, loaded: &LoadedPieces) {
        for piece in loaded {
            let place = (piece.flow, piece.unit);
            self.accounts.add(place, &piece.account);
            if let Counted::Units(units) = &mut self.counted {
                let counted = CountedUnit {
                    is_finished: true,
                    is_careful: piece.is_careful,
                    rows: Some(piece.account.rows_loaded),
                };
                units.insert(place, counted);
            }
        }
    }

    /// A unit. `is_loaded` is true if this attempt has loaded rows of it.
    pub fn unit(&self, run: &PreparedRun, place: UnitPlace, is_loaded: bool) -> UnitEnd {
        let account = self.accounts.get(place);
        match &self.counted {
            Counted::Units(units) => {
                let unit = units.get(&place).copied().unwrap_or_default();
                let is_kept = run.kept.is_whole(place);
                UnitEnd {
                    is_kept,
                    is_finished: unit.is_finished,
                    is_careful: unit.is_careful,
                    server_copy: match is_kept {
                        true => None,
                        false => run.open.stored_way(place.0, place.1),
                    },
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
                    is_careful: self.careful.contains(&place),
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
