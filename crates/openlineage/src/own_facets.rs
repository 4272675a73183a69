//! Inrush's own facets of runs. Their schema is `docs/openlineage-facets.schema.json`.

use inrush_engine::report::RunReport;
use inrush_plan::ledger::Account;
use schemars::JsonSchema;
use serde::Serialize;

/// The facets.
#[derive(JsonSchema)]
#[allow(
    dead_code,
    reason = "the schema is made from this type, and each event has one such facet"
)]
pub(crate) struct InrushFacets {
    /// The facet at the end of a run.
    inrush_run: InrushRunFacet,
    /// The facet while a run loads.
    inrush_progress: InrushProgressFacet,
}

/// The account of all rows of a run, and what limited it.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InrushRunFacet {
    /// The name of the run.
    run: String,
    /// SHA-256 of the package, secrets left out.
    package_hash: String,
    /// The run resumed an earlier attempt.
    resumed: bool,
    /// The exit status of the command.
    exit_status: u8,
    /// The rows of all flows, including those of earlier attempts.
    account: Account,
    /// Seconds in which the streams loaded.
    load_seconds: f64,
    /// Seconds of the whole run.
    total_seconds: f64,
    /// What limited the run, in one line; absent for a run that was too short to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    /// The causes, the largest share of the streams' time first; none for a run that was too short to tell.
    causes: Vec<CauseOfTime>,
}

/// A cause, and its share of the streams' time.
#[derive(Serialize, JsonSchema)]
pub(crate) struct CauseOfTime {
    /// The cause, as in the report of a run.
    cause: String,
    /// Its share, 0 to 1.
    share: f64,
}

/// How far a run is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct InrushProgressFacet {
    /// Rows that this attempt has read so far.
    pub rows_read: u64,
}

impl InrushRunFacet {
    /// The facet of a run that has ended.
    pub(crate) fn of(report: &RunReport) -> InrushRunFacet {
        let verdict = report.verdict.as_ref();
        let causes = verdict.into_iter().flat_map(|verdict| &verdict.causes);
        InrushRunFacet {
            run: report.run.to_string(),
            package_hash: report.package_hash.clone(),
            resumed: report.resumed,
            exit_status: report.exit_status.code(),
            account: report.account,
            load_seconds: report.phases.load_s,
            total_seconds: report.phases.total_s,
            verdict: verdict.map(|verdict| verdict.line.clone()),
            causes: causes
                .map(|cause| CauseOfTime {
                    cause: word(cause.cause),
                    share: cause.share,
                })
                .collect(),
        }
    }
}

/// The name of a cause in reports.
fn word(cause: impl Serialize) -> String {
    let value = serde_json::to_value(cause).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_in_the_docs_is_that_of_the_types() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/openlineage-facets.schema.json"
        );
        let schema = schemars::schema_for!(InrushFacets);
        let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
        text.push('\n');
        if std::env::var_os("INRUSH_BLESS").is_some() {
            std::fs::write(path, &text).expect("docs can be written");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            written, text,
            "write it again: INRUSH_BLESS=1 cargo test --release -p inrush-openlineage schema"
        );
    }
}
