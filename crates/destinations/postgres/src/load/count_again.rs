//! Before the switch: counts again the units whose rows somebody could have changed since their COMMIT, and compares
//! the counts with the numbers of rows sent.
//!
//! A unit is first counted, and verified, in its own transaction. Two kinds of units are checked again here, by as many
//! sessions as there are streams: units that an earlier attempt has committed, minutes or days ago; and units whose
//! table has other files on the server since, because it was emptied or rewritten.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::try_join_all;
use inrush_plan::verify::VerifyError;
use inrush_rows::ids::UnitKey;

use super::prepared::PostgresRun;
use super::verifying;
use crate::Session;
use crate::ledger::UnitRow;
use crate::load_error::LoadError;
use crate::plan::{FlowPlan, UnitPlan};
use crate::quote::qualified;

/// A unit of the plan, with its row in the ledger.
struct Unit<'a> {
    flow: &'a FlowPlan,
    plan: UnitPlan<'a>,
    record: &'a UnitRow,
}

/// Checks again the units that need it.
pub async fn units(run: &PostgresRun, records: &[UnitRow]) -> Result<(), LoadError> {
    let records: BTreeMap<&UnitKey, &UnitRow> = records
        .iter()
        .map(|record| (&record.unit_key, record))
        .collect();
    let mut open = Vec::new();
    for (flow_at, flow) in run.plan.flows.iter().enumerate() {
        for (unit_at, plan) in flow.unit_plans().enumerate() {
            let Some(record) = records.get(&plan.key).copied() else {
                continue;
            };
            refuse_gone(record)?;
            let is_kept = run.kept().get(&(flow_at, unit_at)) == Some(&true);
            if !record.straight && (is_kept || record.rewritten) {
                open.push(Unit { flow, plan, record });
            }
        }
    }
    if open.is_empty() {
        return Ok(());
    }
    let next = AtomicUsize::new(0);
    let sessions = run.plan.streams.min(open.len());
    let looking = (1..=sessions).map(|number| look(run, number, &open, &next));
    let looked = run.stop.unless_asked(try_join_all(looking)).await;
    looked.ok_or(LoadError::Interrupted)?.map(|_| ())
}

/// Fails if a unit's rows are not in the table that it began with.
pub fn refuse_gone(record: &UnitRow) -> Result<(), VerifyError> {
    if record.stands {
        return Ok(());
    }
    Err(match record.straight {
        true => VerifyError::TargetReplaced {
            target: record.target.clone(),
        },
        false => VerifyError::StagingGone {
            table: qualified(&record.staging_schema, &record.staging_table),
        },
    })
}

async fn look(
    run: &PostgresRun,
    number: usize,
    units: &[Unit<'_>],
    next: &AtomicUsize,
) -> Result<(), LoadError> {
    let name = format!("inrush {} check {number}", run.record.name);
    let session = Session::open(&run.address, &name).await?;
    while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
        check(run, &session, unit).await?;
    }
    session.close().await;
    Ok(())
}

async fn check(run: &PostgresRun, session: &Session, unit: &Unit<'_>) -> Result<(), LoadError> {
    let Unit { flow, plan, record } = unit;
    let table = qualified(&record.staging_schema, &record.staging_table);
    let sql = format!("SELECT count(*) FROM {table}");
    let doing = format!("counting the rows of {table} again");
    let rows = session.query(&sql, &[], &doing).await?;
    let counted = rows[0].get::<_, i64>(0) as u64;
    let sent = record.rows_counted.unwrap_or_default() as u64;
    if counted != sent {
        return Err(LoadError::Count {
            what: format!(
                "staging table {table} of unit {} of {}, which was committed before",
                plan.number,
                flow.target()
            ),
            counted,
            sent,
        });
    }
    if plan.statements.verify.is_none() {
        return Ok(());
    }
    let (sums, _) = verifying::sums_in_ledger(session, run, flow, *plan, |_| false).await?;
    verifying::check(session, &run.plan, flow, *plan, sums.as_deref()).await
}
