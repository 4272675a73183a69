//! The verdict: what limited a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What limits a stream. The causes are in the order in which the data meets them.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Reading files; or waiting for the rows of a source database, for a reason that is none of the next three, or unknown.
    SourceRead,
    /// The CPU of the source's server: the backends that send the rows compute, or wait for a CPU.
    SourceDatabaseCpu,
    /// The disk of the source's server: the backends that send the rows read or write files.
    SourceDatabaseDisk,
    /// The network from the source's server: the backends wait until it takes their rows, while the loader waits for them.
    SourceDatabaseNetwork,
    /// Decompressing files.
    Decompression,
    /// The loader's CPU: scanning, converting, encoding, or waiting for a CPU that others use.
    ClientCpu,
    /// The steps of flows: evaluating expressions, and looking keys up. While the thread waits for a CPU, that is `client_cpu`.
    TransformCpu,
    /// The network's round trip, with windows that are too small for it.
    NetworkLatency,
    /// The network's rate.
    NetworkRate,
    /// The network's losses: segments that were sent again.
    NetworkLoss,
    /// The server's CPU: the backends compute, or wait for a CPU.
    DestinationCpu,
    /// The server's disk: the backends write WAL or data files.
    DestinationDisk,
    /// The server's locks: the backends wait for locks.
    DestinationLocks,
    /// The long tail: the stream had no work while other streams still had work.
    Coordination,
    /// The package's rate limit, or its limit for the lag of replicas.
    Pace,
    /// Undecided: the evidence does not tell the causes apart.
    Undecided,
}

/// What limited a run, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// One line for people: the limit of the run, the most useful change, and the time that it saves.
    pub line: String,
    /// True if the evidence separates the first cause from the others.
    pub is_decided: bool,
    /// The causes, the largest share first. All causes are included, and the shares add up to 1.
    pub causes: Vec<CauseShare>,
    /// The seconds of each stream, by cause.
    pub streams: Vec<StreamAttribution>,
    /// Advice about the first cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// A cause and its share of the time of all streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseShare {
    /// The cause.
    pub cause: Cause,
    /// Its share of the time of all streams, 0 to 1.
    pub share: f64,
    /// Seconds of stream time.
    pub seconds: f64,
    /// The evidence for the cause, in words and figures.
    pub evidence: Vec<String>,
}

/// The time of one stream, by cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamAttribution {
    /// The number of the stream, counted from 1.
    pub stream: usize,
    /// Seconds by cause, in the order of causes; they add up to the time of loading.
    pub seconds: Vec<(Cause, f64)>,
}

/// The most useful change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// The change.
    pub change: String,
    /// The most seconds that the change can save.
    pub gain_s: f64,
}
