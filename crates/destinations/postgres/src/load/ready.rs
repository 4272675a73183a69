//! Prepares a filled unit for its COMMIT: its row in the ledger, and the CHECK of its keys.

use crate::ledger::UnitRow;
use crate::plan::{FlowPlan, Plan, UnitPlan};
use crate::staging::{self, UnitBounds, Upper};
use crate::unit_transaction::UnitMeasure;
use crate::{PostgresError, Session};

/// A unit's row for the ledger.
pub fn record(
    plan: &Plan,
    flow: &FlowPlan,
    unit: UnitPlan<'_>,
    measured: Option<&UnitMeasure>,
    finished: bool,
) -> UnitRow {
    UnitRow {
        unit_key: unit.key.clone(),
        flow: flow.name.clone(),
        target: flow.target(),
        staging_schema: plan.settings.staging_schema.clone(),
        staging_table: unit.staging_table.clone(),
        shared: unit.is_shared,
        straight: flow.is_straight(),
        finished,
        careful: false,
        rows_counted: measured.map(|measured| measured.rows as i64),
        key_smallest: measured.and_then(|measured| measured.key_smallest.clone()),
        key_largest: measured.and_then(|measured| measured.key_largest.clone()),
        stands: true,
        files: None,
        rewritten: false,
    }
}

/// Adds the CHECK of the keys that were found in a staging table, so that ATTACH needs no scan.
pub async fn check_keys(
    session: &Session,
    plan: &Plan,
    flow: &FlowPlan,
    unit: UnitPlan<'_>,
    measured: &UnitMeasure,
) -> Result<(), PostgresError> {
    let (Some(key), None) = (&flow.key, &unit.statements.bounds) else {
        return Ok(());
    };
    if measured.rows == 0 {
        return Ok(());
    }
    let bounds = UnitBounds {
        key: key.column.clone(),
        type_sql: key.type_sql.clone(),
        lower: measured.key_smallest.clone(),
        upper: measured.key_largest.clone().map(Upper::Inclusive),
    };
    let check =
        staging::add_bounds_check(&plan.settings.staging_schema, &unit.staging_table, &bounds);
    let doing = format!("making a unit of {} ready for the switch", flow.target());
    session.execute(&check, &doing).await
}
