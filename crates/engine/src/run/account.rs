//! Checks the account of a run before the switch: compares the ledger's records with the files, their row counts with the
//! destination's own counts, and the share of rejects with the package's limit.

use inrush_destination::CommittedRecord;
use inrush_plan::ledger::{Account, LedgerRecord};
use inrush_plan::{UnitAccounts, UnitIndex};

use super::committed_units::CommittedUnits;
use super::context::RunContext;
use super::ledger_checks::LedgerChecks;
use super::prepared::PreparedRun;
use super::staged_sums::SentSums;
use crate::error::Error;

/// Returns the units that a run has committed. Fails if they do not agree with the files or with the destination's counts.
pub fn verify(context: &RunContext<'_>) -> Result<CommittedUnits, Error> {
    let committed = read(context)?;
    check(context.run, &committed)?;
    Ok(committed)
}

/// Reads the records of the run, compares each file of the plan with them, and has the destination count its rows. The check
/// uses the ledger, not the memory of this process.
fn read(context: &RunContext<'_>) -> Result<CommittedUnits, Error> {
    let run = context.run;
    let open = &*run.open;
    let flows = &run.plan.flows;
    let index = UnitIndex::new(flows);
    let mut accounts = UnitAccounts::none(flows);
    let mut sums = SentSums::none(flows);
    let mut checks = LedgerChecks::new(run);
    open.units(&mut |record| {
        let (place, splits) = match record {
            CommittedRecord::Unit(unit) => {
                let record = LedgerRecord::from(unit);
                (index.place_of(&record), record.splits)
            }
            CommittedRecord::Split(split) => (index.find(&split.unit_key), vec![*split]),
        };
        // The destination's count of rows reveals the rows of a unit that the plan does not have.
        let Some(place) = place else {
            return;
        };
        for split in splits {
            accounts.add(place, &split.account);
            sums.add(place.0, &flows[place.0], &split);
            checks.see(place.0, split);
        }
    })?;
    checks.finish()?;
    let rows = open.staged_rows()?;
    context.cancelled_by_stop(|| sums.compare(flows, open))??;
    Ok(CommittedUnits::new(run, accounts, rows))
}

/// Compares the account of each unit, or of each flow, with the destination's own count.
fn check(run: &PreparedRun, committed: &CommittedUnits) -> Result<(), Error> {
    for (flow_at, flow) in run.plan.flows.iter().enumerate() {
        let reading = &flow.reading;
        let staged = committed.rows_staged(flow_at);
        let mut whole = Account::default();
        for (unit_at, unit) in flow.units.iter().enumerate() {
            let end = committed.unit(run, (flow_at, unit_at), false);
            whole.add(&end.account);
            let agrees = end.is_finished
                && end.account.holds()
                && end.rows_counted == Some(end.account.rows_loaded);
            if staged.is_none() && !agrees {
                return Err(Error::Verification {
                    what: format!("unit {} of {} in the ledger", unit.number, reading.target),
                    counted: end.rows_counted.unwrap_or(0),
                    sent: end.account.rows_loaded,
                });
            }
        }
        if let Some(counted) = staged
            && counted != whole.rows_loaded
        {
            return Err(Error::Verification {
                what: format!("the staged rows of {}", reading.target),
                counted,
                sent: whole.rows_loaded,
            });
        }
        run.rejects[flow_at].judge_share(
            &reading.name,
            whole.rows_rejected,
            whole.rows_loaded + whole.rows_rejected + whole.rows_filtered,
        )?;
    }
    Ok(())
}
