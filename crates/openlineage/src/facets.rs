//! The facets of events. Each names the version of the published schema that it follows.

use inrush_engine::lineage::{
    ColumnOrigin, FlowLineage, ReadColumn, StepLineage, Traced, TracedFrom, fields_before, traced,
};
use inrush_engine::report::{RunReport, StepReport, TableReport};
use serde_json::{Map, Value, json};

use crate::datasets::Dataset;
use crate::own_facets::{InrushProgressFacet, InrushRunFacet};

/// The program that makes the events.
pub(crate) const PRODUCER: &str = concat!(
    env!("CARGO_PKG_REPOSITORY"),
    "/releases/",
    env!("CARGO_PKG_VERSION")
);

/// Where the published schemas are.
const SCHEMAS: &str = "https://openlineage.io/spec/facets";

/// A facet with the schema that it follows: its version and name.
fn facet(version: &str, name: &str, content: Value) -> Value {
    with_schema(
        format!("{SCHEMAS}/{version}/{name}.json#/$defs/{name}"),
        content,
    )
}

fn with_schema(url: String, content: Value) -> Value {
    let mut made = Map::new();
    made.insert("_producer".to_owned(), json!(PRODUCER));
    made.insert("_schemaURL".to_owned(), json!(url));
    if let Value::Object(content) = content {
        made.extend(content);
    }
    Value::Object(made)
}

/// The program that runs the job.
pub(crate) fn processing_engine() -> Value {
    let content = json!({
        "name": "Inrush",
        "version": env!("CARGO_PKG_VERSION"),
    });
    facet("1-1-1", "ProcessingEngineRunFacet", content)
}

/// The type of the job: a batch, with events at its beginning and end.
pub(crate) fn job_type() -> Value {
    let content = json!({
        "processingType": "BATCH",
        "integration": "INRUSH",
        "jobType": "LOAD",
    });
    facet("2-0-4", "JobTypeJobFacet", content)
}

/// Why a run failed, and how to fix it.
pub(crate) fn error_message(error: &str, hint: Option<&str>) -> Value {
    let message = match hint {
        Some(hint) => format!("{error}\n{hint}"),
        None => error.to_owned(),
    };
    let content = json!({ "message": message, "programmingLanguage": "Rust" });
    facet("1-0-1", "ErrorMessageRunFacet", content)
}

/// Inrush's own facet: the account of all rows, and what limited the run.
pub(crate) fn of_run(report: &RunReport) -> Value {
    own("InrushRunFacet", json!(InrushRunFacet::of(report)))
}

/// Inrush's own: how far a run is.
pub(crate) fn of_progress(rows_read: u64) -> Value {
    own(
        "InrushProgressFacet",
        json!(InrushProgressFacet { rows_read }),
    )
}

fn own(name: &str, content: Value) -> Value {
    let schema = format!(
        "{}/docs/openlineage-facets.schema.json#/$defs/{name}",
        env!("CARGO_PKG_REPOSITORY")
    );
    with_schema(schema, content)
}

/// Columns with their types.
pub(crate) fn schema<'a>(columns: impl Iterator<Item = (&'a str, &'a str)>) -> Value {
    let fields = columns.map(|(name, data_type)| json!({ "name": name, "type": data_type }));
    let content = json!({ "fields": fields.collect::<Vec<_>>() });
    facet("1-2-0", "SchemaDatasetFacet", content)
}

/// The name that a field has in its source; `None` for a column that is not a field.
pub(crate) fn field_name(read: &ReadColumn) -> Option<&str> {
    match &read.origin {
        ColumnOrigin::Field { name, .. } => Some(name.as_deref().unwrap_or(&read.name)),
        ColumnOrigin::Provenance { .. } | ColumnOrigin::Constant { .. } => None,
    }
}

/// For each loaded column, the fields from which it is made; and the fields that decide whether a row is loaded.
pub(crate) fn column_lineage(flow: &FlowLineage, source: &Dataset) -> Value {
    let mut fields = Map::new();
    for column in &flow.columns {
        let Some(found) = traced(flow, &column.name) else {
            continue;
        };
        let transformation = transformation(&found);
        let inputs = found.fields().into_iter().filter_map(|read| {
            Some(input_field(
                source,
                field_name(read)?,
                transformation.clone(),
            ))
        });
        let inputs: Vec<Value> = inputs.collect();
        fields.insert(column.name.clone(), json!({ "inputFields": inputs }));
    }
    let conditions = flow.steps.iter().enumerate();
    let conditions = conditions.flat_map(|(index, step)| indirect(flow, source, index, step));
    let mut content = json!({ "fields": fields });
    let conditions: Vec<Value> = conditions.collect();
    if !conditions.is_empty() {
        content["dataset"] = Value::Array(conditions);
    }
    facet("1-2-0", "ColumnLineageDatasetFacet", content)
}

