//! After the last unit: compares the ledger with files and server.

use inrush_engine::error::Error;
use inrush_engine::native::plan::UnitIndex;
use inrush_engine::native::run::{CommittedUnits, LedgerChecks};

use super::context::Context;
use super::count_again;
use super::ledger_units::LedgerUnits;
use super::switching::SwitchWork;
use crate::ledger::UnitAccounts;

/// Reads the ledger, compares it with the files, and counts units again that somebody could have changed. The tasks of the
/// switch follow from these facts.
pub async fn committed(context: &Context<'_>) -> Result<CommittedUnits, Error> {
    let run = context.run;
    let (control, run_id) = (&run.control, run.fence.run_id);
    let units = run.ledger.units(control, run_id).await?;
    let index = UnitIndex::new(&run.plan.flows);
    let mut accounts = UnitAccounts::default();
    let mut checks = LedgerChecks::new(&run.prepared);
    run.ledger
        .each_split(control, run_id, None, |split| {
            accounts.add(&split.unit_key, &split.account);
            if let Some((flow, _)) = index.find(&split.unit_key) {
                checks.see(flow, split);
            }
        })
        .await?;
    checks.finish()?;
    let found = LedgerUnits::new(units, accounts);
    count_again::units(context, found.units()).await?;
    run.switching().work = Some(SwitchWork::of(run, &found).await?);
    Ok(found.committed(run))
}
