//! The switch of a routed unit: its new partitions are attached, and its other rows are copied into the existing
//! partitions of the target.

use std::collections::BTreeSet;

use inrush_pgclient::foreign_sql::{BoundValues, bound_values};

use super::careful::CarefulRows;
use super::error::SwitchError;
use super::run::{SwitchTask, metadata};
use super::target_copy::TargetCopy;
use super::tasks::TargetTask;
use crate::plan::partition_names::PartitionNames;
use crate::plan::routing::{Becomes, RouteNode, RoutePlan, statements};
use crate::plan::switch_statements::{SwitchStep, UnitTask, declared};
use crate::quote::qualified;
use crate::{Session, catalog, row_numbers};

/// Switches a routed flow, and returns the tasks: one for each new partition.
pub async fn publish(
    session: &Session,
    task: &SwitchTask<'_>,
    target: &TargetTask,
    later: &[usize],
    route: &RoutePlan,
    careful: &mut impl CarefulRows,
) -> Result<TargetTask, SwitchError> {
    let flow = &task.plan.flows[target.flow];
    let name = flow.target();
    let doing = format!("switching {name}");
    let route = &named(session, &flow.schema, &flow.table, route).await?;
    let schema = &task.plan.settings.staging_schema;
    let mut done = target.clone();
    done.units.clear();
    let new_partitions = route.new_partitions();
    done.new_partitions = new_partitions.map(|(_, name)| name.to_owned()).collect();
    let target_copy = TargetCopy::new(session, task, target.flow, later);
    for unit in &target.units {
        let staging = &unit.staging_table;
        let has_numbers = has_numbers(session, schema, staging, &doing).await?;
        for step in statements::switch(flow, route, schema, staging, has_numbers) {
            match step {
                SwitchStep::Metadata(sql) => metadata(session, target.flow, &sql, &doing).await?,
                SwitchStep::CopyRows(statement) => {
                    let expected = if route.new_partitions().next().is_none() {
                        target.rows
                    } else {
                        count(session, schema, &unit.staging_table, &doing).await?
                    };
                    target_copy
                        .copy(careful, &unit.staging_table, &statement, expected)
                        .await?;
                }
            }
        }
        done.units.extend(made(route, unit));
    }
    Ok(done)
}

/// True if the staging table has a column of row numbers: this attempt or an earlier one loaded it carefully.
async fn has_numbers(
    session: &Session,
    schema: &str,
    table: &str,
    doing: &str,
) -> Result<bool, SwitchError> {
    let sql = "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = $1::text::regclass \
         AND attname = $2 AND NOT attisdropped)";
    let table = qualified(schema, table);
    let rows = session
        .query(sql, &[&table, &row_numbers::COLUMN], doing)
        .await?;
    Ok(rows[0].get(0))
}

/// Other names for partitions whose names were taken since the plan was made.
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
    let given = route.new_partitions().map(|(_, name)| name.to_owned());
    let either = taken.iter().cloned().chain(given).collect();
    let mut names = PartitionNames::new(table, &either);
    rename_taken(&mut route.nodes, &taken, &mut names);
    Ok(route)
}

fn rename_taken(nodes: &mut [RouteNode], taken: &BTreeSet<String>, names: &mut PartitionNames<'_>) {
    for node in nodes {
        if let Becomes::New { name, .. } | Becomes::Copied { name } = &mut node.becomes
            && taken.contains(name)
        {
            *name = names.take();
        }
        rename_taken(&mut node.nodes, taken, names);
    }
}

/// The number of rows that are left in the staging table after new partitions were detached from it.
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

/// One end of a bound that has a single value, as an SQL expression. The inner `None` means that this end is unbounded.
fn end(values: Vec<String>) -> Option<Option<String>> {
    let [value] = <[String; 1]>::try_from(values).ok()?;
    let is_bounded = !matches!(value.as_str(), "MINVALUE" | "MAXVALUE");
    Some(is_bounded.then_some(value))
}

/// The new partitions that are ranges of one column, for the report.
fn made<'a>(route: &'a RoutePlan, unit: &'a UnitTask) -> impl Iterator<Item = UnitTask> + 'a {
    route.new_partitions().filter_map(move |(node, name)| {
        let bounds = match &node.becomes {
            Becomes::New { bounds, .. } => declared(bounds),
            _ => match bound_values(&node.bound)? {
                BoundValues::Range(lower, upper) => (end(lower)?, end(upper)?),
                _ => return None,
            },
        };
        let made = UnitTask {
            key: unit.key.clone(),
            staging_table: statements::staging_name(&unit.staging_table, node),
            partition_name: Some(name.to_owned()),
            ..unit.clone()
        };
        Some(made.attached(bounds))
    })
}
