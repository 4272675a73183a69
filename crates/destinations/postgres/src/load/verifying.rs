//! Before the COMMIT of a unit: what the database makes of its rows against what we have made.

use inrush_package::Verify;
use inrush_verdict::Phase;

use crate::engine::error::Error;
use crate::engine::ledger::ShardRecord;
use crate::engine::verify::VerifyError;
use crate::plan::{FlowPlan, Plan, UnitPlan};
use crate::quote::qualified;
use crate::{Session, verify};

/// Compares a unit whose rows are all in; `shards` are all of its own.
pub async fn check(
    session: &Session,
    plan: &Plan,
    flow: &FlowPlan,
    unit: &UnitPlan,
    shards: impl Iterator<Item = &ShardRecord>,
) -> Result<(), Error> {
    let Some(statement) = &unit.verify else {
        return Ok(());
    };
    let table = qualified(&plan.settings.staging_schema, &unit.staging_table);
    let sent = flow
        .verify
        .total(shards.map(|shard| shard.tally.as_deref()))
        .ok_or_else(|| VerifyError::NoTally {
            table: table.clone(),
        })?;
    let doing = format!("verifying the rows of {table}");
    let waiting = session.gauge.enter(Phase::VerifyWait);
    let answer = ask(session, statement, &doing).await?;
    drop(waiting);
    let differences = flow.comparison.differences(&sent, &answer);
    if differences.is_empty() {
        return Ok(());
    }
    if flow.comparison.level == Verify::Rows {
        let by_column = ask(
            session,
            &verify::by_column(&flow.comparison, &table),
            &doing,
        )
        .await?;
        return Err(VerifyError::Rows {
            columns: flow.comparison.column_differences(&sent, &by_column),
            rows: differences,
            table,
        }
        .into());
    }
    Err(VerifyError::Sums { table, differences }.into())
}

async fn ask(session: &Session, statement: &str, doing: &str) -> Result<Vec<String>, Error> {
    let rows = session.query(statement, &[], doing).await?;
    Ok(rows[0].get(0))
}
