//! Third stage of a flow's plan: the model of staging tables, and how units become part of the target.

use std::collections::BTreeSet;

use inrush_package::{Mode, ReplaceBy};

use super::flow_columns::FlowColumns;
use super::flow_request::FlowRequest;
use super::flow_target::{Arrival, FlowTarget};
use super::new_indexes::{IndexPlanner, NewIndex};
use super::partition_names::PartitionNames;
use super::versions::VersionsPlan;
use super::{NewPrimaryKey, Publish, routing, upsert};
use crate::catalog::{self, TableFacts};
use crate::default_grants::{self, DefaultGrant};
use crate::index_names::{self, IndexKind};
use crate::plan::failure::PlanFailure;
use crate::staging::{Model, Storage};

/// How units become part of the target.
pub struct Publishing {
    /// The method.
    pub publish: Publish,
    /// The model of the staging tables.
    pub model: Model,
    /// The grants that the schema's default privileges give on new tables in it.
    pub default_grants: Vec<DefaultGrant>,
    /// Relations of the target's schema, whose names are taken.
    pub taken: BTreeSet<String>,
    /// The indexes that a new target gets from the table that is read.
    pub new_indexes: Vec<NewIndex>,
}

impl Publishing {
    /// Decides how units become part of the target. Notes for the user are added to `notes`.
    pub async fn decide(
        request: &FlowRequest<'_>,
        target: &FlowTarget<'_>,
        columns: &FlowColumns,
        notes: &mut Vec<String>,
    ) -> Result<Publishing, PlanFailure> {
        let default_grants = default_grants::of_schema(request.session, target.schema).await?;
        let taken = catalog::relation_names(request.session, target.schema, None).await?;
        let mut planner = index_planner(request, target, columns, &taken).await?;
        let publish = match (request.flow.mode, target.arrival) {
            (Mode::Upsert, _) => merged(request, target, columns).await?,
            (_, Arrival::Straight(commit)) => Publish::Straight(commit),
            (_, Arrival::Routed) => {
                Publish::Route(match (columns.partitioning_of_source(), &mut planner) {
                    (Some(partitioning), Some(planner)) => {
                        routing::copied(target, partitioning, planner)?
                    }
                    _ => {
                        let mut names = PartitionNames::new(target.table, &taken);
                        let route = routing::route(request, target, columns, &mut names, notes);
                        route.await?
                    }
                })
            }
            (_, Arrival::Staged) => staged(request, target, columns, &taken),
        };
        let primary_key = &columns.read.inputs.primary_key;
        let is_plain = matches!(publish, Publish::Rename { .. });
        let (new_indexes, taken) = match planner {
            Some(planner) => new_indexes(target, columns, &publish, planner, notes),
            None => (Vec::new(), taken),
        };
        let has_key = new_indexes.iter().any(NewIndex::is_primary_key);
        if target.facts.is_none() && !is_plain && !has_key && !primary_key.is_empty() {
            notes.push(format!(
                "{} is new and partitioned, and does not get the primary key of the source ({})",
                target.sql,
                primary_key.join(", ")
            ));
        }
        Ok(Publishing {
            publish,
            model: model(target, columns),
            default_grants,
            taken,
            new_indexes,
        })
    }
}

/// The planner for the indexes and partitions that a new target gets from the table that is read.
async fn index_planner<'a>(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &'a FlowColumns,
    taken: &BTreeSet<String>,
) -> Result<Option<IndexPlanner<'a>>, PlanFailure> {
    let (None, Some(structure)) = (&target.facts, &columns.read.inputs.structure) else {
        return Ok(None);
    };
    let mut taken = taken.clone();
    taken.insert(target.table.to_owned());
    let version = request.server.version_number;
    let column = columns.key_name.as_deref();
    let planner = IndexPlanner::new(request.session, version, column, &taken, structure);
    Ok(Some(planner.await?))
}

/// The indexes of a new target, without the primary key of a plain target; and the names that are taken afterwards.
fn new_indexes(
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    publish: &Publish,
    mut planner: IndexPlanner<'_>,
    notes: &mut Vec<String>,
) -> (Vec<NewIndex>, BTreeSet<String>) {
    match publish {
        Publish::Rename {
            primary_key: Some(key),
        } => planner.taken.extend([key.name.clone()]),
        Publish::Route(route) => {
            let names = route.new_partitions().map(|(_, name)| name.to_owned());
            planner.taken.extend(names);
        }
        _ => {}
    }
    let mut found = Vec::new();
    let primary_key = &columns.read.inputs.primary_key;
    if !matches!(publish, Publish::Rename { .. }) && !primary_key.is_empty() {
        found.extend(planner.take_over_primary_key(target.table, primary_key));
    }
    if let Some(structure) = &columns.read.inputs.structure {
        found.extend(planner.take_over(&structure.indexes));
    }
    if !planner.left_out.is_empty() {
        // All of them are in one note, because a summary shows only the first few notes.
        let left_out = planner.left_out.join("; ");
        notes.push(format!("{} does not get {left_out}", target.sql));
    }
    (found, planner.taken)
}

async fn merged(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
) -> Result<Publish, PlanFailure> {
    let key = request.flow.key_columns()?;
    let names: Vec<String> = columns
        .read
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    let (indexes, versions) = match request.flow.scd_columns()? {
        None => {
            let indexes = upsert::indexes(request.session, target, &names, &key).await?;
            (indexes, None)
        }
        Some(scd) => {
            let ledger = &request.package.run.ledger_schema;
            let loaded = &columns.read.columns;
            let planned = VersionsPlan::plan(request.session, target, loaded, &key, scd, ledger);
            let versions = planned.await?;
            (vec![versions.index().clone()], Some(Box::new(versions)))
        }
    };
    Ok(Publish::Upsert {
        key,
        indexes,
        versions,
    })
}

/// How units in staging tables become part of the target.
fn staged(
    request: &FlowRequest<'_>,
    target: &FlowTarget<'_>,
    columns: &FlowColumns,
    taken: &BTreeSet<String>,
) -> Publish {
    let flow = request.flow;
    let primary_key = &columns.read.inputs.primary_key;
    match (&target.facts, &columns.key_name) {
        (None, Some(_)) => Publish::CreatePartitioned {
            columns: columns.resolved.new_columns.clone(),
        },
        (None, None) => Publish::Rename {
            primary_key: (!primary_key.is_empty()).then(|| NewPrimaryKey {
                columns: primary_key.clone(),
                name: index_names::free_name(target.table, &[], IndexKind::PrimaryKey, |name| {
                    taken.contains(name)
                }),
            }),
        },
        (Some(facts), _) if facts.partitioning.is_some() => Publish::Attach,
        (Some(_), _) if flow.mode == Mode::Replace && flow.replace.by == ReplaceBy::Swap => {
            Publish::Swap
        }
        (Some(_), _) => Publish::Insert,
    }
}

fn model(target: &FlowTarget<'_>, columns: &FlowColumns) -> Model {
    match &target.facts {
        Some(facts) => Model::Target {
            schema: target.schema.to_owned(),
            name: target.table.to_owned(),
            storage: storage(facts),
        },
        None => Model::Columns(columns.resolved.new_columns.clone()),
    }
}

/// The storage of staging tables. A future partition has the storage of its parent. A table whose rows are copied to
/// the target has the database's default.
fn storage(facts: &TableFacts) -> Storage {
    if facts.partitioning.is_none() {
        return Storage::default();
    }
    Storage {
        access_method: facts.access_method.clone(),
        tablespace: facts.tablespace.clone(),
    }
}
