//! The switch of a routed unit: its new partitions are attached, and its other rows are copied
//! into the partitions that the target has.

use super::careful::CarefulRows;
use super::error::SwitchError;
use super::run::{SwitchTask, copy_rows, metadata};
use super::search_path;
use super::tasks::TargetTask;
use crate::destination::postgres::quote::qualified;
use crate::destination::postgres::staging::Upper;
use crate::destination::postgres::{Session, catalog};
use crate::package::Mode;
use crate::plan::routing::{Becomes, RoutePlan, statements};
use crate::plan::switch_statements::{SwitchStep, UnitTask, expression};
use crate::plan::units::PartitionNames;

/// Switches a routed flow, and returns what was done: a task for each partition that was made.
pub async fn publish(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &TargetTask,
    route: &RoutePlan,
    careful: &mut impl CarefulRows,
) -> Result<TargetTask, SwitchError> {
    let flow = &task.plan.flows[target.flow];
    let name = flow.target();
    let doing = format!("switching {name}");
    if !route.is_new {
        lock(session, task, target, route).await?;
    }
    let route = &named(session, &flow.schema, &flow.table, route).await?;
    let schema = &task.plan.settings.staging_schema;
    let mut done = target.clone();
    done.units.clear();
    for unit in &target.units {
        for step in statements::switch(flow, route, schema, &unit.staging_table) {
            match step {
                SwitchStep::Metadata(sql) => metadata(session, target.flow, &sql, &doing).await?,
                SwitchStep::CopyRows(statement) => {
                    let expected = if route.new_partitions().next().is_none() {
                        target.rows
                    } else {
                        count(session, schema, &unit.staging_table, &doing).await?
                    };
                    search_path::of_users(session, &doing).await?;
                    let rows = if careful.wants(target.flow) && route.only_copies_rows() {
                        careful
                            .copy(session, target.flow, &unit.staging_table, &statement)
                            .await?
                    } else {
                        copy_rows(session, target.flow, &statement.all(), &doing).await?
                    };
                    rows.hold_against(&name, expected)?;
                    search_path::our_own(session, &doing).await?;
                }
            }
        }
        done.units.extend(made(route, unit));
    }
    Ok(done)
}

/// Takes the target's lock first: what ATTACH takes, or what keeps other writers out of a target
/// that must be empty.
async fn lock(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &TargetTask,
    route: &RoutePlan,
) -> Result<(), SwitchError> {
    let name = task.plan.flows[target.flow].target();
    let doing = format!("switching {name}");
    let is_create = task.plan.flows[target.flow].mode == Mode::Create;
    let mode = if is_create {
        "SHARE ROW EXCLUSIVE"
    } else if route.new_partitions().next().is_some() {
        "SHARE UPDATE EXCLUSIVE"
    } else {
        "ROW EXCLUSIVE"
    };
    session
        .execute(&format!("LOCK TABLE ONLY {name} IN {mode} MODE"), &doing)
        .await?;
    if is_create && catalog::has_rows(session, &name, &doing).await? {
        return Err(SwitchError::Filled { target: name });
    }
    Ok(())
}

/// Other names for partitions whose names somebody took since the plan was made.
async fn named(
    session: &Session,
    schema: &str,
    table: &str,
    route: &RoutePlan,
) -> Result<RoutePlan, SwitchError> {
    let mut route = route.clone();
    if route.new_partitions().next().is_none() {
        return Ok(route);
    }
    let taken = catalog::relation_names(session, schema, None).await?;
    let given = route.new_partitions().map(|(_, name, _)| name.to_owned());
    let either = taken.iter().cloned().chain(given).collect();
    let mut names = PartitionNames::new(table, &either);
    for node in &mut route.nodes {
        if let Becomes::New { name, .. } = &mut node.becomes
            && taken.contains(name)
        {
            *name = names.take();
        }
    }
    Ok(route)
}

/// The rows that are left in the staging table once new partitions are detached from it.
async fn count(
    session: &Session,
    schema: &str,
    table: &str,
    doing: &str,
) -> Result<u64, SwitchError> {
    let sql = format!("SELECT count(*) FROM {}", qualified(schema, table));
    let rows = session.query(&sql, &[], doing).await?;
    Ok(rows[0].get::<_, i64>(0) as u64)
}

/// The partitions that were made, for the report.
fn made<'a>(route: &'a RoutePlan, unit: &'a UnitTask) -> impl Iterator<Item = UnitTask> + 'a {
    route.new_partitions().map(move |(node, name, bounds)| {
        let upper = bounds.upper.as_ref().map(|upper| match upper {
            Upper::Exclusive(value) | Upper::Inclusive(value) => expression(value),
        });
        UnitTask {
            key: unit.key.clone(),
            staging_table: statements::staging_name(&unit.staging_table, node),
            partition_name: Some(name.to_owned()),
            lower: bounds.lower.as_deref().map(expression),
            upper,
            attached: true,
        }
    })
}
