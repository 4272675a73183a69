//! The lineage of a planned flow.

use std::collections::BTreeMap;

use inrush_package::{Flow, LookupSource, Package};
use inrush_rows::column::Column;
use inrush_rows::column_policy::ValueSource;
use inrush_transform::lookup_step::PlannedLookup;
use inrush_transform::planned::StepAction;
use inrush_transform::spec::{InputColumn, Otherwise};
use inrush_transform::stages::StagedStep;
use inrush_transform::types::sql_name;

use super::record::{
    AddedColumn, ColumnOrigin, FlowLineage, LoadedColumn, ReadColumn, ReferenceColumn, RowSource,
    StepLineage,
};
use crate::Reading;

/// The lineage of a flow. `flow` is the flow of the package, if it has one of this name.
pub fn of(reading: &Reading, flow: Option<&Flow>, package: &Package) -> FlowLineage {
    let names = field_names(reading);
    let read = reading.read_columns().iter();
    let steps = reading.steps.iter().flat_map(|steps| &steps.planned.steps);
    let loaded = reading.columns.iter();
    FlowLineage {
        flow: reading.name.clone(),
        target: reading.target.clone(),
        source: flow
            .and_then(|flow| source_of(flow, package))
            .unwrap_or_else(|| RowSource::Other {
                what: reading.source.describe(),
            }),
        read: read
            .filter_map(|column| {
                Some(ReadColumn {
                    name: column.name.clone(),
                    data_type: sql_name(&column.column_type),
                    origin: origin(column, &names)?,
                })
            })
            .collect(),
        steps: steps
            .enumerate()
            .map(|(at, step)| {
                let declared = flow.and_then(|flow| flow.steps.get(at));
                let lookup = declared.and_then(|step| step.lookup.as_deref());
                let take = declared.and_then(|step| step.take.as_ref());
                of_step(step, lookup, take, package)
            })
            .collect(),
        columns: loaded
            .map(|column| LoadedColumn {
                name: column.name.clone(),
                data_type: sql_name(&column.column_type),
            })
            .collect(),
    }
}

/// The names of the source's fields; empty if they have none.
fn field_names(reading: &Reading) -> Vec<String> {
    if let Some(header) = &reading.header {
        return header.clone();
    }
    // If the source cannot be read now, the names are left out here; the load itself reports the error.
    let columns = reading.source.columns().unwrap_or_default().into_iter();
    columns.map(|column| column.name).collect()
}

/// The origin of a column's values; `None` if a step computes them.
fn origin(column: &Column, names: &[String]) -> Option<ColumnOrigin> {
    Some(match &column.source {
        ValueSource::Field(index) => ColumnOrigin::Field {
            position: index + 1,
            name: names.get(*index).cloned(),
        },
        ValueSource::Constant(value) => ColumnOrigin::Constant {
            value: value.clone(),
        },
        ValueSource::Derived => return None,
        source @ (ValueSource::File
        | ValueSource::Line
        | ValueSource::ByteOffset
        | ValueSource::LoadTime
        | ValueSource::Run) => ColumnOrigin::Provenance {
            what: source.word().to_owned(),
        },
    })
}

/// The source that the package names for a flow; `None` if it names none.
fn source_of(flow: &Flow, package: &Package) -> Option<RowSource> {
    if let Some(source) = &flow.source {
        let tables = (source.table.as_deref(), source.query.as_deref());
        return of_database(&source.connection, tables, package);
    }
    let patterns: Vec<String> = flow.files.patterns().to_vec();
    (!patterns.is_empty()).then_some(RowSource::Files { patterns })
}

/// A table or a query of a connection of the package.
fn of_database(
    connection: &str,
    (table, query): (Option<&str>, Option<&str>),
    package: &Package,
) -> Option<RowSource> {
    let database = package.connections.get(connection)?.redacted_url();
    match (table, query) {
        (Some(table), _) => Some(RowSource::Table {
            database,
            table: table.to_owned(),
        }),
        (None, Some(query)) => Some(RowSource::Query {
            database,
            query: query.to_owned(),
        }),
        (None, None) => None,
    }
}

