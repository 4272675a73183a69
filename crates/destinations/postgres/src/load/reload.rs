//! Prepares to load committed units again, because a target refused one of their rows at the switch.

use std::collections::BTreeMap;
use std::sync::Arc;

use inrush_destination::{ReloadedUnits, Result};
use inrush_plan::UnitPlace;
use inrush_rows::ids::UnitKey;

use super::careful::{Need, RefusedStaged};
use super::prepared::PostgresRun;
use super::switching::SwitchRefusal;
use crate::Session;
use crate::ledger::UnitRow;
use crate::load_error::LoadError;
use crate::plan::FlowPlan;
use crate::plan::additions::Additions;
use crate::plan::switch_steps::lock_timeout;
use crate::quote::qualified;
use crate::transaction::Transaction;

/// What the units of a flow need to be loaded again.
pub struct Reload {
    need: Need,
    /// The staged rows that their own targets do not accept.
    refused: RefusedStaged,
}

/// Called after a target has refused a row of a flow. The units of the flow must have their rows in the order of the
/// files, so that each row can be found in its file, and so that the first of several duplicates is kept. A unit that
/// several streams have filled is loaded again by one stream. If more than the order is needed, all units are loaded
/// again.
pub fn prepare(run: &PostgresRun, flow_index: usize) -> Result<ReloadedUnits> {
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
            return Ok::<_, LoadError>(None);
        };
        need.prepare(control, &run.plan).await?;
        if has_members {
            find_existing_members(run, flow).await?;
        }
        let records = run.ledger.units(control, run.fence.run_id).await?;
        Ok(Some((need, records)))
    };
    let Some((need, records)) = run.answer(preparing)? else {
        return Err(refusal.into());
    };
    let records: BTreeMap<&UnitKey, &UnitRow> = records
        .iter()
        .map(|record| (&record.unit_key, record))
        .collect();
    // Others may have added a member meanwhile. Then the rows of this run that have another number for it are loaded
    // again.
    let is_in_order = |key: &UnitKey| {
        let record = records.get(key);
        !has_members && record.is_some_and(|record| record.careful || !record.shared)
    };
    let keys = flow.units.iter().map(|unit| &unit.key);
    let again = keys.filter(|key| !need.is_order() || !is_in_order(key));
    let again = again.cloned().collect();
    run.switching().reload = Some(Arc::new(Reload { need, refused }));
    Ok(ReloadedUnits::Replaced(again))
}

/// Records the numbers of members that others have added, so that the rows that are loaded next have these numbers
/// already. Otherwise the switch would update the staged rows, and these would not keep their positions.
async fn find_existing_members(
    run: &PostgresRun,
    flow: &FlowPlan,
) -> std::result::Result<(), LoadError> {
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

impl Reload {
    /// Prepares to load a unit once more, in the order of its files. Returns the additional constraints that its
    /// staging table gets. If there are any, the unit is first removed from the ledger.
    pub async fn begin(
        &self,
        run: &PostgresRun,
        session: &Session,
        place: UnitPlace,
    ) -> std::result::Result<Additions, LoadError> {
        let (flow, unit) = run.unit_plan(place);
        let additions = self.need.additions(&run.plan, flow, unit, &self.refused);
        if !additions.is_empty() {
            forget(run, session, place).await?;
        }
        Ok(additions)
    }
}

/// Removes a unit from the ledger. Its rejects will be written again, into the same files if one stream has loaded it
/// before. A run that is stopped meanwhile loads the unit as if it had never been loaded.
async fn forget(
    run: &PostgresRun,
    session: &Session,
    place: UnitPlace,
) -> std::result::Result<(), LoadError> {
    let (_, unit) = run.unit_plan(place);
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
