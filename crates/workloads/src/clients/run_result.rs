//! Computes the result of a run from the measurements of clients and watcher.

use std::time::Duration;

use inrush::clients::ServerTotals;

use super::client::{Share, latencies};
use super::results::{
    ClientResult, ClientsResult, CostResult, CpuResult, LatencyResult, OpenLoopResult,
    RoundTripResult, RunResult, SecondResult, VerdictResult, WalResult,
};
use super::run::{Raw, RunPlan};
use super::seconds::{self, WARM_UP_MAX_S};
use super::watcher::Watched;
use super::worker::{BIN, Ended, WorkerEnded};
use crate::statistics::{fairness, median, warm_up_end};

/// The least bytes of WAL of a transaction that has written something.
const WRITING_BYTES_MIN: u64 = 32;

impl RunPlan<'_> {
    /// The result of the run, without the figures that the server counts at its end.
    pub fn result(&self, raw: &Raw, took: Duration, calm_ms: f64, logs: Vec<String>) -> RunResult {
        let seconds = took.as_secs_f64().max(1e-9);
        let mut clients: Vec<&Ended> = raw
            .workers
            .iter()
            .flat_map(|worker| &worker.clients)
            .collect();
        clients.sort_by_key(|client| client.number);
        let sum = |figure: fn(&Ended) -> u64| -> u64 {
            clients.iter().map(|client| figure(client)).sum()
        };
        let calls = sum(|client| client.measured.calls);
        let rows = sum(|client| client.measured.rows);
        let warm_up_s = warm_up_s(&raw.workers, raw.gathered.seconds.len());
        let (after, naive) = raw.gathered.since_second(warm_up_s);
        let cut = raw.gathered.seconds.iter().take(warm_up_s);
        let cut: u64 = cut.map(|second| second.count).sum();
        let calls_per_s = (calls - cut) as f64 / (seconds - warm_up_s as f64).max(1e-9);
        let mut services = latencies();
        for client in &clients {
            seconds::add(&mut services, &client.measured.service);
        }
        RunResult {
            round: self.round,
            clients: self.clients,
            started_at: String::new(),
            seconds,
            warm_up_s: warm_up_s as f64,
            calls,
            rows,
            commits: sum(|client| client.measured.commits),
            calls_per_s,
            rows_per_s: calls_per_s * rows as f64 / calls.max(1) as f64,
            row_bytes: None,
            all_clients: self.all_clients(&clients, raw.connect_s_most),
            latency: LatencyResult::of(&after),
            naive_latency: naive.as_ref().map(LatencyResult::of),
            open_loop: self.open_loop(&clients, calls_per_s),
            states: raw.watched.states(),
            events: raw.watched.events(),
            looks: raw.watched.looks,
            round_trip: round_trip(
                &clients,
                services.mean() / 1e3,
                &raw.watched,
                calls as f64 / seconds,
            ),
            cpu: self.cpu(raw, seconds),
            wal: WalResult::default(),
            cost: self.cost(raw, &clients, calls),
            per_second: per_second(raw, warm_up_s),
            verdict: VerdictResult::default(),
            clock_jumps: raw.watched.clock_jumps.clone(),
            calm_ms,
            logs,
        }
    }

    fn all_clients(&self, clients: &[&Ended], connect_s_most: f64) -> ClientsResult {
        let each: Vec<ClientResult> = clients
            .iter()
            .map(|client| {
                let measured = &client.measured;
                let took = measured.first_call.zip(measured.last_answer);
                let seconds = took.map_or(0.0, |(first, last)| {
                    last.saturating_duration_since(first).as_secs_f64()
                });
                ClientResult {
                    client: client.number,
                    process: client.connection.process_id(),
                    calls: measured.calls,
                    seconds,
                    calls_per_s: measured.calls as f64 / seconds.max(1e-9),
                    latency: LatencyResult::of(&measured.service),
                }
            })
            .collect();
        let mut rates: Vec<f64> = each.iter().map(|client| client.calls_per_s).collect();
        let fairness = fairness(&rates);
        rates.sort_by(f64::total_cmp);
        let firsts = clients
            .iter()
            .filter_map(|client| client.measured.first_call);
        let spread = firsts.clone().max().zip(firsts.min());
        let slowest = each
            .iter()
            .min_by(|one, other| one.calls_per_s.total_cmp(&other.calls_per_s));
        ClientsResult {
            asked: usize::from(self.clients),
            connected: clients.len(),
            finished: clients
                .iter()
                .filter(|client| client.measured.has_finished)
                .count(),
            connect_ms_most: connect_s_most * 1e3,
            start_spread_ms: spread.map_or(0.0, |(last, first)| {
                last.saturating_duration_since(first).as_secs_f64() * 1e3
            }),
            fairness,
            least_per_s: rates.first().copied().unwrap_or(0.0),
            median_per_s: median(&rates),
            most_per_s: rates.last().copied().unwrap_or(0.0),
            slowest: slowest.map_or(0, |client| client.client),
            each,
        }
    }

    fn open_loop(&self, clients: &[&Ended], calls_per_s: f64) -> Option<OpenLoopResult> {
        let rate_asked = self.rate?;
        let not_begun: u64 = clients.iter().map(|client| client.measured.not_begun).sum();
        let calls: u64 = clients.iter().map(|client| client.measured.calls).sum();
        let late = clients.iter().map(|client| client.measured.late).max();
        let behind_share = match self.share {
            // The share of the intended calls that did not begin.
            Share::Until(_) => not_begun as f64 / (calls + not_begun).max(1) as f64,
            Share::Rows(_) => (1.0 - calls_per_s / rate_asked).max(0.0),
        };
        Some(OpenLoopResult {
            rate_asked,
            rate_made: calls_per_s,
            behind_share,
            not_begun,
            late_s: late.unwrap_or_default().as_secs_f64(),
        })
    }

    fn cpu(&self, raw: &Raw, seconds: f64) -> CpuResult {
        let watched = &raw.watched;
        let cores = |us: u64| us as f64 / 1e6 / seconds;
        let clients = cores(raw.workers.iter().map(|worker| worker.cpu_us).sum());
        let server = watched.server_cpu_us.map(cores);
        CpuResult {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            threads: self.threads,
            clients,
            clients_waiting: cores(raw.workers.iter().map(|worker| worker.cpu_wait_us).sum()),
            server,
            others: (cores(watched.machine_cpu_us) - clients - server.unwrap_or(0.0)).max(0.0),
            stolen: cores(watched.stolen_us),
            running: watched.running_mean,
        }
    }

    fn cost(&self, raw: &Raw, clients: &[&Ended], calls: u64) -> CostResult {
        let each = |sum: u64| sum as f64 / calls.max(1) as f64;
        let client_us = each(raw.workers.iter().map(|worker| worker.cpu_us).sum());
        let server_us = raw.watched.server_cpu_us.map(each);
        let tcp: Vec<u64> = clients
            .iter()
            .filter_map(|client| Some(client.connection.network()?.packets))
            .collect();
        CostResult {
            client_us,
            server_us,
            wal_bytes: 0.0,
            packets: (!tcp.is_empty()).then(|| each(tcp.iter().sum())),
            client_switches: each(raw.workers.iter().map(|worker| worker.switches).sum()),
            server_switches: raw.watched.server_switches.map(each),
            calls_per_s_per_core: server_us
                .map(|server_us| 1e6 / (client_us + server_us).max(1e-9)),
        }
    }
}

