//! The statements of a routed unit: its staging tables, and how they become part of the target.

use super::route::{RouteNode, RoutePlan};
use crate::destination::postgres::catalog::TargetFacts;
use crate::destination::postgres::quote::{identifier, qualified};
use crate::destination::postgres::staging::{self, BOUNDS_CHECK, Model, UnitBounds, Upper};
use crate::plan::switch_statements::{SwitchStep, expression};
use crate::plan::{FlowPlan, switch_statements};

/// What a partition takes, as SQL says it.
pub fn bound(bounds: &UnitBounds) -> String {
    let end = |value: Option<&String>, unbounded: &str| {
        value.map_or_else(|| unbounded.to_owned(), |value| expression(value))
    };
    let upper = bounds.upper.as_ref().map(|upper| match upper {
        Upper::Exclusive(value) | Upper::Inclusive(value) => value,
    });
    format!(
        "FOR VALUES FROM ({}) TO ({})",
        end(bounds.lower.as_ref(), "MINVALUE"),
        end(upper, "MAXVALUE")
    )
}

/// The name of a partition of a staging table.
pub fn staging_name(root: &str, node: &RouteNode) -> String {
    format!("{root}_{}", node.number)
}

/// The statements that make the staging table and its partitions.
pub fn create(
    schema: &str,
    root: &str,
    model: &Model,
    route: &RoutePlan,
    unfilled_identity: &[&str],
) -> Vec<String> {
    let mut statements = staging::create_staging(schema, root, model, None);
    if let Some(first) = statements.first_mut() {
        first.push_str(&format!(" PARTITION BY {}", route.partition_by));
    }
    // Before the partitions are made, which take it from there.
    statements.extend(
        unfilled_identity
            .iter()
            .map(|column| staging::allow_null(schema, root, column)),
    );
    create_below(schema, root, root, &route.nodes, route, &mut statements);
    statements
}

fn create_below(
    schema: &str,
    root: &str,
    parent: &str,
    nodes: &[RouteNode],
    route: &RoutePlan,
    statements: &mut Vec<String>,
) {
    for node in nodes {
        let name = staging_name(root, node);
        let own_key = node.partition_by.as_ref();
        let partition_by = own_key.map_or_else(String::new, |key| format!(" PARTITION BY {key}"));
        statements.push(format!(
            "CREATE TABLE {} PARTITION OF {} {}{partition_by}",
            qualified(schema, &name),
            qualified(schema, parent),
            node.bound
        ));
        for constraint in &node.constraints {
            statements.push(format!(
                "ALTER TABLE {} {constraint}",
                qualified(schema, &name)
            ));
        }
        // It proves the bound to ATTACH. What becomes the target as a whole is not attached.
        if let (super::route::Becomes::New { bounds, .. }, false) = (&node.becomes, route.is_new) {
            statements.push(staging::add_bounds_check(schema, &name, bounds));
        }
        create_below(schema, root, &name, &node.nodes, route, statements);
    }
}

/// What new partitions of a target that exists need before they are attached: its indexes.
pub fn ready(
    schema: &str,
    root: &str,
    route: &RoutePlan,
    facts: Option<&TargetFacts>,
) -> Vec<String> {
    let Some(facts) = facts else {
        return Vec::new();
    };
    route
        .new_partitions()
        .flat_map(|(node, ..)| staging::build_indexes(schema, &staging_name(root, node), facts))
        .collect()
}

/// The steps of the switch, where the staging table is `root`. `with_rows` tells whether there is
/// a row to copy.
pub fn switch(
    flow: &FlowPlan,
    route: &RoutePlan,
    staging_schema: &str,
    root: &str,
) -> Vec<SwitchStep> {
    use SwitchStep::{CopyRows, Metadata};
    let staging = qualified(staging_schema, root);
    let target = flow.target();
    let mut steps = Vec::new();
    if route.is_new {
        steps.extend(switch_statements::moved(
            &staging,
            &flow.schema,
            root,
            &flow.table,
        ));
        for (node, name, _) in route.new_partitions() {
            let own = staging_name(root, node);
            let from = qualified(staging_schema, &own);
            steps.extend(switch_statements::moved(&from, &flow.schema, &own, name));
        }
        return steps;
    }
    for (node, name, _) in route.new_partitions() {
        let own = staging_name(root, node);
        let from = qualified(staging_schema, &own);
        let partition = qualified(&flow.schema, name);
        steps.push(Metadata(format!(
            "ALTER TABLE {staging} DETACH PARTITION {from}"
        )));
        steps.extend(switch_statements::moved(&from, &flow.schema, &own, name));
        if let Some(facts) = &flow.facts {
            steps.push(Metadata(format!(
                "ALTER TABLE {partition} OWNER TO {}",
                identifier(&facts.owner)
            )));
        }
        steps.push(Metadata(format!(
            "ALTER TABLE {target} ATTACH PARTITION {partition} {}",
            node.bound
        )));
        steps.push(Metadata(format!(
            "ALTER TABLE {partition} DROP CONSTRAINT {}",
            identifier(BOUNDS_CHECK)
        )));
    }
    if route.copies_rows() {
        let columns: Vec<String> = flow
            .columns
            .iter()
            .map(|column| identifier(&column.name))
            .collect();
        let columns = columns.join(", ");
        steps.push(CopyRows(format!(
            "INSERT INTO {target} ({columns}) OVERRIDING SYSTEM VALUE SELECT {columns} FROM \
             {staging}"
        )));
    }
    steps.push(Metadata(format!("DROP TABLE {staging}")));
    steps
}
