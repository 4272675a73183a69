//! The types of the results file. Its schema (docs/bench-clients.schema.json) is generated from these types.

use inrush::BackendState;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::client::Latencies;
use super::published::{PublishedRun, published};
use crate::etlwr::MachineResult;
use crate::statistics::median;

/// The version of the results file's format. A change of meaning raises it.
pub const RESULTS_VERSION: u32 = 1;

/// The results of `inrush bench inserts` or `inrush bench calls`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Results {
    /// The version of this file's format.
    pub results_version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// `inserts` or `calls`.
    pub workload: String,
    /// The command that does the same again.
    pub command: String,
    /// The start of the first run, RFC 3339.
    pub started_at: String,
    /// The end of the last run, RFC 3339.
    pub finished_at: String,
    /// `true`: the file has all requested runs. `false`: runs are in progress, were stopped, or one has failed.
    pub complete: bool,
    /// What the clients do.
    pub settings: SettingsResult,
    /// The machine of the clients.
    pub machine: MachineResult,
    /// The server.
    pub server: ServerResult,
    /// The runs, in the order in which they ran.
    pub runs: Vec<RunResult>,
    /// Runs that failed: no result is made of them.
    pub failed: Vec<FailedRun>,
    /// A point for each number of clients, the fewest first.
    pub curve: Vec<PointResult>,
    /// The verdict over all runs.
    pub verdict: Option<VerdictResult>,
    /// Published figures of the same workload.
    pub published: Vec<PublishedRun>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

/// What the clients do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsResult {
    /// The call or the row, in words.
    pub what: String,
    /// The statement.
    pub statement: String,
    /// `simple`, `extended` or `prepared`.
    pub protocol: String,
    /// Rows in a statement.
    pub batch: u32,
    /// Statements in a transaction.
    pub commit_every: u32,
    /// Calls of a client under way at a time.
    pub pipeline: u16,
    /// In an open loop, calls per second of all clients.
    pub rate: Option<f64>,
    /// The numbers of clients, in the order in which they are measured.
    pub clients: Vec<u16>,
    /// How often each of them is measured.
    pub rounds: u16,
    /// The most threads that run the clients.
    pub threads: usize,
    /// CPUs that these threads are placed on.
    pub cpus: Vec<usize>,
    /// Addresses that the clients use in turn.
    pub endpoints: Vec<String>,
}

/// The server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerResult {
    /// Its name and version.
    pub version: String,
    /// Its URL, without a password.
    pub destination: String,
    /// How it is reached: `unix socket`, `TCP` or `TLS`.
    pub way: String,
    /// Settings that matter to the workload.
    pub settings: Vec<(String, String)>,
}

/// A run with one number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// The number of the round, from 1.
    pub round: u16,
    /// Clients.
    pub clients: u16,
    /// Its start, RFC 3339.
    pub started_at: String,
    /// Seconds from the start of the clients to the last answer.
    pub seconds: f64,
    /// Seconds at the start that are cut off as warm-up; 0 if nothing changed.
    pub warm_up_s: f64,
    /// Calls that were answered, warm-up included.
    pub calls: u64,
    /// Rows that were inserted, warm-up included; verified against the table. For calls without rows, the calls.
    pub rows: u64,
    /// Transactions that were committed.
    pub commits: u64,
    /// Calls per second after the warm-up.
    pub calls_per_s: f64,
    /// Rows per second after the warm-up.
    pub rows_per_s: f64,
    /// Bytes of a row in the table and its indexes, if the workload has a table.
    pub row_bytes: Option<f64>,
    /// Whether all clients ran, and how alike.
    pub all_clients: ClientsResult,
    /// Latencies after the warm-up: in an open loop from the intended start of each call.
    pub latency: LatencyResult,
    /// In an open loop, the naive figure beside it: from when a call was really sent.
    pub naive_latency: Option<LatencyResult>,
    /// In an open loop, whether the rate was held.
    pub open_loop: Option<OpenLoopResult>,
    /// What the sessions of the clients did, by samples, the largest share first.
    pub states: Vec<StateShare>,
    /// Their wait events, by samples, the largest share first; `CPU` is a session without one.
    pub events: Vec<(String, f64)>,
    /// Samples of the server, ten in a second.
    pub looks: u64,
    /// A call and its parts.
    pub round_trip: RoundTripResult,
    /// CPU of clients, server and others.
    pub cpu: CpuResult,
    /// WAL of the server, other sessions included.
    pub wal: WalResult,
    /// What a call costs.
    pub cost: CostResult,
    /// A line for each second.
    pub per_second: Vec<SecondResult>,
    /// What limited the run.
    pub verdict: VerdictResult,
    /// Jumps of the wall clock: by how many seconds, and how many seconds after the start. Times are measured by another
    /// clock, which cannot be set.
    pub clock_jumps: Vec<(f64, f64)>,
    /// Milliseconds that a fixed piece of work took before the run: more than usual if the machine was busy.
    pub calm_ms: f64,
    /// Files with the latencies of each second, and of each client, in the log format of HdrHistogram.
    pub logs: Vec<String>,
}

