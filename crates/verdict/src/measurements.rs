//! The measurements of a run over its time: the evidence for the verdict, and the data of the report page's charts.
//!
//! Everything is counted in steps of equal length from the start of loading, so that one moment has the same index in
//! all series. A series ends with the last step; one that was not measured is absent, which is not the same as zero.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The measurements of a run while its streams ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurements {
    /// Milliseconds of a step: 100, doubled until the series have at most 1,200 steps.
    pub step_ms: u32,
    /// The number of steps in each series.
    pub steps: usize,
    /// Seconds from the start of loading to the end of the last stream.
    pub load_s: f64,
    /// One entry for each stream, in their order.
    pub streams: Vec<StreamSeries>,
    /// One entry for each thread that reads a file for several streams (compressed files, pipes).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<FeedSeries>,
    /// One entry for each flow.
    pub tables: Vec<TableSeries>,
    /// The rows come from a database, not from files: reading them is waiting for its server.
    #[serde(default, skip_serializing_if = "is_false")]
    pub reads_database: bool,
    /// The source's server, if the rows come from one whose sessions could be sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_server: Option<SourceServerMeasurements>,
    /// The destination's server, if it could be queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<ServerMeasurements>,
    /// The ways by which the destination stored the rows of units, if it has an extension for it: one entry for each
    /// way and reason, the most units first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stored: Vec<StoredUnits>,
    /// The machine that the loader ran on.
    pub machine: MachineSeries,
    /// CPU seconds of the metering: of the metering thread, and of the backend that it queries if the server is on this
    /// machine. The streams' own counters, a few clock readings per batch, are not included.
    pub metering_cpu_s: f64,
}

/// A figure that most reports do not have is left out.
#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

/// Units whose rows the destination stored in the same way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredUnits {
    /// The number of units.
    pub units: u64,
    /// The way: `copy` is the server's own, all others are ways of the extension.
    pub way: String,
    /// Why the rows were stored by `copy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What allows the extension to store them next time, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The activity of a stream's thread.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Reading from the file system.
    Read,
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
    /// Waiting for a range of a file that a feed reads.
    FeedWait,
    /// Waiting because of a rate limit or of replicas that lag behind.
    PaceWait,
    /// Waiting for the connection to take a block, and for the answer to a COPY.
    SendWait,
    /// Waiting for the server to compute the sums for verification.
    VerifyWait,
    /// Waiting for other work of the server: creating tables, counting, indexes, COMMIT.
    ServerWait,
}

/// All phases, in the order in which data passes through them.
pub const PHASES: [Phase; 12] = [
    Phase::Read,
    Phase::Decompress,
    Phase::Scan,
    Phase::Convert,
    Phase::Transform,
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
    /// The number of the stream, counted from 1.
    pub stream: usize,
    /// Seconds from the start of loading to the end of its last piece of work.
    pub ended_s: f64,
    /// Microseconds in each phase, by step; phases without any time are absent. The rest of a step is the time between
    /// phases or, after the end of the stream, idle time.
    pub phases_us: BTreeMap<Phase, Vec<u32>>,
    /// Rows sent.
    pub rows: Vec<u32>,
    /// Bytes of text read.
    pub text_bytes: Vec<u64>,
    /// Bytes sent.
    pub sent_bytes: Vec<u64>,
    /// Microseconds in which the thread ran on a CPU, by step (`schedstat`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Vec<u32>>,
    /// Microseconds in which the thread was ready and waited for a CPU, by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_us: Option<Vec<u32>>,
    /// The stream's backend, if the server could be queried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<BackendSeries>,
    /// The backends of the source's server from which it read, one after the other, if they could be sampled. The process
    /// id is that of the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_backend: Option<BackendSeries>,
    /// The stream's connection, if it uses TCP and the system has data about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp: Option<TcpSeries>,
}

/// The activity of a backend at a sample.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum BackendState {
    /// No wait event: it computes, or it is stopped if its CPU time does not grow.
    Cpu,
    /// `Client`: it waits for bytes from the loader, or until the loader or the network takes its bytes.
    Client,
    /// Writing, flushing or inserting WAL (`IO:WAL*`, `LWLock:WAL*`, `IPC:SyncRep`, but not `Timeout:VacuumDelay`); the log of
    /// SQL Server (`Tran Log IO`, `Log Rate Governor`, `Replication`).
    Wal,
    /// Reading, writing, extending or flushing data files (`IO:DataFile*` and other IO, `LWLock:BufferIO`; `Buffer IO`
    /// and `Other Disk IO` of SQL Server).
    DataFile,
    /// Waiting for a heavyweight lock of another session (`Lock`, except `Lock:extend`).
    Lock,
    /// Waiting for an internal lock of the server (`LWLock`, `Lock:extend`, `BufferPin`; `Latch` and `Buffer Latch` of
    /// SQL Server).
    Internal,
    /// Between statements or transactions: it waits for the loader.
    Idle,
    /// Any other wait.
    Other,
}

