//! Units whose rows are routed: their staging tables are partitioned like the target.

use super::routing::{self, RoutePlan, statements};
use super::units::UnitPlanner;
use super::{NewUnit, UnitStatements};
use crate::plan::failure::PlanFailure;

/// Plans partitioned staging tables for units, and gives them the keys that have a partition.
pub async fn route(
    planner: &UnitPlanner<'_>,
    route: &RoutePlan,
    units: Vec<NewUnit>,
) -> Result<Vec<NewUnit>, PlanFailure> {
    let target = planner.target;
    let set = routing::key_set(
        planner.request.session,
        &target.sql,
        route,
        target.facts.as_ref(),
        planner.columns.key_of_new_partitions(),
        &planner.columns.read.columns,
    )
    .await?;
    let routed = units.into_iter().map(|unit| {
        let mut unit = routed(planner, route, unit);
        unit.load.key_set = set.clone();
        unit
    });
    Ok(routed.collect())
}

fn routed(planner: &UnitPlanner<'_>, route: &RoutePlan, unit: NewUnit) -> NewUnit {
    let schema = planner.staging_schema();
    let root = unit.load.staging_table.as_str();
    let is_copied = route.new_partitions().next().is_none();
    let numbering = planner.unfilled(root, is_copied);
    // COPY into a partitioned table refuses FREEZE.
    let copy = planner.copy(schema, root, false);
    let statements = UnitStatements {
        create: statements::create(schema, root, &planner.publishing.model, route, numbering),
        ready: statements::ready(
            schema,
            root,
            route,
            planner.target.facts.as_ref(),
            &planner.publishing.new_indexes,
        ),
        copy_shared: copy.clone(),
        copy_alone: copy,
        ..unit.statements
    };
    NewUnit {
        load: unit.load,
        statements,
    }
}