/// Whether all clients ran, and how alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientsResult {
    /// The requested number of clients.
    pub asked: usize,
    /// Clients that connected.
    pub connected: usize,
    /// Clients that finished their share.
    pub finished: usize,
    /// Milliseconds of the slowest connection until it was ready.
    pub connect_ms_most: f64,
    /// Milliseconds between the first call of the first client and that of the last one.
    pub start_spread_ms: f64,
    /// Jain's fairness index of the calls per second of each client: 1 if all are equal.
    pub fairness: f64,
    /// Calls per second of the slowest client.
    pub least_per_s: f64,
    /// The median of all clients.
    pub median_per_s: f64,
    /// Calls per second of the fastest client.
    pub most_per_s: f64,
    /// The number of the slowest client.
    pub slowest: usize,
    /// Each client.
    pub each: Vec<ClientResult>,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientResult {
    /// Its number, from 1.
    pub client: usize,
    /// The server's process that answered it.
    pub process: i32,
    /// Calls that were answered.
    pub calls: u64,
    /// Seconds from its first call to its last answer.
    pub seconds: f64,
    /// Calls per second.
    pub calls_per_s: f64,
    /// Its latencies, from sending, warm-up included.
    pub latency: LatencyResult,
}

/// Latencies, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LatencyResult {
    /// Calls.
    pub count: u64,
    /// The mean.
    pub mean_us: f64,
    /// The least.
    pub least_us: f64,
    /// Half of the calls took no longer.
    pub p50_us: f64,
    /// 90 % took no longer.
    pub p90_us: f64,
    /// 99 %.
    pub p99_us: f64,
    /// 99.9 %.
    pub p99_9_us: f64,
    /// 99.99 %.
    pub p99_99_us: f64,
    /// The longest.
    pub most_us: f64,
}

impl LatencyResult {
    /// The latencies of a histogram in nanoseconds.
    pub fn of(histogram: &Latencies) -> LatencyResult {
        if histogram.is_empty() {
            return LatencyResult::default();
        }
        let quantile = |share: f64| histogram.value_at_quantile(share) as f64 / 1e3;
        LatencyResult {
            count: histogram.len(),
            mean_us: histogram.mean() / 1e3,
            least_us: histogram.min() as f64 / 1e3,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p99_9_us: quantile(0.999),
            p99_99_us: quantile(0.9999),
            most_us: histogram.max() as f64 / 1e3,
        }
    }
}

/// Whether the rate of an open loop was held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OpenLoopResult {
    /// The requested calls per second.
    pub rate_asked: f64,
    /// Calls per second that were made.
    pub rate_made: f64,
    /// The share of the asked rate that was not made, 0 to 1.
    pub behind_share: f64,
    /// Calls that were meant to begin before the end and did not.
    pub not_begun: u64,
    /// How late the last call of the latest client began, in seconds.
    pub late_s: f64,
}

/// A state of sessions with its share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateShare {
    /// The state.
    pub state: BackendState,
    /// Its share of all samples, 0 to 1.
    pub share: f64,
}

