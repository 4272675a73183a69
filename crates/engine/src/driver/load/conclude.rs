//! After the last unit: compares the ledger's records of units with the files, and counts what is staged.

use std::collections::BTreeSet;

use inrush_destination::Destination;

use super::ContractContext;
use super::prepared::ContractRun;
use super::staged_sums::SentSums;
use crate::error::Error;
use crate::ledger::each_record;
use crate::pipeline::results::LoadedPieces;
use crate::plan::{UnitAccounts, UnitIndex, UnitPlace};
use crate::run::account::CommittedUnits;
use crate::run::gathering::Gathering;
use crate::run::ledger_checks::LedgerChecks;
use crate::run::unit_reports::UnitEnd;

/// The units that the ledger has of a run, and for each flow the number of staged rows as the destination counts them.
pub struct StagedUnits {
    accounts: UnitAccounts,
    rows: Vec<u64>,
    /// Flows whose units are being loaded again, carefully. The report says so for units that are loaded.
    careful: BTreeSet<usize>,
}

impl StagedUnits {
    /// The units that this attempt knows without reading the ledger: those that it kept and those that it committed.
    pub fn known(run: &ContractRun, gathering: &Gathering) -> StagedUnits {
        let mut accounts = UnitAccounts::none(&run.plan.flows);
        for (place, kept) in run.kept.iter() {
            accounts.add(place, &kept.account);
        }
        for loaded in &gathering.loaded {
            accounts.add((loaded.flow, loaded.unit), &loaded.account);
        }
        let rows = (0..run.plan.flows.len()).map(|flow| accounts.total(flow).rows_loaded);
        StagedUnits {
            rows: rows.collect(),
            accounts,
            careful: BTreeSet::new(),
        }
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
}

impl CommittedUnits<ContractRun> for StagedUnits {
    fn unit(&self, run: &ContractRun, place: UnitPlace, is_loaded: bool) -> UnitEnd {
        let account = self.accounts.get(place);
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

    fn rows_staged(&self, flow: usize) -> Option<u64> {
        Some(self.rows.get(flow).copied().unwrap_or(0))
    }
}

/// Reads the ledger, and compares each file of the plan with it.
pub fn staged_units(
    context: &ContractContext<'_>,
    destination: &dyn Destination,
) -> Result<StagedUnits, Error> {
    let run = context.run;
    // This comes first, because the destination and the ledger may read all units.
    let open = run.open.as_ref();
    let rows = open.staged_rows()?;
    // The check uses the ledger, not the memory of this process.
    let flows = &run.plan.flows;
    let index = UnitIndex::new(flows);
    let mut accounts = UnitAccounts::none(flows);
    let mut sums = SentSums::none(flows);
    let mut checks = LedgerChecks::new(&run.prepared);
    each_record(destination, open.record(), &mut |record| {
        // The destination's count of rows reveals the rows of a unit that the plan does not have.
        let Some(place) = index.place_of(&record) else {
            return;
        };
        accounts.add(place, &record.account());
        sums.add(place.0, &flows[place.0], &record.splits);
        for split in record.splits {
            checks.see(place.0, split);
        }
    })?;
    checks.finish()?;
    context.cancelled_by_stop(|| sums.compare(&run.plan.flows, open))??;
    Ok(StagedUnits {
        accounts,
        rows,
        careful: BTreeSet::new(),
    })
}
