//! The measurements of a run over its time: the evidence for the verdict, and the data of the report page's charts.
//!
//! Everything is counted in steps of equal length from the start of loading, so that what happened at one moment
//! stands at one index in all series. A series ends with the last step; one that was not measured is absent, which is
//! not the same as zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What was measured while the streams ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurements {
    /// Milliseconds of a step: 100, doubled as often as keeps the series at 1,200 steps or fewer.
    pub step_ms: u32,
    /// Steps of each series.
    pub steps: usize,
    /// Seconds from the start of loading to the end of the last stream.
    pub load_s: f64,
    /// One for each stream, in their order.
    pub streams: Vec<StreamSeries>,
    /// One for each thread that reads a file for several streams (compressed files, pipes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<FeedSeries>,
    /// One for each flow.
    pub tables: Vec<TableSeries>,
    /// The destination's server, where it could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerMeasurements>,
    /// The machine that the loader ran on.
    pub machine: MachineSeries,
    /// CPU seconds that looking at all this took: of the thread that looks, and of the backend that it asks where that is
    /// on this machine. What streams count for themselves is some clock readings for each batch, and not in it.
    pub metering_cpu_s: f64,
}

/// What a stream's thread does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// In the file system's read calls.
    Read,
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
    /// Waiting for a range of a file that a feed reads.
    FeedWait,
    /// Held back by a rate that was asked for, or by replicas.
    PaceWait,
    /// Waiting until the connection took a block, and for the answer to a COPY.
    SendWait,
    /// Waiting until the server had summed up what is verified.
    VerifyWait,
    /// Waiting for the server's other work: making tables, counting, indexes, COMMIT.
    ServerWait,
}

/// All phases, in the order of the way of the data.
pub const PHASES: [Phase; 11] = [
    Phase::Read,
    Phase::Decompress,
    Phase::Scan,
    Phase::Convert,
    Phase::Verify,
    Phase::Encode,
    Phase::FeedWait,
    Phase::PaceWait,
    Phase::SendWait,
    Phase::VerifyWait,
    Phase::ServerWait,
];

/// One stream over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamSeries {
    /// Counted from 1.
    pub stream: usize,
    /// Seconds from the start of loading to the end of its last piece of work.
    pub ended_s: f64,
    /// Microseconds in each phase, by step; phases without any are absent. What is left of a step, until the stream
    /// ended, is the time between phases; after its end it is idle.
    pub phases_us: BTreeMap<Phase, Vec<u32>>,
    /// Rows sent.
    pub rows: Vec<u32>,
    /// Bytes of text read.
    pub text_bytes: Vec<u64>,
    /// Bytes sent.
    pub sent_bytes: Vec<u64>,
    /// The thread ran on a CPU: microseconds by step (`schedstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Vec<u32>>,
    /// The thread could have run and waited for a CPU: microseconds by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_us: Option<Vec<u32>>,
    /// Its backend, where the server could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendSeries>,
    /// Its connection, where it is TCP and the system tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSeries>,
}

/// What a backend was doing at a sample.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BackendState {
    /// No wait event: it computes, or stands still where its CPU time does not grow.
    Cpu,
    /// `Client`: it waits for our bytes, or for us to take its own.
    Client,
    /// Writing, flushing or inserting WAL (`IO:WAL*`, `LWLock:WAL*`, `IPC:SyncRep`, `Timeout:VacuumDelay` not).
    Wal,
    /// Data files: read, written, extended, flushed (`IO:DataFile*` and other IO, `LWLock:BufferIO`).
    DataFile,
    /// A heavyweight lock that another session holds (`Lock`), the extension of a relation left out.
    Lock,
    /// Locks inside the server, the extension of a relation included (`LWLock`, `Lock:extend`, `BufferPin`).
    Internal,
    /// Between statements or transactions: it waits for us.
    Idle,
    /// Anything else.
    Other,
}