/// The parts of a call, which is longer than a round trip of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTripResult {
    /// Microseconds from sending a call to its answer, the mean.
    pub call_us: f64,
    /// Microseconds of it that the server's session was at work or waited within the server, by samples.
    pub server_us: Option<f64>,
    /// Microseconds of the network's round trip, as TCP measured it, the median of all connections.
    pub tcp_us: Option<f64>,
    /// The least round trip of any connection.
    pub tcp_least_us: Option<f64>,
}

/// CPU of clients, server and others, in cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CpuResult {
    /// Cores of the clients' machine.
    pub cores: usize,
    /// Threads that ran the clients.
    pub threads: usize,
    /// Cores that the clients' threads kept busy.
    pub clients: f64,
    /// Further cores that they would have used if they had never waited for a CPU.
    pub clients_waiting: f64,
    /// Cores that the server's processes kept busy, if they are on this machine.
    pub server: Option<f64>,
    /// Cores that other processes kept busy: the noise of the machine.
    pub others: f64,
    /// Cores that the host gave to other machines.
    pub stolen: f64,
    /// Threads that ran or waited for a CPU, on average.
    pub running: f64,
}

/// WAL of the server during the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WalResult {
    /// Bytes.
    pub bytes: u64,
    /// Whole pages in it.
    pub full_pages: u64,
    /// Flushes, if the server counts them.
    pub flushes: Option<u64>,
    /// Transactions that one flush committed, on average: the size of a group commit.
    pub commits_per_flush: Option<f64>,
    /// Checkpoints that ended.
    pub checkpoints: u64,
}

/// What a call costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostResult {
    /// Microseconds of CPU of the clients.
    pub client_us: f64,
    /// Microseconds of CPU of the server, if it is on this machine.
    pub server_us: Option<f64>,
    /// Bytes of WAL.
    pub wal_bytes: f64,
    /// Packets in both directions, if the connection is TCP.
    pub packets: Option<f64>,
    /// Context switches of the clients.
    pub client_switches: f64,
    /// Context switches of the server's sessions, if they are on this machine.
    pub server_switches: Option<f64>,
    /// Calls per second for each core that clients and server kept busy.
    pub calls_per_s_per_core: Option<f64>,
}

/// A second of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SecondResult {
    /// The second, from 0.
    pub second: usize,
    /// True if it is cut off as warm-up.
    pub is_warm_up: bool,
    /// Calls that were answered in it.
    pub calls: u64,
    /// The median of their latencies, microseconds.
    pub p50_us: f64,
    /// 99 % of them took no longer.
    pub p99_us: f64,
    /// The longest.
    pub most_us: f64,
    /// Cores that the clients kept busy.
    pub cpu_clients: f64,
    /// Cores that the server kept busy.
    pub cpu_server: Option<f64>,
    /// Cores that others kept busy.
    pub cpu_others: f64,
    /// Threads that ran or waited for a CPU at its end.
    pub running: u64,
    /// Bytes of WAL.
    pub wal_bytes: u64,
    /// Bytes of WAL that were not flushed at its end.
    pub wal_unflushed_bytes: u64,
    /// Bytes by which the table grew.
    pub extended_bytes: u64,
    /// Samples of sessions by their state.
    pub states: Vec<(BackendState, u64)>,
    /// What happened in it: checkpoints, autovacuum, segments of WAL.
    pub marks: Vec<String>,
}

/// What limited a run, or all of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictResult {
    /// One line for people: what limits, and what to change.
    pub line: String,
    /// What limits, in a few words.
    pub limit: String,
    /// The evidence, in words and figures.
    pub evidence: Vec<String>,
    /// What to change.
    pub change: String,
}

/// A run that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailedRun {
    /// The number of the round, from 1.
    pub round: u16,
    /// Clients.
    pub clients: u16,
    /// The reason.
    pub reason: String,
}