fn input_field(source: &Dataset, field: &str, transformation: Value) -> Value {
    json!({
        "namespace": source.namespace,
        "name": source.name,
        "field": field,
        "transformations": [transformation],
    })
}

/// How a column is made of its fields.
fn transformation(column: &Traced<'_>) -> Value {
    match &column.from {
        TracedFrom::Read(_) | TracedFrom::Unknown => json!({
            "type": "DIRECT",
            "subtype": "IDENTITY",
            "description": "",
            "masking": false,
        }),
        TracedFrom::Step { step, .. } => {
            let added = step.adds.iter().find(|added| added.name == column.name);
            let expression = added.and_then(|added| added.expression.clone());
            let taken = added.and_then(|added| added.taken_from.clone());
            let (kind, subtype, description) = match (expression, taken, &step.reference) {
                (Some(expression), _, _) => ("DIRECT", "TRANSFORMATION", expression),
                // The value comes from the reference; the field decides which of its rows is taken.
                (None, Some(taken), Some(reference)) => (
                    "INDIRECT",
                    "JOIN",
                    format!("{taken} of {}", reference.words()),
                ),
                _ => ("DIRECT", "TRANSFORMATION", step.step.clone()),
            };
            json!({ "type": kind, "subtype": subtype, "description": description, "masking": false })
        }
    }
}

/// The fields that the condition of a step names, or whose values decide which of several rows it keeps. A check that only warns
/// keeps all rows.
fn indirect(flow: &FlowLineage, source: &Dataset, index: usize, step: &StepLineage) -> Vec<Value> {
    let (subtype, description) = match &step.condition {
        Some(_) if step.only_warns => return Vec::new(),
        Some(condition) => ("FILTER", condition.as_str()),
        None if step.step == "distinct_on" => ("GROUP_BY", "distinct_on"),
        None => return Vec::new(),
    };
    let mut found: Vec<&ReadColumn> = Vec::new();
    for name in &step.names {
        for read in fields_before(flow, name, index) {
            if !found.contains(&read) {
                found.push(read);
            }
        }
    }
    let fields = found.into_iter().filter_map(|read| {
        let transformation = json!({
            "type": "INDIRECT",
            "subtype": subtype,
            "description": description,
            "masking": false,
        });
        Some(input_field(source, field_name(read)?, transformation))
    });
    fields.collect()
}

/// The rows that were read for a target.
pub(crate) fn input_metrics(table: &TableReport) -> Value {
    let content = json!({
        "rowCount": table.account.rows_read,
        "bytes": table.account.bytes_read,
        "columnMetrics": {},
    });
    facet("1-0-3", "DataQualityMetricsInputDatasetFacet", content)
}

/// The checks of a flow, with their results; `None` if it has none.
pub(crate) fn assertions(flow: &FlowLineage, table: &TableReport) -> Option<Value> {
    let steps = flow.steps.iter().zip(&table.steps);
    let checks = steps.filter(|(step, _)| step.step == "check");
    let made: Vec<Value> = checks
        .map(|(step, counts)| assertion(step, counts))
        .collect();
    let content = json!({ "assertions": made });
    (!made.is_empty()).then(|| facet("1-1-0", "DataQualityAssertionsDatasetFacet", content))
}

fn assertion(step: &StepLineage, counts: &StepReport) -> Value {
    let failed = counts.rejected + counts.warned;
    let mut made = json!({
        "assertion": "custom_sql",
        "success": failed == 0,
        "severity": if counts.warned > 0 { "warn" } else { "error" },
        "name": counts.what,
        "description": step.condition,
        "expected": "0",
        "actual": failed.to_string(),
    });
    if let [column] = step.names.as_slice() {
        made["column"] = json!(column);
    }
    made
}

/// The rows that were loaded into a target.
pub(crate) fn output_statistics(table: &TableReport) -> Value {
    let content = json!({ "rowCount": table.account.rows_loaded });
    facet("1-0-2", "OutputStatisticsOutputDatasetFacet", content)
}