/// A stream's backend over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendSeries {
    /// Its process.
    pub process_id: i32,
    /// Samples by what the stream's thread was doing (`None` is nothing: between phases) and by the backend's state: only
    /// both together tell who waits for whom.
    pub samples: Vec<BackendSamples>,
    /// Samples of each wait event by its full name, such as `IO:WALWrite`, the most frequent first.
    pub events: Vec<(String, u32)>,
    /// Who held the locks that it waited for: the application's name, user and statement's beginning.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// It ran on a CPU: microseconds by step; only of a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Vec<u32>>,
    /// It could have run and waited for a CPU: microseconds by step; only of a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_us: Option<Vec<u32>>,
    /// Samples at which its process was stopped (`T`); only of a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_samples: Option<u32>,
    /// Samples at which its process was in uninterruptible sleep (`D`), which is nearly always a disk; only of a server on
    /// this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sleep_samples: Option<u32>,
}

/// How often a backend was seen in a state while its stream was in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendSamples {
    /// What the stream's thread was doing.
    pub phase: Option<Phase>,
    /// What the backend was doing.
    pub state: BackendState,
    /// Samples.
    pub samples: u32,
}

/// A TCP connection over time (`TCP_INFO`). Times are what the sender's side knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSeries {
    /// Microseconds with data in flight or to send, by step.
    pub busy_us: Vec<u32>,
    /// Microseconds of these limited by the receiver's window.
    pub receiver_limited_us: Vec<u32>,
    /// Microseconds of these limited by our send buffer.
    pub send_buffer_limited_us: Vec<u32>,
    /// Segments sent again.
    pub segments_sent_again: Vec<u32>,
    /// Segments sent.
    pub segments_sent: Vec<u32>,
    /// Smoothed round trip, microseconds, at the end of each step.
    pub round_trip_us: Vec<u32>,
    /// The least round trip that was seen, microseconds.
    pub round_trip_min_us: u32,
    /// Congestion window, bytes, at the end of each step.
    pub congestion_window_bytes: Vec<u32>,
    /// The rate at which the receiver acknowledged, bytes per second, at the end of each step.
    pub delivery_rate: Vec<u64>,
    /// The peer is this machine.
    pub is_loopback: bool,
}

/// A thread that reads a file for several streams, over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FeedSeries {
    /// The file.
    pub file: String,
    /// Microseconds in read calls, by step.
    pub read_us: Vec<u32>,
    /// Microseconds decompressing and translating.
    pub decompress_us: Vec<u32>,
    /// Microseconds finding record ends.
    pub scan_us: Vec<u32>,
}

/// One flow over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TableSeries {
    /// The flow.
    pub flow: String,
    /// Rows read, by step.
    pub rows: Vec<u32>,
    /// Bytes of its files as stored.
    pub stored_bytes: Vec<u64>,
}

/// What the destination's server said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMeasurements {
    /// It runs on the loader's machine, so that its processes could be looked at.
    pub is_local: bool,
    /// Milliseconds between two samples of its backends' states.
    pub sample_ms: u32,
    /// WAL that the whole server wrote while the streams ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// Checkpoints that it took meanwhile because of time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_timed: Option<u64>,
    /// Checkpoints that it took because WAL had grown, or since it was asked to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_requested: Option<u64>,
}

/// The loader's machine over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSeries {
    /// Cores that the loader may use.
    pub cores: usize,
    /// All cores, busy: microseconds by step.
    pub cpu_us: Vec<u32>,
    /// Taken by other machines of the same host (steal): microseconds by step.
    pub cpu_stolen_us: Vec<u32>,
    /// The loader's process: microseconds by step.
    pub loader_cpu_us: Vec<u32>,
    /// All its backends, where the server is on this machine: microseconds by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backends_cpu_us: Option<Vec<u32>>,
    /// The loader was held back by a CPU limit of its control group: microseconds by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_throttled_us: Option<Vec<u32>>,
    /// Read from block devices, all of the machine.
    pub disk_read_bytes: Vec<u64>,
    /// Written to block devices, all of the machine.
    pub disk_written_bytes: Vec<u64>,
    /// The busiest block device: milliseconds of each step in which it had something to do.
    pub disk_busy_ms: Vec<u32>,
    /// Memory that the loader had resident.
    pub loader_memory_bytes: Vec<u64>,
}