/// A point of the curve: all runs with one number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PointResult {
    /// Clients.
    pub clients: u16,
    /// Runs.
    pub runs: usize,
    /// The median of their calls per second.
    pub calls_per_s: f64,
    /// Calls per second of the slowest run.
    pub calls_per_s_least: f64,
    /// Calls per second of the fastest run.
    pub calls_per_s_most: f64,
    /// The median of their rows per second.
    pub rows_per_s: f64,
    /// The median of the medians of latency, microseconds.
    pub p50_us: f64,
    /// The median of the 99 % latencies.
    pub p99_us: f64,
    /// The median of the 99.99 % latencies.
    pub p99_99_us: f64,
    /// The least fairness of its runs.
    pub fairness: f64,
    /// The states of sessions in the run in the middle.
    pub states: Vec<StateShare>,
    /// What limits there, in a few words.
    pub limit: String,
    /// True if no other point has more calls per second.
    pub is_best: bool,
}

/// The facts that are known before the first run ends.
pub struct Begun<'a> {
    /// The command that does the same again.
    pub command: &'a str,
    /// `inserts` or `calls`.
    pub workload: &'a str,
    /// What the clients do.
    pub settings: SettingsResult,
    /// The machine.
    pub machine: MachineResult,
    /// The server.
    pub server: ServerResult,
    /// The present time, RFC 3339.
    pub started_at: String,
}

impl Results {
    /// Results without a run.
    pub fn begin(begun: Begun<'_>) -> Results {
        Results {
            results_version: RESULTS_VERSION,
            inrush_version: env!("CARGO_PKG_VERSION").to_owned(),
            workload: begun.workload.to_owned(),
            command: begun.command.to_owned(),
            started_at: begun.started_at.clone(),
            finished_at: begun.started_at,
            complete: false,
            settings: begun.settings,
            machine: begun.machine,
            server: begun.server,
            runs: Vec::new(),
            failed: Vec::new(),
            curve: Vec::new(),
            verdict: None,
            published: published(begun.workload),
            notes: Vec::new(),
        }
    }

    /// Adds a run.
    pub fn push(&mut self, run: RunResult, finished_at: String) {
        self.finished_at = finished_at;
        self.runs.push(run);
        self.curve = curve(&self.runs);
        self.verdict = super::verdict::over_all(&self.curve, &self.runs, &self.workload);
    }

    /// True if the results have this run.
    pub fn has(&self, round: u16, clients: u16) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|run| run.round == round && run.clients == clients)
    }

    /// Adds a note, unless the results have it already.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The point with the most calls per second.
    pub fn best(&self) -> Option<&PointResult> {
        self.curve.iter().find(|point| point.is_best)
    }
}

/// The run with the median rate among those with one number of clients.
pub fn middle_run(runs: &[RunResult], clients: u16) -> Option<&RunResult> {
    let mut own: Vec<&RunResult> = runs.iter().filter(|run| run.clients == clients).collect();
    own.sort_by(|one, other| one.calls_per_s.total_cmp(&other.calls_per_s));
    own.get(own.len().saturating_sub(1) / 2).copied()
}

/// A point for each number of clients.
pub fn curve(runs: &[RunResult]) -> Vec<PointResult> {
    let mut clients: Vec<u16> = runs.iter().map(|run| run.clients).collect();
    clients.sort_unstable();
    clients.dedup();
    let point = |clients: u16| {
        let own: Vec<&RunResult> = runs.iter().filter(|run| run.clients == clients).collect();
        let sorted = |figure: fn(&RunResult) -> f64| {
            let mut figures: Vec<f64> = own.iter().map(|run| figure(run)).collect();
            figures.sort_by(f64::total_cmp);
            figures
        };
        let rates = sorted(|run| run.calls_per_s);
        let middle = middle_run(runs, clients);
        PointResult {
            clients,
            runs: own.len(),
            calls_per_s: median(&rates),
            calls_per_s_least: rates.first().copied().unwrap_or(0.0),
            calls_per_s_most: rates.last().copied().unwrap_or(0.0),
            rows_per_s: median(&sorted(|run| run.rows_per_s)),
            p50_us: median(&sorted(|run| run.latency.p50_us)),
            p99_us: median(&sorted(|run| run.latency.p99_us)),
            p99_99_us: median(&sorted(|run| run.latency.p99_99_us)),
            fairness: sorted(|run| run.all_clients.fairness)
                .first()
                .copied()
                .unwrap_or(1.0),
            states: middle.map(|run| run.states.clone()).unwrap_or_default(),
            limit: middle
                .map(|run| run.verdict.limit.clone())
                .unwrap_or_default(),
            is_best: false,
        }
    };
    let mut points: Vec<PointResult> = clients.into_iter().map(point).collect();
    let best = points
        .iter()
        .enumerate()
        .max_by(|(_, one), (_, other)| one.calls_per_s.total_cmp(&other.calls_per_s))
        .map(|(index, _)| index);
    if let Some(best) = best {
        points[best].is_best = true;
    }
    points
}

