//! The result of a preflight: the form of `inrush preflight --json`. Its schema is generated from these types.

use inrush_rows::exit_status::ExitStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::report::Prediction;

/// The form of the result. A change of meaning raises it.
pub const PREFLIGHT_VERSION: u32 = 1;

/// What a preflight found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreflightReport {
    /// The form of this result.
    pub preflight_version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// The package.
    pub package: String,
    /// SHA-256 of the package, secrets left out.
    pub package_hash: String,
    /// When it was made, RFC 3339.
    pub made_at: String,
    /// Where the data would go, without a password; empty where that could not be reached.
    pub destination: String,
    /// Streams that the run would have.
    pub streams: usize,
    /// The files.
    pub files: FilesFound,
    /// What was measured, in the order of the way of the data.
    pub steps: Vec<StepFound>,
    /// What the run should take; none where that cannot be told.
    pub prediction: Option<Prediction>,
    /// What stops the run, what will hurt it, and what should be known.
    pub findings: Vec<Finding>,
    /// Seconds that the preflight took.
    pub took_s: f64,
}

impl PreflightReport {
    /// Whether a run cannot succeed.
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

/// The files of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FilesFound {
    /// How many.
    pub count: usize,
    /// Their bytes as stored.
    pub stored_bytes: u64,
    /// Bytes of their text without headers, in UTF-8: of plain files about those stored, of others as the sample says.
    pub text_bytes: u64,
    /// Their rows, as the sample says; none where none was read.
    pub rows: Option<u64>,
    /// How much of the sample the page cache held before it was read, 0 to 1; none where the system does not tell.
    pub cached_share: Option<f64>,
}

/// The steps that are measured.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Reading what the page cache does not hold.
    ReadDisk,
    /// Reading what the page cache holds.
    ReadCache,
    /// Decompressing, translating encodings, decoding typed files.
    Decompress,
    /// Finding record and field ends.
    Scan,
    /// Turning fields into columns.
    Convert,
    /// Summing up what is verified.
    Verify,
    /// Turning columns into the destination's bytes.
    Encode,
    /// All that the loader does to a row, from the page cache to the destination's bytes.
    Client,
    /// The network to the server: a COPY whose rows the server throws away as they come.
    Network,
    /// The destination alone: rows that were converted before, into tables that are rolled back.
    Destination,
    /// The server's log and its disk: what is written and flushed, in bytes of the text whose rows take as much.
    Log,
    /// All of it together, as the run does it.
    Together,
}

/// What was measured of a step. Speeds are in bytes of text, so that they can be compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFound {
    /// The step.
    pub step: Step,
    /// Bytes of text in a second by one stream, or on one core.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub one_bytes_s: Option<f64>,
    /// By all streams at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_bytes_s: Option<f64>,
    /// Rows in a second by all streams at once, or by one where only one was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_s: Option<f64>,
    /// Bytes of text that were measured with.
    pub sample_bytes: u64,
    /// Seconds that measuring took.
    pub took_s: f64,
    /// Why it was not measured, or what should be known of the figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl StepFound {
    /// A step that was not measured.
    pub fn not_measured(step: Step, why: impl Into<String>) -> StepFound {
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

    /// Whether there is a figure.
    pub fn is_measured(&self) -> bool {
        self.one_bytes_s.is_some() || self.all_bytes_s.is_some()
    }
}

/// How much a finding matters.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The run cannot succeed.
    Stops,
    /// The run takes longer than it must, or takes something from others.
    Hurts,
    /// Good to know.
    Tells,
}

/// Something that a user should know before the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// How much it matters.
    pub weight: Weight,
    /// What it is.
    pub what: String,
    /// How to fix it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The JSON schema of what `inrush preflight --json` prints.
pub fn preflight_schema() -> serde_json::Value {
    schemars::schema_for!(PreflightReport).to_value()
}
