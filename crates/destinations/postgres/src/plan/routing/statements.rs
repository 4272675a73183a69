//! The statements of a routed unit: its staging tables, and how they become part of the target.

use super::route::{RouteNode, RoutePlan};
use crate::catalog::TableFacts;
use crate::plan::FlowPlan;
use crate::plan::new_indexes::NewIndex;
use crate::plan::switch_statements::{self, SwitchStep, expression};
use crate::quote::{identifier, qualified};
use crate::row_numbers;
use crate::staging::{self, BOUNDS_CHECK, Model, Storage, UnitBounds, Upper};

/// The bound of a partition, as SQL writes it.
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

/// The statements that create the staging table and its partitions.
pub fn create(
    schema: &str,
    root: &str,
    model: &Model,
    route: &RoutePlan,
    numbering: Vec<String>,
) -> Vec<String> {
    // A parent stores nothing, and some servers do not accept storage options for it.
    let (model, storage) = match model {
        Model::Columns(_) => (model.clone(), Storage::default()),
        Model::Target {
            schema,
            name,
            storage,
        } => (
            Model::Target {
                schema: schema.clone(),
                name: name.clone(),
                storage: Storage::default(),
            },
            storage.clone(),
        ),
    };
    let mut statements = staging::create_staging(schema, root, &model, None);
    if let Some(first) = statements.first_mut() {
        first.push_str(&format!(" PARTITION BY {}", route.partition_by));
    }
    // The numbering comes first, because the partitions inherit it.
    statements.extend(numbering);
    let below = Below {
        schema,
        root,
        route,
        storage: &storage,
    };
    below.create(root, &route.nodes, &mut statements);
    statements
}

/// The common properties of a staging table's partitions.
struct Below<'a> {
    schema: &'a str,
    root: &'a str,
    route: &'a RoutePlan,
    storage: &'a Storage,
}

impl Below<'_> {
    fn create(&self, parent: &str, nodes: &[RouteNode], statements: &mut Vec<String>) {
        let Below {
            schema,
            root,
            route,
            storage,
        } = *self;
        for node in nodes {
            let name = staging_name(root, node);
            let rest = match &node.partition_by {
                Some(key) => format!(" PARTITION BY {key}"),
                None => storage.clauses(),
            };
            statements.push(format!(
                "CREATE TABLE {} PARTITION OF {} {}{rest}",
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
            // The CHECK proves the bound to ATTACH. A staging table that becomes the whole target is not attached.
            if let (super::route::Becomes::New { bounds, .. }, false) =
                (&node.becomes, route.is_new)
            {
                statements.push(staging::add_bounds_check(schema, &name, bounds));
            }
            self.create(&name, &node.nodes, statements);
        }
    }
}

/// The statements that build indexes before the switch. The new partitions of an existing target get its indexes, so
/// that ATTACH finds them. A new target gets its own indexes and those of its partitions.
pub fn ready(
    schema: &str,
    root: &str,
    route: &RoutePlan,
    facts: Option<&TableFacts>,
    new_indexes: &[NewIndex],
) -> Vec<String> {
    if let Some(facts) = facts {
        return route
            .new_partitions()
            .flat_map(|(node, _)| staging::build_indexes(schema, &staging_name(root, node), facts))
            .collect();
    }
    let build =
        |table: &str, index: &NewIndex| index.build(schema, table, &index.staging_name(root));
    let of_table = new_indexes.iter().map(|index| build(root, index));
    let of_partitions = route.all().into_iter().flat_map(|node| {
        let table = staging_name(root, node);
        node.indexes.iter().map(move |index| build(&table, index))
    });
    of_table.chain(of_partitions).collect()
}

/// The steps of the switch for the staging table `root`. It may have a column of row numbers, which no partition of the
/// target has.
pub fn switch(
    flow: &FlowPlan,
    route: &RoutePlan,
    staging_schema: &str,
    root: &str,
    has_numbers: bool,
) -> Vec<SwitchStep> {
    use SwitchStep::Metadata;
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
        steps.extend(switch_statements::grants(flow, &target));
        for (node, name) in route.new_partitions() {
            let own = staging_name(root, node);
            let from = qualified(staging_schema, &own);
            steps.extend(switch_statements::moved(&from, &flow.schema, &own, name));
            steps.extend(switch_statements::furnished(flow, name));
        }
        let of_partitions = route.all().into_iter().flat_map(|node| &node.indexes);
        let renamed = flow.new_indexes.iter().chain(of_partitions);
        steps.extend(renamed.map(|index| Metadata(index.rename(&flow.schema, root))));
        return steps;
    }
    for (node, name) in route.new_partitions() {
        let own = staging_name(root, node);
        let from = qualified(staging_schema, &own);
        let partition = qualified(&flow.schema, name);
        steps.push(Metadata(format!(
            "ALTER TABLE {staging} DETACH PARTITION {from}"
        )));
        if has_numbers {
            steps.push(Metadata(row_numbers::drop_from(&from)));
        }
        steps.extend(switch_statements::moved(&from, &flow.schema, &own, name));
        steps.extend(switch_statements::furnished(flow, name));
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
        let columns = switch_statements::names(&flow.columns);
        let copy = switch_statements::insert_rows(&target, &staging, columns);
        steps.push(SwitchStep::CopyRows(copy));
    }
    steps.push(Metadata(format!("DROP TABLE {staging}")));
    steps
}