/// Whole seconds of warm-up, by the bins of all workers together.
fn warm_up_s(workers: &[WorkerEnded], seconds: usize) -> usize {
    let bins = workers
        .iter()
        .map(|worker| worker.bins.len())
        .max()
        .unwrap_or(0);
    let per_second = (1000 / BIN.as_millis()) as usize;
    let mut counts = vec![0_u32; bins.min(WARM_UP_MAX_S * per_second * 2)];
    for worker in workers {
        for (sum, count) in counts.iter_mut().zip(&worker.bins) {
            *sum += count;
        }
    }
    let end = warm_up_end(&counts).map_or(0, |bin| bin.div_ceil(per_second));
    // More than half of the run must remain after the warm-up.
    match end * 2 < seconds && end <= WARM_UP_MAX_S {
        true => end,
        false => 0,
    }
}

fn round_trip(
    clients: &[&Ended],
    call_us: f64,
    watched: &Watched,
    calls_per_s: f64,
) -> RoundTripResult {
    let facts: Vec<_> = clients
        .iter()
        .filter_map(|client| client.connection.network())
        .collect();
    let mut trips: Vec<f64> = facts
        .iter()
        .map(|tcp| f64::from(tcp.round_trip_us))
        .collect();
    trips.sort_by(f64::total_cmp);
    let least = facts.iter().map(|tcp| tcp.round_trip_least_us).min();
    // By Little's law: the mean number of calls at the server divided by the calls per second is the mean time of a
    // call there.
    let server_us = watched
        .active_mean()
        .map(|active| active / calls_per_s.max(1e-9) * 1e6);
    RoundTripResult {
        call_us,
        server_us: server_us.map(|server_us| server_us.min(call_us)),
        tcp_us: (!trips.is_empty()).then(|| median(&trips)),
        tcp_least_us: least.map(f64::from),
    }
}

