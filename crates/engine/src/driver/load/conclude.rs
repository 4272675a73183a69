//! After the last unit: compares the ledger's records of units with the files, and counts what is staged.

use inrush_destination::Destination;

use super::ContractContext;
use super::staged_sums::SentSums;
use crate::error::Error;
use crate::ledger::each_record;
use crate::plan::{UnitAccounts, UnitIndex};
use crate::run::committed_units::CommittedUnits;
use crate::run::ledger_checks::LedgerChecks;

/// Reads the ledger, and compares each file of the plan with it.
pub fn staged_units(
    context: &ContractContext<'_>,
    destination: &dyn Destination,
) -> Result<CommittedUnits, Error> {
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
    Ok(CommittedUnits::of_targets(accounts, rows))
}
