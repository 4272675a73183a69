//! The form of `report.json`. Its schema is generated from these types.

use std::path::Path;
use std::sync::Arc;

use inrush_destination::StoredWay;
use inrush_plan::ledger::Account;
use inrush_plan::load_plan::ServerReport;
use inrush_plan::step_tally::StepTally;
use inrush_rows::column_policy::ColumnChanges;
use inrush_rows::exit_status::ExitStatus;
use inrush_rows::ids::RunName;
use inrush_rows::location::Location;
use inrush_transform::stages::StagedStep;
use inrush_verdict::{Measurements, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::kept_prediction::Prediction;
use super::machine::MachineReport;
use crate::meter::Meter;

/// The most keys without a match that a report names for a lookup.
const UNMATCHED_KEYS_SHOWN: usize = 10;

/// The version of the report's format. A change of meaning raises it.
pub const REPORT_VERSION: u32 = 1;

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All rows except the rejected rows are in their targets.
    Loaded,
    /// An earlier run had loaded the rows; nothing was done.
    AlreadyLoaded,
    /// The run failed; nothing was switched in.
    Failed,
    /// The user stopped the run; nothing was switched in.
    Interrupted,
}

/// The report of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunReport {
    /// The version of this report's format.
    pub report_version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// The name of the run and of its folder.
    #[schemars(with = "String")]
    pub run: RunName,
    /// The package.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// SHA-256 of the statements that the plan runs.
    pub plan_hash: String,
    /// The outcome of the run.
    pub outcome: Outcome,
    /// Why an incremental load had nothing to do: no row is above the mark of the run that the report names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nothing_new: Option<String>,
    /// The exit status of the command.
    #[serde(deserialize_with = "known_status")]
    #[schemars(with = "u8")]
    pub exit_status: ExitStatus,
    /// The error, if the run failed.
    pub error: Option<String>,
    /// How to fix the error, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The run whose corrected rejects it loaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub replays: Option<RunName>,
    /// This run resumed an earlier run.
    pub resumed: bool,
    /// The start of the run, RFC 3339.
    pub started_at: String,
    /// The end of the run, RFC 3339.
    pub finished_at: String,
    /// Seconds of each phase.
    pub phases: Phases,
    /// The prediction of a preflight of the same files, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prediction: Option<Prediction>,
    /// The rows of all flows, including those of earlier attempts.
    pub account: Account,
    /// One entry for each flow.
    pub tables: Vec<TableReport>,
    /// One entry for each load unit.
    pub units: Vec<UnitReport>,
    /// One entry for each stream.
    pub streams: Vec<StreamReport>,
    /// The first rejected rows; all rejected rows are in the run's folder.
    pub rejects: Vec<RejectReport>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// The URL of the destination, without a password.
    pub destination: String,
    /// The server and the settings that matter to a load.
    pub server: ServerReport,
    /// The machine that the loader ran on.
    pub machine: MachineReport,
    /// The embedded server, if there was one.
    pub embedded: Option<EmbeddedReport>,
    /// The measurements while the streams ran; absent if they did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurements: Option<Measurements>,
    /// The verdict: what limited the run, as far as the measurements show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
}

/// Seconds of each phase of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Seconds of planning: reading file sizes and the catalog.
    pub plan_s: f64,
    /// Seconds of loading: from the start of the first stream to the end of the last stream.
    pub load_s: f64,
    /// Seconds of checking the account and switching.
    pub switch_s: f64,
    /// Seconds of ANALYZE.
    pub analyze_s: f64,
    /// Seconds of the whole run.
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
    /// The size of its files as stored, in bytes.
    pub stored_bytes: u64,
    /// The partitions that this run attached.
    pub partitions: Vec<PartitionReport>,
    /// For an upsert: the rows that replaced rows with the same key. The other rows are new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_updated: Option<u64>,
    /// For an upsert with `scd`: the loaded rows by what they changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<VersionsReport>,
    /// The members that its lookups have added to their references. Members of a reference that several flows use are counted at
    /// the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<MembersReport>,
    /// The columns in which values were changed, as their policies allow, in the rows that this
    /// attempt committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ColumnChangesReport>,
    /// The steps of the flow, with the rows that this attempt has passed through each and committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepReport>,
}

/// The loaded rows of a target that keeps versions: `rows_loaded = new + changed + overwritten + unchanged`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionsReport {
    /// Rows whose key had no current version.
    pub new: u64,
    /// Rows that ended the current version of their key and added a new one.
    pub changed: u64,
    /// Rows that changed only columns that are not tracked: they are overwritten in the current version.
    pub overwritten: u64,
    /// Rows that are equal to the current version.
    pub unchanged: u64,
}

/// Members that were added to the reference of a lookup with `unmatched = "add"`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MembersReport {
    /// The reference.
    pub reference: String,
    /// Members that it did not have.
    pub added: u64,
}

