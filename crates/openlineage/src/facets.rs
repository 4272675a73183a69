//! The facets of events. Each names the version of the published schema that it follows.

use inrush_engine::report::{RunReport, StepReport, TableReport};
use inrush_plan::lineage::{FlowLineage, StepLineage};
use serde_json::{Map, Value, json};

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
pub(crate) fn facet(version: &str, name: &str, content: Value) -> Value {
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

/// Inrush's own facet: how far a run is.
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