fn per_second(raw: &Raw, warm_up_s: usize) -> Vec<SecondResult> {
    let cores = |us: u64| us as f64 / 1e6;
    let seconds = raw.gathered.seconds.iter().enumerate();
    seconds
        .map(|(second, latency)| {
            let seen = raw.watched.seconds.get(second).cloned().unwrap_or_default();
            let mut marks = Vec::new();
            let mut mark = |count: u64, what: &str| {
                if count > 0 {
                    marks.push(format!("{what}: {count}"));
                }
            };
            mark(seen.checkpoints, "checkpoints");
            mark(u64::from(seen.vacuum_workers), "autovacuum workers");
            mark(seen.wal_segments, "WAL segments");
            if seen.extended_bytes > 0 {
                marks.push(format!(
                    "table +{}",
                    inrush::quantity::bytes(seen.extended_bytes)
                ));
            }
            SecondResult {
                second,
                is_warm_up: second < warm_up_s,
                calls: latency.count,
                p50_us: latency.p50_us,
                p99_us: latency.p99_us,
                most_us: latency.most_us,
                cpu_clients: cores(seen.client_cpu_us),
                cpu_server: seen.server_cpu_us.map(cores),
                cpu_others: cores(seen.other_cpu_us),
                running: seen.running,
                wal_bytes: seen.wal_bytes,
                wal_unflushed_bytes: seen.wal_unflushed_bytes,
                extended_bytes: seen.extended_bytes,
                states: seen.states.into_iter().collect(),
                marks,
            }
        })
        .collect()
}

/// Adds the figures that the server counts.
pub fn note_totals(result: &mut RunResult, before: &ServerTotals, after: &ServerTotals) {
    let wal_bytes = after.wal_bytes.saturating_sub(before.wal_bytes);
    let flushes = after.wal_flushes.zip(before.wal_flushes);
    let flushes = flushes.map(|(after, before)| after.saturating_sub(before));
    result.wal = WalResult {
        bytes: wal_bytes,
        full_pages: after.wal_full_pages.saturating_sub(before.wal_full_pages),
        flushes,
        commits_per_flush: flushes
            // Calls that change nothing commit without a flush.
            .filter(|flushes| *flushes > 0 && wal_bytes >= WRITING_BYTES_MIN * result.commits)
            .map(|flushes| result.commits as f64 / flushes as f64),
        checkpoints: after.checkpoints.saturating_sub(before.checkpoints),
    };
    result.cost.wal_bytes = wal_bytes as f64 / result.calls.max(1) as f64;
}
