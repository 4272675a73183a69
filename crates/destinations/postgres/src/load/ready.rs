//! Makes a filled unit ready for its COMMIT, whether one stream filled it or several.

use crate::ledger::UnitRow;
use crate::plan::{FlowPlan, Plan, UnitPlan, statistics};
use crate::staging::{self, UnitBounds, Upper};
use crate::unit_transaction::UnitMeasure;
use crate::{PostgresError, Session};

/// A unit for the ledger.
pub fn record(
    plan: &Plan,
    flow: &FlowPlan,
    unit: &UnitPlan,
    measured: Option<&UnitMeasure>,
    finished: bool,
) -> UnitRow {
    UnitRow {
        unit_key: unit.key.clone(),
        flow: flow.name.clone(),
        target: flow.target(),
        staging_schema: plan.settings.staging_schema.clone(),
        staging_table: unit.staging_table.clone(),
        shared: unit.shared,
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

/// What a filled staging table has already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// The CHECK of its bounds, where only the data told them.
    pub is_checked: bool,
    /// Its indexes.
    pub is_indexed: bool,
}

/// Adds what a filled staging table needs to be switched in without a scan: the CHECK of its
/// bounds, where only the data told them and it does not stand yet, its indexes and its statistics.
pub async fn make_ready(
    session: &Session,
    plan: &Plan,
    flow: &FlowPlan,
    unit: &UnitPlan,
    measured: &UnitMeasure,
    standing: Standing,
) -> Result<(), PostgresError> {
    let doing = format!("making a unit of {} ready for the switch", flow.target());
    let lacks_check = !standing.is_checked && unit.bounds.is_none() && measured.rows > 0;
    if let (Some(key), true) = (&flow.key, lacks_check) {
        let bounds = UnitBounds {
            key: key.column.clone(),
            type_sql: key.type_sql.clone(),
            lower: measured.key_smallest.clone(),
            upper: measured.key_largest.clone().map(Upper::Inclusive),
        };
        let check =
            staging::add_bounds_check(&plan.settings.staging_schema, &unit.staging_table, &bounds);
        session.execute(&check, &doing).await?;
    }
    let analyze = statistics::of_unit(plan, flow, unit);
    let indexes = match standing.is_indexed {
        true => &[][..],
        false => &unit.ready,
    };
    for statement in indexes.iter().chain(&analyze) {
        session.execute(statement, &doing).await?;
    }
    Ok(())
}
