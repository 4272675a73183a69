//! One run: clients connect and begin together, and the measurements of clients and watcher make a result.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use inrush::cancel::Stop;
use inrush::clients::{ClientConnection, ClientServer};
use inrush_system::process;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};

use super::client::{CallShape, Client, Share};
use super::results::RunResult;
use super::run_result::note_totals;
use super::schedule::Schedule;
use super::seconds::{self, Gathered};
use super::start_line::{Order, StartLine};
use super::verdict::judge;
use super::watcher::{Subjects, Watched, watch};
use super::worker::{Common, Ended, WorkerEnded, work};
use crate::error::WorkloadError;

/// The time between two checks of the workers.
const LOOK: Duration = Duration::from_millis(50);

/// Nanoseconds by which a thread may wake up late: calls of an open loop should begin on time.
const TIMER_SLACK_NS: u64 = 1_000;

/// The most clients that an error names.
const NAMED_MAX: usize = 5;

/// The plan of a run.
pub struct RunPlan<'a> {
    /// The round, from 1.
    pub round: u16,
    /// The number of clients.
    pub clients: u16,
    /// The work of all clients together: a number of rows, or a time.
    pub share: Share,
    /// How a client calls.
    pub shape: CallShape,
    /// In an open loop, calls per second of all clients together.
    pub rate: Option<f64>,
    /// Threads that run the clients.
    pub threads: usize,
    /// The CPUs on which the threads are placed, in turn.
    pub cpus: &'a [usize],
    /// The folder for logs of latencies.
    pub folder: PathBuf,
    /// A line for the head of these logs.
    pub comment: String,
}

/// The reason why there is no result.
pub enum RunFailure {
    /// The run was asked to stop.
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

/// The message of a worker's thread before it begins.
#[derive(Default)]
struct Arrived {
    threads: Vec<i32>,
    sessions: Vec<i32>,
    connect_s: Vec<f64>,
    failures: Vec<(usize, WorkloadError)>,
}

/// The raw measurements.
pub struct Raw {
    /// The workers, with their clients.
    pub workers: Vec<WorkerEnded>,
    /// Latencies.
    pub gathered: Gathered,
    /// The server and the machine.
    pub watched: Watched,
    /// The moment at which the clients began.
    pub start: Instant,
    /// Seconds of the slowest connection until it was ready.
    pub connect_s_most: f64,
}

impl RunPlan<'_> {
    /// Runs the clients.
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
        // Sessions report their counts when they end.
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
            // The connection for samples belongs to this thread; another thread waits for a request to stop.
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

    /// Connects the clients of a worker: each worker takes every n-th client.
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
        // Without this setting a call may begin 50 microseconds late, as measured.
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

    /// A run in which one client did not finish its share has no result.
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
                "the server's log says more about a refused statement or a session that ended"
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

/// Milliseconds that a fixed piece of work takes. If it takes longer than usual, the machine is busy with something
/// else.
fn calm_ms() -> f64 {
    let begun = Instant::now();
    let mut value = 1_u64;
    for step in 0..20_000_000_u64 {
        value = std::hint::black_box(value.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ step);
    }
    std::hint::black_box(value);
    begun.elapsed().as_secs_f64() * 1e3
}
