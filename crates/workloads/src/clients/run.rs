//! One run: clients connect, begin together, and what they and the watcher measured becomes a result.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use inrush::cancel::Stop;
use inrush::clients::{ClientConnection, ClientServer, ServerTotals};
use inrush_system::process;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

use super::client::{CallShape, Client, Share, latencies};
use super::results::{
    ClientResult, ClientsResult, CostResult, CpuResult, LatencyResult, OpenLoopResult,
    RoundTripResult, RunResult, SecondResult, VerdictResult, WalResult,
};
use super::schedule::Schedule;
use super::seconds::{self, Gathered, WARM_UP_MAX_S};
use super::start_line::{Order, StartLine};
use super::verdict::judge;
use super::watcher::{Subjects, Watched, watch};
use super::worker::{BIN, Common, Ended, WorkerEnded, work};
use crate::error::WorkloadError;
use crate::statistics::{fairness, median, warm_up_end};

/// Between two looks at what the workers do.
const LOOK: Duration = Duration::from_millis(50);

/// Nanoseconds by which a thread may wake up late: calls of an open loop are to begin when they are meant to.
const TIMER_SLACK_NS: u64 = 1_000;

/// Bytes of WAL that a transaction has at least if it has written something.
const WRITING_BYTES_MIN: u64 = 32;

/// Clients that are named in an error at most.
const NAMED_MAX: usize = 5;

/// A run that is to be made.
pub struct RunPlan<'a> {
    /// The round, from 1.
    pub round: u16,
    /// Clients.
    pub clients: u16,
    /// Rows of all clients together, or the time.
    pub share: Share,
    /// How a client calls.
    pub shape: CallShape,
    /// In an open loop, calls per second of all clients together.
    pub rate: Option<f64>,
    /// Threads that move the clients.
    pub threads: usize,
    /// CPUs that they are placed on, in turn.
    pub cpus: &'a [usize],
    /// The folder for logs of latencies.
    pub folder: PathBuf,
    /// A line for the head of these logs.
    pub comment: String,
}

/// Why there is no result.
pub enum RunFailure {
    /// It was asked to stop.
    Stopped,
    /// Something failed.
    Failed(WorkloadError),
}

impl From<WorkloadError> for RunFailure {
    fn from(error: WorkloadError) -> RunFailure {
        RunFailure::Failed(error)
    }
}

impl From<inrush::clients::Error> for RunFailure {
    fn from(error: inrush::clients::Error) -> RunFailure {
        RunFailure::Failed(error.into())
    }
}

/// What a worker's thread tells before it begins.
#[derive(Default)]
struct Arrived {
    threads: Vec<i32>,
    sessions: Vec<i32>,
    connect_s: Vec<f64>,
    failures: Vec<(usize, WorkloadError)>,
}

/// What was measured.
struct Raw {
    workers: Vec<WorkerEnded>,
    gathered: Gathered,
    watched: Watched,
    start: Instant,
    connect_s_most: f64,
}