/// A step of a flow, and the rows that it saw: `rows_in + added = rows_out + filtered + rejected`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepReport {
    /// `derive`, `where`, `check` or `lookup`.
    pub step: String,
    /// The derived columns, the condition, the name of the check, or the reference.
    pub what: String,
    /// Rows that reached the step.
    pub rows_in: u64,
    /// Rows that left it.
    pub rows_out: u64,
    /// Rows that do not fulfil a condition, or that come after another row with the same key.
    pub filtered: u64,
    /// Rows that became rejects: by a check, or because an expression failed.
    pub rejected: u64,
    /// Rows that failed a check with `else = "warn"`, and are loaded.
    #[serde(default)]
    pub warned: u64,
    /// Rows that `unpivot` made in addition to those that reached it.
    #[serde(default)]
    pub added: u64,
    /// Rows whose key is not in the reference of a lookup.
    #[serde(default)]
    pub unmatched: u64,
    /// The keys that a lookup did not find most often, the most frequent first. If there are more than a thousand
    /// different keys, some are not counted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmatched_keys: Vec<UnmatchedKey>,
}

/// A key that a lookup did not find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmatchedKey {
    /// The values of the key.
    pub key: String,
    /// Rows with this key.
    pub rows: u64,
}

impl StepReport {
    /// The step at this place, with its counts.
    pub fn of(step: &StagedStep, at: usize, tally: &StepTally) -> StepReport {
        let count = tally.counts[at];
        let keys = tally.most_frequent(at, UNMATCHED_KEYS_SHOWN).into_iter();
        StepReport {
            step: step.word().to_owned(),
            what: step.what(),
            rows_in: count.rows_in,
            rows_out: count.rows_out(),
            filtered: count.filtered,
            rejected: count.rejected,
            warned: count.warned,
            added: count.added,
            unmatched: count.unmatched,
            unmatched_keys: keys.map(|(key, rows)| UnmatchedKey { key, rows }).collect(),
        }
    }
}

/// The values of a column that were changed, as its policies allow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ColumnChangesReport {
    /// The column.
    pub column: String,
    /// The number of changed values, by kind of change.
    #[serde(flatten)]
    pub changes: ColumnChanges,
}

/// A partition that was attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartitionReport {
    /// Its name.
    pub name: String,
    /// The lower bound, inclusive, as an SQL expression; absent if unbounded.
    pub lower: Option<String>,
    /// The upper bound, exclusive, as an SQL expression; absent if unbounded.
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
    /// Several streams filled the unit.
    pub shared: bool,
    /// The rows were written directly to the target, split by split.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub straight: bool,
    /// An earlier attempt loaded the unit, and it was kept.
    pub kept: bool,
    /// The unit was committed.
    pub finished: bool,
    /// The unit was loaded carefully, by one stream with a savepoint for each batch, because the server
    /// had refused a row.
    #[serde(default)]
    pub careful: bool,
    /// Its rows.
    pub account: Account,
    /// How the destination stored its rows; absent if this attempt had no choice, or did not load it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_copy: Option<StoredWay>,
    /// The server's count of its rows.
    pub rows_counted: Option<u64>,
    /// The time that this run spent on the unit, by step.
    pub meter: Meter,
}

/// One stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamReport {
    /// The number of the stream, counted from 1.
    pub stream: usize,
    /// The pieces of work that it finished.
    pub pieces: usize,
    /// The time of the stream, by step.
    pub meter: Meter,
    /// Seconds from the start of loading to the end of its last piece.
    pub ended_s: f64,
}

/// A rejected row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RejectReport {
    /// The file, or the name of the table or query of a database.
    pub file: String,
    /// The line of the row, counted from 1. In a source without lines, the number of the row.
    pub line: u64,
    /// The byte offset of the row in the uncompressed file. In a source without bytes, the number of rows before it.
    pub byte_offset: u64,
    /// Finds the row in a source that has neither lines nor bytes: `id = 17`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The column with the error, if it is in one column.
    pub column: Option<String>,
    /// The text of the field with the error, shortened.
    pub value: Option<String>,
    /// The stable code of the cause.
    pub code: inrush_rows::reject::RejectCode,
    /// The cause in words.
    pub reason: String,
    /// The encoding of the file and of its rejected rows; absent for UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    /// The row goes to several targets, and only this one refuses it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_target: bool,
}

impl RejectReport {
    /// Where the row is.
    pub fn location(&self) -> Location {
        Location {
            file: Path::new(&self.file).into(),
            line: self.line,
            byte_offset: self.byte_offset,
            key: self.key.as_deref().map(Arc::from),
        }
    }
}

/// The embedded server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddedReport {
    /// Its version.
    pub version: String,
    /// The data folder; absent if it was removed after the run.
    pub data_folder: Option<String>,
    /// The settings that were changed for loading, and why.
    pub settings: Vec<EmbeddedSetting>,
}

/// A setting of the embedded server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EmbeddedSetting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The reason for this value.
    pub why: String,
}

/// The JSON schema of `report.json`.
pub fn report_schema() -> serde_json::Value {
    schemars::schema_for!(RunReport).to_value()
}

/// The exit status of a report. A status of a later version that this version does not know is read as failed.
fn known_status<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ExitStatus, D::Error> {
    let code = u8::deserialize(deserializer)?;
    Ok(ExitStatus::try_from(code).unwrap_or(ExitStatus::Failed))
}
