//! The form of `report.json`. Its schema is generated from these types.

use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::exit_status::ExitStatus;
use inrush_verdict::{Measurements, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::machine::MachineReport;
use super::prediction::Prediction;
use crate::ledger::Account;
use crate::meter::Meter;

/// The form of the report. A change of meaning raises it.
pub const REPORT_VERSION: u32 = 1;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All rows that were not rejected are in their targets.
    Loaded,
    /// They were already; nothing was done.
    AlreadyLoaded,
    /// Nothing was switched.
    Failed,
    /// The user stopped it; nothing was switched.
    Interrupted,
}

/// What happened in a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// The form of this report.
    pub report_version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// The run's name, which is also that of its folder.
    pub run: String,
    /// The package.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// SHA-256 of the statements that the plan runs.
    pub plan_hash: String,
    /// How it ended.
    pub outcome: Outcome,
    /// The exit status of the command.
    #[serde(deserialize_with = "known_status")]
    #[schemars(with = "u8")]
    pub exit_status: ExitStatus,
    /// What went wrong.
    pub error: Option<String>,
    /// How to fix that, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The run whose corrected rejects it loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replays: Option<String>,
    /// It went on where an earlier one stopped.
    pub resumed: bool,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// When it ended, RFC 3339.
    pub finished_at: String,
    /// Seconds of each phase.
    pub phases: Phases,
    /// What a preflight of these very files had predicted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// All rows of all flows, those of earlier attempts included.
    pub account: Account,
    /// One for each flow.
    pub tables: Vec<TableReport>,
    /// One for each load unit.
    pub units: Vec<UnitReport>,
    /// One for each stream.
    pub streams: Vec<StreamReport>,
    /// The first rejects; all are in the run's folder.
    pub rejects: Vec<RejectReport>,
    /// What a user should know.
    pub notes: Vec<String>,
    /// Where the data went, without a password.
    pub destination: String,
    /// The server and its settings that matter.
    pub server: ServerReport,
    /// The machine that the loader ran on.
    pub machine: MachineReport,
    /// The embedded server, where there was one.
    pub embedded: Option<EmbeddedReport>,
    /// What was measured while the streams ran; nothing where they did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurements: Option<Measurements>,
    /// What held the run back, as far as the measurements tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Seconds of each phase of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Reading files' sizes and the catalog.
    pub plan_s: f64,
    /// From the first stream's start to the last one's end.
    pub load_s: f64,
    /// Checking the account and switching.
    pub switch_s: f64,
    /// ANALYZE.
    pub analyze_s: f64,
    /// All of it.
    pub total_s: f64,
}

/// One flow and its target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableReport {
    /// The flow.
    pub flow: String,
    /// The target, as SQL names it.
    pub target: String,
    /// Its rows.
    pub account: Account,
    /// Bytes of its files as stored.
    pub stored_bytes: u64,
    /// Its partitions that this run attached.
    pub partitions: Vec<PartitionReport>,
    /// Of an upsert: rows that took the place of others of the same key; the rest are new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_updated: Option<u64>,
    /// Columns with values that were changed as their policies allow, in the rows that this
    /// attempt committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ColumnChangesReport>,
}

/// What was changed in a column, as its policies allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnChangesReport {
    /// The column.
    pub column: String,
    /// How many values were changed, and how.
    #[serde(flatten)]
    pub changes: ColumnChanges,
}

/// A partition that was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionReport {
    /// Its name.
    pub name: String,
    /// Its first key as an SQL expression; none is unbounded.
    pub lower: Option<String>,
    /// One past its last key as an SQL expression; none is unbounded.
    pub upper: Option<String>,
}

/// One load unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitReport {
    /// The flow.
    pub flow: String,
    /// Its number in the flow.
    pub unit: usize,
    /// Its files.
    pub files: Vec<String>,
    /// Its staging table.
    pub staging_table: String,
    /// Filled by several streams.
    pub shared: bool,
    /// Its rows went straight into the target, split by split.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub straight: bool,
    /// Loaded by an earlier attempt and kept.
    pub kept: bool,
    /// Committed.
    pub finished: bool,
    /// Loaded carefully, by one stream with a savepoint for each batch, since the server had
    /// refused a row.
    #[serde(default)]
    pub careful: bool,
    /// Its rows.
    pub account: Account,
    /// The server's own count of its rows.
    pub rows_counted: Option<u64>,
    /// Where this run's time for it went.
    pub meter: Meter,
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReport {
    /// Counted from 1.
    pub stream: usize,
    /// Pieces of work that it finished.
    pub pieces: usize,
    /// Where its time went.
    pub meter: Meter,
    /// Seconds from the start of loading to its last piece's end.
    pub ended_s: f64,
}

/// A rejected row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RejectReport {
    /// The file.
    pub file: String,
    /// Its line, counted from 1.
    pub line: u64,
    /// Bytes before it in the uncompressed file.
    pub byte_offset: u64,
    /// The column at fault, where it is one.
    pub column: Option<String>,
    /// The field at fault, shortened.
    pub value: Option<String>,
    /// Stable name of the cause.
    pub code: inrush_rows::reject::RejectCode,
    /// The cause in words.
    pub reason: String,
    /// The encoding of the file, and of its rows that are kept aside; nothing for UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// The server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerReport {
    /// Its version.
    pub version: String,
    /// Settings that matter to a load.
    pub settings: Vec<(String, String)>,
}

/// The embedded server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddedReport {
    /// Its version.
    pub version: String,
    /// Its data folder; none where it is gone after the run.
    pub data_folder: Option<String>,
    /// What was set for loading, and why.
    pub settings: Vec<EmbeddedSetting>,
}

/// A setting of the embedded server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddedSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// Why it was set so.
    pub why: String,
}

/// The JSON schema of `report.json`.
pub fn report_schema() -> serde_json::Value {
    schemars::schema_for!(RunReport).to_value()
}

/// The exit status of a report. A later version may know more of them: to this one such a run has failed.
fn known_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ExitStatus, D::Error> {
    let code = u8::deserialize(deserializer)?;
    Ok(ExitStatus::try_from(code).unwrap_or(ExitStatus::Failed))
}