impl RunPlan<'_> {
    /// Makes the run.
    pub fn run(&self, server: &dyn ClientServer, stop: &Stop) -> Result<RunResult, RunFailure> {
        let calm_ms = calm_ms();
        let before = server.totals()?;
        let raw = self.measure(server, stop)?;
        let took = raw
            .workers
            .iter()
            .flat_map(|worker| &worker.clients)
            .filter_map(|client| client.measured.last_answer)
            .max()
            .map_or(Duration::ZERO, |last| {
                last.saturating_duration_since(raw.start)
            });
        self.require_all(&raw, stop)?;
        let logs = self.write_client_log(&raw, took)?;
        let mut result = self.result(&raw, took, calm_ms, logs);
        for worker in raw.workers {
            for client in worker.clients {
                client.connection.close();
            }
        }
        // Sessions hand in their counts when they end.
        let after = server.totals()?;
        note_totals(&mut result, &before, &after);
        let stored = server.rows_stored()?;
        if let Some(stored) = stored.filter(|stored| *stored != result.rows) {
            return Err(WorkloadError::RowsDiffer {
                answered: result.rows,
                stored,
            }
            .into());
        }
        result.verdict = judge(&result);
        Ok(result)
    }

    fn measure(&self, server: &dyn ClientServer, stop: &Stop) -> Result<Raw, RunFailure> {
        let line = StartLine::default();
        let common = Common {
            halt: AtomicBool::new(false),
            ended: AtomicU32::new(0),
        };
        let arrived = Mutex::new(Arrived::default());
        let watch_ended = AtomicBool::new(false);
        let (sender, receiver) = channel();
        let log = self.log_path();
        std::thread::scope(|scope| {
            let mut workers = Vec::new();
            for worker in 0..self.threads {
                let (sender, line, common, arrived) = (sender.clone(), &line, &common, &arrived);
                let body = move || {
                    let clients = self.connect(server, worker, arrived);
                    match line.arrive() {
                        Order::Begin(start) => {
                            Some((start, work(worker, clients, start, common, sender)))
                        }
                        Order::GiveUp => None,
                    }
                };
                match spawn(scope, &format!("client-{worker}"), body) {
                    Ok(handle) => workers.push(handle),
                    Err(error) => {
                        line.give(Order::GiveUp);
                        return Err(error.into());
                    }
                }
            }
            drop(sender);
            while !line.wait_for(self.threads, LOOK) {}
            let ready = std::mem::take(&mut *lock(&arrived));
            if let Some((client, error)) =
                ready.failures.into_iter().min_by_key(|(client, _)| *client)
            {
                line.give(Order::GiveUp);
                return Err(self
                    .not_connected(client, ready.sessions.len(), error)
                    .into());
            }
            let look = match server.watch() {
                Ok(look) if stop.asked().is_none() => look,
                Ok(_) => {
                    line.give(Order::GiveUp);
                    return Err(RunFailure::Stopped);
                }
                Err(error) => {
                    line.give(Order::GiveUp);
                    return Err(error.into());
                }
            };
            let (file, comment, threads) = (&log, &self.comment, self.threads);
            let gathering = spawn(scope, "latencies", move || {
                seconds::gather(&receiver, threads, file, comment)
            });
            let gathering = gathering.inspect_err(|_| line.give(Order::GiveUp))?;
            let start = Instant::now();
            line.give(Order::Begin(start));
            // A look may belong to one thread: this one looks, and another one hears whoever asks to stop.
            let (threads, sessions) = (ready.threads, ready.sessions);
            let supervising = spawn(scope, "supervisor", || {
                while !workers
                    .iter()
                    .all(std::thread::ScopedJoinHandle::is_finished)
                {
                    if stop.asked().is_some() {
                        common.halt.store(true, Ordering::Relaxed);
                    }
                    std::thread::sleep(LOOK / 5);
                }
                watch_ended.store(true, Ordering::Release);
                workers
                    .into_iter()
                    .filter_map(|worker| join(worker).map(|(_, ended)| ended))
                    .collect::<Vec<_>>()
            });
            let supervising =
                supervising.inspect_err(|_| common.halt.store(true, Ordering::Relaxed))?;
            let subjects = Subjects {
                sessions: &sessions,
                threads: &threads,
                start,
            };
            let watched = watch(look, &subjects, &watch_ended);
            let workers = join(supervising);
            let gathered = join(gathering).map_err(|source| WorkloadError::File {
                doing: "cannot write",
                path: log.clone(),
                source,
            })?;
            Ok(Raw {
                workers,
                gathered,
                watched,
                start,
                connect_s_most: ready.connect_s.into_iter().fold(0.0, f64::max),
            })
        })
    }

    /// Connects the clients of a worker: every so many-th of all.
    fn connect(
        &self,
        server: &dyn ClientServer,
        worker: usize,
        arrived: &Mutex<Arrived>,
    ) -> Vec<Client> {
        if let Some(cpu) = self.cpus.get(worker % self.cpus.len().max(1)) {
            let mut set = CpuSet::new();
            set.set(*cpu);
            if let Err(error) = sched_setaffinity(None, &set) {
                let error = WorkloadError::Usage {
                    what: format!("--cpus: a thread cannot run on CPU {cpu}: {error}"),
                    hint: "name CPUs of this machine that this process may use (`taskset -p $$`)"
                        .to_owned(),
                };
                lock(arrived).failures.push((0, error));
                return Vec::new();
            }
        }
        // Without it a call may begin 50 microseconds late, which is measured.
        let _ = set_current_timer_slack(std::num::NonZeroU64::new(TIMER_SLACK_NS));
        lock(arrived).threads.push(process::thread_id());
        let mut clients = Vec::new();
        let own = (1..=usize::from(self.clients))
            .skip(worker)
            .step_by(self.threads.max(1));
        for number in own {
            let begun = Instant::now();
            let connected = server.connect(number);
            let mut arrived = lock(arrived);
            match connected {
                Ok(connection) => {
                    arrived.sessions.push(connection.process_id());
                    arrived.connect_s.push(begun.elapsed().as_secs_f64());
                    clients.push(self.client(number, connection));
                }
                Err(error) => {
                    arrived.failures.push((number, error.into()));
                    break;
                }
            }
        }
        clients
    }

    fn client(&self, number: usize, connection: Box<dyn ClientConnection>) -> Client {
        let clients = u64::from(self.clients);
        let share = match self.share {
            Share::Rows(rows) => {
                let extra = u64::from((number as u64) <= rows % clients);
                Share::Rows(rows / clients + extra)
            }
            until @ Share::Until(_) => until,
        };
        let schedule = self
            .rate
            .map(|rate| Schedule::new(rate / clients as f64, number as u64));
        Client::new(number, connection, self.shape, share, schedule)
    }

    fn not_connected(
        &self,
        client: usize,
        connected: usize,
        error: WorkloadError,
    ) -> WorkloadError {
        if client == 0 {
            return error;
        }
        let hint = error.hint();
        WorkloadError::Clients {
            what: format!(
                "client {client} of {} could not connect, so there is no result: {error}",
                self.clients
            ),
            details: vec![format!(
                "  {connected} of {} clients were connected",
                self.clients
            )],
            hint,
        }
    }

    /// A run in which one client did not do its share is no result.
    fn require_all(&self, raw: &Raw, stop: &Stop) -> Result<(), RunFailure> {
        let clients: Vec<&Ended> = raw
            .workers
            .iter()
            .flat_map(|worker| &worker.clients)
            .collect();
        let finished = clients
            .iter()
            .filter(|client| client.measured.has_finished)
            .count();
        if finished == usize::from(self.clients) {
            return Ok(());
        }
        let failed = clients
            .iter()
            .filter_map(|client| Some((client, client.failure.as_ref()?)));
        let details: Vec<String> = failed
            .take(NAMED_MAX)
            .map(|(client, failure)| {
                format!(
                    "  client {} of {}, after {} calls: {}",
                    client.number, self.clients, client.measured.calls, failure.0
                )
            })
            .collect();
        if details.is_empty() && stop.asked().is_some() {
            return Err(RunFailure::Stopped);
        }
        Err(WorkloadError::Clients {
            what: format!(
                "{} of {} clients did not finish their share, so there is no result",
                usize::from(self.clients) - finished,
                self.clients
            ),
            details,
            hint: Some(
                "the server's log tells more of a statement that was refused or a session that ended"
                    .to_owned(),
            ),
        }
        .into())
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join(self.log_name(""))
    }

    fn log_name(&self, part: &str) -> String {
        format!("clients-{}-round-{}{part}.hlog", self.clients, self.round)
    }

    fn write_client_log(&self, raw: &Raw, took: Duration) -> Result<Vec<String>, WorkloadError> {
        let name = self.log_name("-each");
        let path = self.folder.join(&name);
        let mut clients: Vec<_> = raw
            .workers
            .iter()
            .flat_map(|worker| &worker.clients)
            .map(|client| {
                let measured = &client.measured;
                let histogram = measured.from_intended.as_ref().unwrap_or(&measured.service);
                (client.number, histogram)
            })
            .collect();
        clients.sort_by_key(|(number, _)| *number);
        seconds::write_clients(&path, &self.comment, took, clients.into_iter()).map_err(
            |source| WorkloadError::File {
                doing: "cannot write",
                path,
                source,
            },
        )?;
        Ok(vec![self.log_name(""), name])
    }

    fn result(&self, raw: &Raw, took: Duration, calm_ms: f64, logs: Vec<String>) -> RunResult {
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
        let (after, naive) = raw.gathered.from_second(warm_up_s);
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
            // Of the calls that were meant to begin, those that did not.
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

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope std::thread::Scope<'scope, '_>,
    name: &str,
    body: impl FnOnce() -> T + Send + 'scope,
) -> Result<std::thread::ScopedJoinHandle<'scope, T>, WorkloadError> {
    let builder = std::thread::Builder::new().name(format!("inrush-{name}"));
    let spawned = builder.spawn_scoped(scope, body);
    Ok(spawned.map_err(|source| inrush::Error::Threads { source })?)
}

fn join<T>(handle: std::thread::ScopedJoinHandle<'_, T>) -> T {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
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
    // What is left must be a run.
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
    // By Little's law: so many calls are at the server at any time, so each is there for so long.
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

fn note_totals(result: &mut RunResult, before: &ServerTotals, after: &ServerTotals) {
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

/// Milliseconds of a fixed piece of work: more than at other times, and the machine was not calm.
fn calm_ms() -> f64 {
    let begun = Instant::now();
    let mut value = 1_u64;
    for step in 0..20_000_000_u64 {
        value = std::hint::black_box(value.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ step);
    }
    std::hint::black_box(value);
    begun.elapsed().as_secs_f64() * 1e3
}
