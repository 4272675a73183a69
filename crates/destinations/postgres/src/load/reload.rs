//! Loads committed units again, because a target refused one of their rows at the switch.

use inrush_engine::error::Error;
use inrush_engine::native::load::{Loader, blocking};
use inrush_engine::native::run::StreamResult;
use inrush_engine::native::run::work_items::WorkItem;

use super::context::Context;
use super::stream::by_control;
use crate::Session;
use crate::plan::UnitPlan;
use crate::plan::additions::Additions;
use crate::plan::switch_steps::lock_timeout;
use crate::quote::qualified;
use crate::transaction::Transaction;

/// Loads a unit once more, in the order of its files, into a staging table with additional constraints.
pub fn load_in_file_order(
    context: &Context<'_>,
    item: &WorkItem,
    additions: &Additions,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let run = context.run;
    let (_, unit) = run.unit(item.unit_place());
    let forgetting = async {
        let accounts = run.ledger.accounts(&run.control, run.fence.run_id).await?;
        if !additions.is_empty() {
            forget(context, &run.control, unit).await?;
        }
        Ok(accounts.of_unit(&unit.key))
    };
    let committed = run.wait(forgetting)?;
    let load_run = context.load_run();
    by_control(context, additions, |target| {
        blocking(Loader::new(&load_run, target, 0, item).reload(committed, result))
    })
}

/// Removes a unit from the ledger. Its rejects will be written again, into the same files if one stream has loaded it
/// before. A run that is stopped meanwhile loads the unit as if it had never been loaded.
async fn forget(context: &Context<'_>, session: &Session, unit: &UnitPlan) -> Result<(), Error> {
    let run = context.run;
    let doing = "dropping a unit that is loaded again";
    let table = qualified(&run.plan.settings.staging_schema, &unit.staging_table);
    let transaction = Transaction::begin(session, doing).await?;
    run.ledger.hold_fence(session, &run.fence).await?;
    // Another session may read the table for a long time.
    session.execute(&lock_timeout(&run.plan), doing).await?;
    session
        .execute(&format!("DROP TABLE IF EXISTS {table}"), doing)
        .await?;
    let key = std::slice::from_ref(&unit.key);
    run.ledger
        .forget_units(session, run.fence.run_id, key)
        .await?;
    Ok(transaction.commit(doing).await?)
}