fn reference_of(lookup: &LookupSource, package: &Package) -> Option<RowSource> {
    if let Some(connection) = &lookup.connection {
        let tables = (lookup.table.as_deref(), lookup.query.as_deref());
        return of_database(connection, tables, package);
    }
    Some(RowSource::Files {
        patterns: lookup.files.patterns().to_vec(),
    })
}

/// The columns of the reference that a lookup reads, each once.
fn reference_columns(
    planned: &PlannedLookup,
    take: Option<&BTreeMap<String, String>>,
) -> Vec<ReferenceColumn> {
    let keys = planned.spec.on.iter();
    let keys = keys.map(|(_, own)| (&own.name, &own.column_type));
    let taken = planned.spec.take.iter();
    let taken = taken.filter_map(|column| Some((take?.get(&column.name)?, &column.column_type)));
    let mut found: Vec<ReferenceColumn> = Vec::new();
    for (name, column_type) in keys.chain(taken) {
        if found.iter().all(|known| known.name != *name) {
            found.push(ReferenceColumn {
                name: name.clone(),
                data_type: sql_name(column_type),
            });
        }
    }
    found
}

fn of_step(
    step: &StagedStep,
    lookup: Option<&LookupSource>,
    take: Option<&BTreeMap<String, String>>,
    package: &Package,
) -> StepLineage {
    let step_word = step.word().to_owned();
    match step {
        StagedStep::Lookup(planned) => StepLineage {
            step: step_word,
            names: planned.named.clone(),
            adds: planned
                .spec
                .take
                .iter()
                .map(|column| AddedColumn {
                    name: column.name.clone(),
                    data_type: sql_name(&column.column_type),
                    expression: None,
                    names: Vec::new(),
                    taken_from: take.and_then(|take| take.get(&column.name)).cloned(),
                })
                .collect(),
            reference: Some(
                lookup
                    .and_then(|lookup| reference_of(lookup, package))
                    .unwrap_or_else(|| RowSource::Other {
                        what: planned.spec.name.clone(),
                    }),
            ),
            on: planned
                .spec
                .on
                .iter()
                .map(|(name, own)| (name.clone(), own.name.clone()))
                .collect(),
            reference_columns: reference_columns(planned, take),
            ..StepLineage::default()
        },
        StagedStep::Unpivot(planned) => {
            let [name, value] = planned.added();
            let added = |column: InputColumn, names: Vec<String>| AddedColumn {
                name: column.name,
                data_type: sql_name(&column.column_type),
                expression: None,
                names,
                taken_from: None,
            };
            StepLineage {
                step: step_word,
                names: planned.spec.columns.clone(),
                adds: vec![
                    added(name, Vec::new()),
                    added(value, planned.spec.columns.clone()),
                ],
                ..StepLineage::default()
            }
        }
        StagedStep::Distinct(planned) => StepLineage {
            step: step_word,
            names: planned.spec.columns.clone(),
            ..StepLineage::default()
        },
        StagedStep::Expressions(planned) => {
            let (condition, name, adds) = match &planned.action {
                StepAction::Derive(columns) => {
                    let adds = columns.iter().map(|column| AddedColumn {
                        name: column.name.clone(),
                        data_type: sql_name(&column.column_type),
                        expression: Some(column.text.clone()),
                        names: column.named.clone(),
                        taken_from: None,
                    });
                    (None, None, adds.collect())
                }
                StepAction::Where { text, .. } => (Some(text.clone()), None, Vec::new()),
                StepAction::Check { name, text, .. } => {
                    (Some(text.clone()), Some(name.clone()), Vec::new())
                }
                StepAction::Output(output) => (Some(output.text()), None, Vec::new()),
            };
            let names = match condition {
                Some(_) => planned.named.clone(),
                None => Vec::new(),
            };
            let only_warns = matches!(
                planned.action,
                StepAction::Check {
                    otherwise: Otherwise::Warn,
                    ..
                }
            );
            StepLineage {
                step: step_word,
                condition,
                name,
                only_warns,
                names,
                adds,
                ..StepLineage::default()
            }
        }
    }
}
