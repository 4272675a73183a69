//! The units of a stopped attempt in the ledger: rows that are taken out of them, and units that are dropped.

use std::collections::{BTreeMap, BTreeSet};

use inrush_plan::LoadFlow;
use inrush_plan::identity::causes::possible_changes;
use inrush_rows::ids::{FileKey, RunId, UnitKey};
use inrush_rows::plural::counted;

use crate::Session;
use crate::ledger::{Ledger, UnitRow};
use crate::load_error::LoadError;
use crate::plan::{Plan, PlanFailure};
use crate::quote::qualified;
use crate::transaction::Transaction;

/// Removes the rows of changed inputs from the staging table of a unit that several streams fill, and the splits of
/// these inputs from the ledger. Each split was committed in one transaction with its row in the ledger, so the split's
/// rows have the same `xmin` as its row in the ledger. Returns false, and changes nothing, if the
/// number of removed rows is not the number of rows that the ledger has for these splits.
pub async fn take_out(
    control: &Session,
    ledger: &Ledger,
    run_id: RunId,
    unit: &UnitRow,
    changed: &BTreeSet<FileKey>,
    lock_timeout_ms: u32,
) -> Result<bool, PlanFailure> {
    let doing = "removing changed rows from a staging table";
    let transaction = Transaction::begin(control, doing).await?;
    let patience = format!("SET LOCAL lock_timeout = {lock_timeout_ms}");
    control.execute(&patience, doing).await?;
    let files: Vec<&str> = changed.iter().map(FileKey::as_str).collect();
    let table = qualified(&unit.staging_schema, &unit.staging_table);
    let is_exact = ledger
        .take_out(control, run_id, &unit.unit_key, &files, &table)
        .await?;
    match is_exact {
        true => transaction.commit(doing).await?,
        false => transaction.roll_back(doing).await?,
    }
    Ok(is_exact)
}

/// Drops the staging tables of units, and removes the units from the ledger.
pub async fn drop_units(
    control: &Session,
    ledger: &Ledger,
    run_id: RunId,
    units: &[UnitRow],
    lock_timeout_ms: u32,
) -> Result<(), LoadError> {
    if units.is_empty() {
        return Ok(());
    }
    let doing = "dropping units that the plan has no use for";
    let transaction = Transaction::begin(control, doing).await?;
    // Another session may read such a table for a long time.
    let patience = format!("SET LOCAL lock_timeout = {lock_timeout_ms}");
    control.execute(&patience, doing).await?;
    // Another table that has the name of a unit's table must not be dropped.
    for unit in units.iter().filter(|unit| unit.stands && !unit.straight) {
        let table = qualified(&unit.staging_schema, &unit.staging_table);
        control
            .execute(&format!("DROP TABLE IF EXISTS {table}"), doing)
            .await?;
    }
    let keys: Vec<UnitKey> = units.iter().map(|unit| unit.unit_key.clone()).collect();
    ledger.forget_units(control, run_id, &keys).await?;
    Ok(transaction.commit(doing).await?)
}

/// A unit that several streams have begun stays shared even if one stream resumes it: its table is committed, and it
/// has ranges and reject files for each of its splits. Only a careful load by one stream makes it private again.
pub fn keep_shared(
    plan: &mut Plan,
    units_kept: &BTreeMap<UnitKey, UnitRow>,
) -> Result<(), PlanFailure> {
    for flow in &mut plan.flows {
        let LoadFlow { reading, units, .. } = &mut **flow;
        for unit in units.iter_mut().filter(|unit| !unit.is_shared) {
            if let Some(kept) = units_kept.get(&unit.key)
                && kept.shared
                && !kept.careful
            {
                unit.share(&*reading.source)?;
            }
        }
    }
    Ok(())
}

/// Notes the units of a stopped attempt that are loaded again.
pub fn note_dropped(plan: &mut Plan) {
    let dropped = plan.earlier.work().map_or(0, |work| work.dropped);
    if dropped > 0 {
        let readings = plan.flows.iter().map(|flow| &flow.reading);
        let note = format!(
            "loaded again: {} of the stopped attempt, because one of these has changed since: its files, {}",
            counted(dropped as u64, "unit"),
            possible_changes(readings)
        );
        plan.notes.push(note);
    }
}
