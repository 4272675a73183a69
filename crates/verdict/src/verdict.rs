//! The verdict: what limited a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a stream's time may go to. The order is that of the way of the data.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Reading files.
    SourceRead,
    /// Decompressing them.
    Decompression,
    /// The loader's own CPU: scanning, converting, encoding, or waiting for a CPU that others have.
    ClientCpu,
    /// The round trip, with windows too small for it.
    NetworkLatency,
    /// What the link carries in a second.
    NetworkRate,
    /// Segments that were lost and sent again.
    NetworkLoss,
    /// The backends compute, or are given no CPU.
    DestinationCpu,
    /// The backends write WAL or data files.
    DestinationDisk,
    /// The backends wait for locks.
    DestinationLocks,
    /// The stream had nothing to do while others still did: the long tail.
    Coordination,
    /// A rate or a replica that the package asks to wait for.
    Pace,
    /// What the evidence does not tell apart.
    Undecided,
}

/// What held a run back, with the evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// One line for people: what limited the run, the one change most worth making, and what it should gain.
    pub line: String,
    /// Whether the evidence tells the first cause apart from the others.
    pub is_decided: bool,
    /// The causes, the largest share first; shares add up to 1. Small ones stand in it too.
    pub causes: Vec<CauseShare>,
    /// Seconds of each stream by cause.
    pub streams: Vec<StreamAttribution>,
    /// What to do about the first cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Advice>,
}

/// A cause and how much of all streams' time it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseShare {
    /// The cause.
    pub cause: Cause,
    /// Its share of the time of all streams, 0 to 1.
    pub share: f64,
    /// Seconds of stream time.
    pub seconds: f64,
    /// What was seen that says so, in words and figures.
    pub evidence: Vec<String>,
}

/// Where one stream's time went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamAttribution {
    /// Counted from 1.
    pub stream: usize,
    /// Seconds by cause, causes in their order; they add up to the time that loading took.
    pub seconds: Vec<(Cause, f64)>,
}

/// The change most worth making.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// What to change.
    pub change: String,
    /// Seconds that loading should take less, at most.
    pub gain_s: f64,
}