/// The JSON schema of the results file.
#[cfg(test)]
pub fn results_schema() -> serde_json::Value {
    schemars::schema_for!(Results).to_value()
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// Results without a run.
    pub fn begun(command: &str) -> Results {
        Results::begin(Begun {
            command,
            workload: "calls",
            settings: SettingsResult {
                what: "a function without a table".to_owned(),
                statement: "x".to_owned(),
                protocol: "simple".to_owned(),
                batch: 1,
                commit_every: 1,
                pipeline: 1,
                rate: None,
                clients: vec![8, 64],
                rounds: 1,
                threads: 1,
                cpus: Vec::new(),
                endpoints: Vec::new(),
            },
            machine: MachineResult {
                cores: 8,
                processor: "p".to_owned(),
                memory_bytes: 1,
                kernel: "6".to_owned(),
            },
            server: ServerResult::default(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
        })
    }

    /// A run with this number of clients and rate, whose sessions were in these states.
    pub fn run(round: u16, clients: u16, rate: f64, states: &[(BackendState, f64)]) -> RunResult {
        RunResult {
            round,
            clients,
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            seconds: 10.0,
            warm_up_s: 0.0,
            calls: (rate * 10.0) as u64,
            rows: (rate * 10.0) as u64,
            commits: (rate * 10.0) as u64,
            calls_per_s: rate,
            rows_per_s: rate,
            row_bytes: None,
            all_clients: ClientsResult {
                asked: usize::from(clients),
                connected: usize::from(clients),
                finished: usize::from(clients),
                connect_ms_most: 5.0,
                start_spread_ms: 1.0,
                fairness: 0.99,
                least_per_s: rate,
                median_per_s: rate,
                most_per_s: rate,
                slowest: 1,
                each: Vec::new(),
            },
            latency: LatencyResult {
                count: (rate * 10.0) as u64,
                mean_us: f64::from(clients) / rate * 1e6,
                ..LatencyResult::default()
            },
            naive_latency: None,
            open_loop: None,
            states: states
                .iter()
                .map(|&(state, share)| StateShare { state, share })
                .collect(),
            events: Vec::new(),
            looks: 100,
            round_trip: RoundTripResult {
                call_us: f64::from(clients) / rate * 1e6,
                ..RoundTripResult::default()
            },
            cpu: CpuResult {
                cores: 8,
                threads: 4,
                clients: 1.0,
                server: Some(2.0),
                ..CpuResult::default()
            },
            wal: WalResult::default(),
            cost: CostResult::default(),
            per_second: Vec::new(),
            verdict: VerdictResult::default(),
            clock_jumps: Vec::new(),
            calm_ms: 1.0,
            logs: Vec::new(),
        }
    }

    #[test]
    fn the_curve_is_made_of_medians_and_names_its_best_point() {
        let runs = [
            run(1, 8, 800.0, &[]),
            run(1, 1, 100.0, &[]),
            run(2, 8, 1000.0, &[]),
            run(3, 8, 900.0, &[]),
            run(1, 64, 700.0, &[]),
        ];
        let points = curve(&runs);
        let seen: Vec<_> = points
            .iter()
            .map(|point| (point.clients, point.runs, point.calls_per_s, point.is_best))
            .collect();
        assert_eq!(
            seen,
            [
                (1, 1, 100.0, false),
                (8, 3, 900.0, true),
                (64, 1, 700.0, false)
            ]
        );
        assert_eq!(
            (points[1].calls_per_s_least, points[1].calls_per_s_most),
            (800.0, 1000.0)
        );
        assert!(curve(&[]).is_empty());
    }
}
