//! The result of a preflight: the form of `inrush preflight --json`. Its schema is generated from these types.

use inrush_rows::exit_status::ExitStatus;
pub use inrush_rows::finding::{Finding, Weight};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::capacity::{CapacityFound, CostsFound};
use crate::report::Prediction;

/// The version of the result's format. A change of meaning raises it.
pub const PREFLIGHT_VERSION: u32 = 1;

/// The result of a preflight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightReport {
    /// The version of this result's format.
    pub preflight_version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// The package.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// The time of the preflight, RFC 3339.
    pub made_at: String,
    /// The URL of the destination, without a password; empty if the destination could not be reached.
    pub destination: String,
    /// The number of streams that the run would have.
    pub streams: usize,
    /// The files and tables.
    pub files: FilesFound,
    /// The measured steps, from reading to the destination.
    pub steps: Vec<StepFound>,
    /// The predicted times of the run; absent if they cannot be predicted.
    pub prediction: Option<Prediction>,
    /// The measured costs, from which `--size`, `--within` and `--what-if` are answered; absent if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostsFound>,
    /// The answer to `--size`, `--within` and `--what-if`; absent if nothing was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityFound>,
    /// Problems that stop the run or slow it down, and notes.
    pub findings: Vec<Finding>,
    /// Seconds that the preflight took.
    pub took_s: f64,
}

impl PreflightReport {
    /// True if a run cannot succeed.
    pub fn is_stopped(&self) -> bool {
        let mut weights = self.findings.iter().map(|finding| finding.weight);
        weights.any(|weight| weight == Weight::Stops)
    }

    /// The exit status of the command.
    pub fn exit_status(&self) -> ExitStatus {
        match self.is_stopped() {
            true => ExitStatus::Preflight,
            false => ExitStatus::Clean,
        }
    }
}

/// The files and tables of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesFound {
    /// The number of files.
    pub count: usize,
    /// The number of tables and queries of databases, with partitions counted one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub table_count: usize,
    /// The size of the files and tables as stored, in bytes; queries have none.
    pub stored_bytes: u64,
    /// The size of their text without headers, in bytes of UTF-8: about `stored_bytes` for plain files, estimated from the
    /// sample for others.
    pub text_bytes: u64,
    /// The number of rows, estimated from the sample; absent if no row was read.
    pub rows: Option<u64>,
    /// The share of the sample that was in the page cache before it was read, 0 to 1; absent if the system does not tell.
    pub cached_share: Option<f64>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The steps that are measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum PreflightStep {
    /// Reading data that the page cache does not hold.
    ReadDisk,
    /// Reading from the page cache.
    ReadCache,
    /// Reading rows of a database, without any later step.
    ReadSource,
    /// Decompressing, translating encodings, decoding typed files.
    Decompress,
    /// Finding record and field ends.
    Scan,
    /// Turning fields into columns.
    Convert,
    /// Passing rows through the steps of their flow.
    Transform,
    /// Computing the sums for verification.
    Verify,
    /// Turning columns into the destination's bytes.
    Encode,
    /// All steps of the loader, from the page cache to the destination's bytes.
    Client,
    /// The network to the server: a COPY whose rows the server discards.
    Network,
    /// The destination alone: rows that are converted already go into tables that are rolled back.
    Destination,
    /// The server's WAL and its disk: writing and flushing. The speed is given in bytes of the text that causes as much
    /// WAL.
    Log,
    /// All steps together, as in a run.
    Together,
}

/// The measurement of a step. All speeds are in bytes of text, so that they can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFound {
    /// The step.
    pub step: PreflightStep,
    /// Bytes of text in a second by one stream, or on one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_bytes_s: Option<f64>,
    /// Bytes of text per second, by all streams at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_bytes_s: Option<f64>,
    /// Rows per second, by all streams at once, or by one stream if only one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_s: Option<f64>,
    /// The size of the measured text, in bytes.
    pub sample_bytes: u64,
    /// Seconds that the measurement took.
    pub took_s: f64,
    /// The reason why the step was not measured, or a note about the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl StepFound {
    /// A step that was not measured.
    pub fn not_measured(step: PreflightStep, why: impl Into<String>) -> StepFound {
        StepFound {
            step,
            one_bytes_s: None,
            all_bytes_s: None,
            rows_s: None,
            sample_bytes: 0,
            took_s: 0.0,
            note: Some(why.into()),
        }
    }

    /// True if there is a figure.
    pub fn is_measured(&self) -> bool {
        self.one_bytes_s.is_some() || self.all_bytes_s.is_some()
    }
}

/// The JSON schema of the output of `inrush preflight --json`.
pub fn preflight_schema() -> serde_json::Value {
    schemars::schema_for!(PreflightReport).to_value()
}
