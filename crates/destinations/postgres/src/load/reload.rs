//! Loads committed units again, because a target refused one of their rows at the switch.

use inrush_engine::error::Error;
use inrush_engine::event::Event;
use inrush_engine::native::load::{Loader, blocking};
use inrush_engine::native::run::StreamResult;
use inrush_engine::native::run::work_items::WorkItem;

use super::careful::Need;
use super::context::Context;
use super::stream::by_control;
use super::switching::SwitchRefusal;
use crate::Session;
use crate::ledger::UnitRow;
use crate::plan::FlowPlan;
use crate::plan::additions::Additions;
use crate::plan::switch_steps::lock_timeout;
use crate::quote::qualified;
use crate::switch::SwitchError;
use crate::transaction::Transaction;
use inrush_engine::native::plan::LoadUnit;

/// Called after a target has refused a row of a flow. The units of the flow must have their rows in the order of the
/// files, so that each row can be found in its file, and of duplicates the first one is kept. A unit that several
/// streams have filled is loaded again by one stream. If more than the order is needed, all units are loaded again.
pub fn in_file_order(
    context: &Context<'_>,
    flow_index: usize,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let run = context.run;
    let (refusal, refused) = {
        let mut switching = run.switching();
        (switching.refusal.take(), switching.refused.clone())
    };
    let SwitchRefusal {
        is_copied,
        source: refusal,
    } = refusal.expect("a target has refused a row");
    let control = &run.control;
    let flow = &run.plan.flows[flow_index];
    let has_members = !flow.members.is_empty();
    let preparing = async {
        let need = Need::of(control, &run.plan, flow, &refusal, is_copied).await?;
        let Some(need) = need else {
            return Ok(None);
        };
        need.prepare(control, &run.plan).await?;
        if has_members {
            find_existing_members(context, flow).await?;
        }
        let records = run.ledger.units(control, run.fence.run_id).await?;
        Ok(Some((need, records)))
    };
    let Some((need, records)) = context.run.wait(preparing)? else {
        return Err(SwitchError::from(refusal).into());
    };
    for (unit_index, unit) in flow.units.iter().enumerate() {
        context.notice(&Event::UnitRefused {
            flow: flow.name.clone(),
            unit: unit.number,
            reason: refusal.to_string(),
        });
        let is_ordered = |record: &UnitRow| record.careful || !record.shared;
        // If others have added a member meanwhile, our rows with another number for it are loaded again.
        let is_in_order = !has_members
            && records
                .iter()
                .any(|record| record.unit_key == unit.key && is_ordered(record));
        if is_in_order && need.is_order() {
            continue;
        }
        let item = WorkItem::whole((flow_index, unit_index), unit);
        let additions = need.additions(&run.plan, flow, unit, &refused);
        load_in_file_order(context, &item, &additions, result)?;
    }
    Ok(())
}

/// Notes the numbers of members that others have added, so that rows that are loaded after this have them already. Otherwise the
/// switch would update the staged rows, and they would not keep their places.
async fn find_existing_members(context: &Context<'_>, flow: &FlowPlan) -> Result<(), Error> {
    let run = context.run;
    let doing = "looking for the members of lookups";
    let transaction = Transaction::begin(&run.control, doing).await?;
    run.ledger.hold_fence(&run.control, &run.fence).await?;
    let reserved = run.ledger.members_table();
    let number = run.fence.run_id.number().to_string();
    for members in &flow.members {
        let statement = members.reference.find_existing(&reserved, &number);
        run.control.execute(&statement, doing).await?;
    }
    transaction.commit(doing).await?;
    for members in &flow.members {
        members.members.forget();
    }
    Ok(())
}

/// Loads a unit once more, in the order of its files, into a staging table with additional constraints.
fn load_in_file_order(
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
async fn forget(context: &Context<'_>, session: &Session, unit: &LoadUnit) -> Result<(), Error> {
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
