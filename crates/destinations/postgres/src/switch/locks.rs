//! The locks of the switch: their order, their modes, and the sessions that prevented a lock.

use inrush_package::Mode;
use inrush_plan::verify::VerifyError;

use super::error::SwitchError;
use super::run::SwitchTask;
use crate::ledger::UnitRow;
use crate::plan::{FlowPlan, switch_steps};
use crate::quote::qualified;
use crate::{Session, catalog};

/// Locks the staging tables against writers, and checks that they are the tables whose rows were verified: a table that
/// was dropped, emptied or rewritten since has other files.
pub(super) async fn hold_staging(
    session: &Session,
    task: &SwitchTask<'_>,
) -> Result<(), SwitchError> {
    let staged = task.verified.iter().filter(|unit| !unit.straight);
    let tables: Vec<String> = staged
        .map(|unit| qualified(&unit.staging_schema, &unit.staging_table))
        .collect();
    if !tables.is_empty() {
        let lock = format!("LOCK TABLE {} IN SHARE MODE", tables.join(", "));
        session.execute(&lock, "holding the staging tables").await?;
    }
    let found = task.ledger.units(session, task.fence.run_id).await?;
    for unit in task.verified {
        let is_same =
            |now: &UnitRow| now.unit_key == unit.unit_key && now.stands && now.files == unit.files;
        if !found.iter().any(is_same) {
            return Err(SwitchError::Verify(match unit.straight {
                true => VerifyError::TargetReplaced {
                    target: unit.target.clone(),
                },
                false => VerifyError::Rewritten {
                    table: qualified(&unit.staging_schema, &unit.staging_table),
                },
            }));
        }
    }
    Ok(())
}

/// Locks targets in a fixed order, by their names, so that two switches cannot wait for each other. If the switch fills
/// the targets in that order anyway, nothing is locked here: each target is locked before it gets its rows.
pub(super) async fn lock_by_name(
    session: &Session,
    task: &SwitchTask<'_>,
    order: &[usize],
) -> Result<(), SwitchError> {
    let flows = &task.plan.flows;
    if order.is_sorted_by_key(|flow| flows[*flow].target()) {
        return Ok(());
    }
    let mut by_name = order.to_vec();
    by_name.sort_by_key(|flow| flows[*flow].target());
    for flow in by_name {
        lock(session, &flows[flow]).await?;
    }
    Ok(())
}

/// Locks an existing target.
pub(super) async fn lock(session: &Session, flow: &FlowPlan) -> Result<(), SwitchError> {
    let Some(statement) = switch_steps::lock(flow) else {
        return Ok(());
    };
    let name = flow.target();
    let doing = format!("switching {name}");
    session.execute(&statement, &doing).await?;
    if flow.mode == Mode::Create && catalog::has_rows(session, &name, &doing).await? {
        return Err(SwitchError::Filled { target: name });
    }
    Ok(())
}

/// The sessions that hold locks on the targets.
pub(super) async fn blockers(
    session: &Session,
    task: &SwitchTask<'_>,
) -> Result<Option<String>, SwitchError> {
    let names: Vec<String> = task.plan.flows.iter().map(|flow| flow.target()).collect();
    let rows = session
        .query(
            "SELECT DISTINCT format('backend %s (%s, %s, %s): %s', a.pid, a.usename, \
                    coalesce(nullif(a.application_name, ''), '?'), a.state, left(a.query, 80)) \
             FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid \
             WHERE l.granted AND l.pid <> pg_backend_pid() AND l.locktype = 'relation' \
               AND l.relation = ANY (SELECT to_regclass(n)::oid FROM unnest($1::text[]) n) \
             ORDER BY 1 LIMIT 3",
            &[&names],
            "finding who holds the lock",
        )
        .await?;
    let found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    Ok((!found.is_empty()).then(|| found.join("; ")))
}
