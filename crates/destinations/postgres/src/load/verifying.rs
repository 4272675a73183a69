//! Before the COMMIT of a unit: compares the database's sums over the unit's rows with the loader's sums.

use inrush_destination::SplitRecord;
use inrush_destination::sums::ExactSum;
use inrush_package::Verify;
use inrush_plan::verify::VerifyError;
use inrush_verdict::Phase;

use super::prepared::PostgresRun;
use crate::ledger::LedgerError;
use crate::load_error::LoadError;
use crate::plan::{FlowPlan, Plan, UnitPlan};
use crate::quote::qualified;
use crate::{PostgresError, Session, verify};

/// Compares a unit whose rows are all loaded. `sent` are the sums of all rows that were sent; `None` if a split
/// has none.
pub async fn check(
    session: &Session,
    plan: &Plan,
    flow: &FlowPlan,
    unit: UnitPlan<'_>,
    sent: Option<&[ExactSum]>,
) -> Result<(), LoadError> {
    let Some(statement) = &unit.statements.verify else {
        return Ok(());
    };
    let table = qualified(&plan.settings.staging_schema, &unit.staging_table);
    let sent = sent.ok_or_else(|| VerifyError::NoTally {
        table: table.clone(),
    })?;
    let doing = format!("verifying the rows of {table}");
    let waiting = session.meter.enter(Phase::VerifyWait);
    let answer = ask(session, statement, &doing).await?;
    drop(waiting);
    let differences = flow.comparison.differences(sent, &answer);
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
            columns: flow.comparison.column_differences(sent, &by_column),
            rows: differences,
            table,
        }
        .into());
    }
    Err(VerifyError::Sums { table, differences }.into())
}

/// The sums of all rows that were sent into a unit, from its splits in the ledger; `None` if one of them has none. Also
/// returns the splits that `is_kept` accepts.
pub async fn sums_in_ledger(
    session: &Session,
    run: &PostgresRun,
    flow: &FlowPlan,
    unit: UnitPlan<'_>,
    is_kept: impl Fn(&SplitRecord) -> bool,
) -> Result<(Option<Vec<ExactSum>>, Vec<SplitRecord>), LedgerError> {
    let mut kept = Vec::new();
    let mut sums = unit
        .statements
        .verify
        .is_some()
        .then(|| flow.verify.no_sums());
    let see = |split: SplitRecord| {
        let tally = split.tally.as_deref();
        sums.take_if(|sums| !flow.verify.add(sums, tally));
        if is_kept(&split) {
            kept.push(split);
        }
    };
    let run_id = run.fence.run_id;
    run.ledger
        .each_split(session, run_id, Some(&unit.key), see)
        .await?;
    Ok((sums, kept))
}

async fn ask(
    session: &Session,
    statement: &str,
    doing: &str,
) -> Result<Vec<String>, PostgresError> {
    let rows = session.query(statement, &[], doing).await?;
    Ok(rows[0].get(0))
}