/// A stream's backend over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BackendSeries {
    /// The process id of the backend.
    pub process_id: i32,
    /// The samples by the phase of the stream's thread (`None`: between phases) and the state of the backend. Only both
    /// together show which of them waits for the other.
    pub samples: Vec<BackendSamples>,
    /// The number of samples of each wait event by its full name, such as `IO:WALWrite`, the most frequent first.
    pub events: Vec<(String, u32)>,
    /// The holders of the locks that it waited for, in words: process or session, user, application and state.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<String>,
    /// Microseconds in which it ran on a CPU, by step; only for a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_us: Option<Vec<u32>>,
    /// Microseconds in which it was ready and waited for a CPU, by step; only for a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_wait_us: Option<Vec<u32>>,
    /// The number of samples in which its process was stopped (`T`); only for a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_samples: Option<u32>,
    /// The number of samples in which its process was in uninterruptible sleep (`D`), nearly always because of a disk;
    /// only for a server on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_sleep_samples: Option<u32>,
}

/// The number of samples of a backend's state during a phase of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BackendSamples {
    /// The phase of the stream's thread.
    pub phase: Option<Phase>,
    /// The state of the backend.
    pub state: BackendState,
    /// The number of samples.
    pub samples: u32,
}

/// A TCP connection over time (`TCP_INFO`), as seen by the sender.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpSeries {
    /// Microseconds with data in flight or to send, by step.
    pub busy_us: Vec<u32>,
    /// Microseconds of `busy_us` that were limited by the receiver's window.
    pub receiver_limited_us: Vec<u32>,
    /// Microseconds of `busy_us` that were limited by the loader's send buffer.
    pub send_buffer_limited_us: Vec<u32>,
    /// Segments sent again.
    pub segments_sent_again: Vec<u32>,
    /// Segments sent.
    pub segments_sent: Vec<u32>,
    /// Smoothed round trip, microseconds, at the end of each step.
    pub round_trip_us: Vec<u32>,
    /// The shortest round trip, microseconds.
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

/// The kind of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ServerKind {
    /// PostgreSQL.
    #[default]
    #[serde(rename = "postgresql")]
    PostgreSql,
    /// SQL Server.
    #[serde(rename = "sqlserver")]
    SqlServer,
}

impl ServerKind {
    #[allow(
        clippy::trivially_copy_pass_by_ref,
        reason = "serde passes a reference"
    )]
    fn is_default(&self) -> bool {
        *self == ServerKind::default()
    }
}

/// Data that the destination's server reported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMeasurements {
    /// The server runs on the loader's machine, so its processes could be observed.
    pub is_local: bool,
    /// Milliseconds between two samples of its backends' states.
    pub sample_ms: u32,
    /// Its kind.
    #[serde(default, skip_serializing_if = "ServerKind::is_default")]
    pub kind: ServerKind,
    /// Why its backends were not sampled, or not any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_sampled: Option<String>,
    /// Bytes by which the files of the database's log grew while the streams ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_growth_bytes: Option<u64>,
    /// Bytes by which the data files of the database grew while the streams ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_growth_bytes: Option<u64>,
    /// Bytes of WAL that the whole server wrote while the streams ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wal_bytes: Option<u64>,
    /// The number of checkpoints meanwhile that were due by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_timed: Option<u64>,
    /// The number of checkpoints meanwhile because of the amount of WAL, or on request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints_requested: Option<u64>,
}

/// The facts about the source's server. If the flows read from several servers, each fact holds for at least one of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SourceServerMeasurements {
    /// The server runs on the loader's machine, so its processes could be observed.
    pub is_local: bool,
    /// It was reached over a network: it has an address that is not one of this machine, or its round trip is a
    /// millisecond or longer.
    pub is_over_network: bool,
    /// The shortest round trip to it, microseconds; absent without TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round_trip_us: Option<u32>,
    /// Milliseconds between two samples of its backends' states.
    pub sample_ms: u32,
}

/// The loader's machine over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MachineSeries {
    /// Cores that the loader may use.
    pub cores: usize,
    /// Microseconds in which all cores were busy, by step.
    pub cpu_us: Vec<u32>,
    /// Microseconds that other machines of the same host took (steal), by step.
    pub cpu_stolen_us: Vec<u32>,
    /// CPU microseconds of the loader's process, by step.
    pub loader_cpu_us: Vec<u32>,
    /// CPU microseconds of all its backends, by step, if the server is on this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backends_cpu_us: Option<Vec<u32>>,
    /// Microseconds in which a CPU limit of its control group stopped the loader, by step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_throttled_us: Option<Vec<u32>>,
    /// Bytes that the whole machine read from block devices.
    pub disk_read_bytes: Vec<u64>,
    /// Bytes that the whole machine wrote to block devices.
    pub disk_written_bytes: Vec<u64>,
    /// Milliseconds of each step in which the busiest block device was busy.
    pub disk_busy_ms: Vec<u32>,
    /// Resident memory of the loader, in bytes.
    pub loader_memory_bytes: Vec<u64>,
}
