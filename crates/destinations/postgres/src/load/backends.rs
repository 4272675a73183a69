//! The states of the streams' backends, as the server reports them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_engine::error::Error;
use inrush_engine::native::load::Gauge;
use inrush_engine::native::run::{Backends, Looking};
use inrush_pgclient::activity::{backend_state, event_name, holder, holders_of, states_of};
use inrush_pgclient::local_backend::is_backend;
use inrush_rows::ids::RunName;
use inrush_system::process;
use inrush_system::tcp::TcpConnection;
use inrush_verdict::{BackendSeries, BackendTally, ServerMeasurements};
use tokio_postgres::Statement;

use crate::{DatabaseAddress, Session};

/// The longest wait for the server's answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pause after a failure; it is longer after each further one.
const PAUSE: Duration = Duration::from_secs(5);

/// After this many failures the server is not asked again.
const FAILURES_MAX: u32 = 6;

/// The process ids of a question, as its parameter.
const PROCESS_IDS: &str = "$1::pg_catalog.int4[]";

/// Samples the server, over a separate connection that is opened after those of the streams.
pub struct ServerBackends<'a> {
    address: &'a DatabaseAddress,
    name: String,
    /// `server_version_num`.
    version: i32,
    connection: WatchConnection,
    failures: u32,
    streams: Vec<WatchedBackend>,
    first: Option<Totals>,
    is_local: bool,
}

enum WatchConnection {
    /// Opened when it is needed, but not before this time.
    Wanted(Instant),
    Open(Box<(Session, Statement)>),
    /// Given up after too many failures.
    GivenUp,
}

/// The samples of one stream's backend.
#[derive(Default)]
struct WatchedBackend {
    process_id: i32,
    is_local: bool,
    tally: BackendTally,
}

/// Counters of the whole server.
#[derive(Clone, Copy)]
struct Totals {
    wal_bytes: i64,
    checkpoints_timed: i64,
    checkpoints_requested: i64,
}

impl<'a> ServerBackends<'a> {
    /// Prepares to sample the backends of a run with this number of streams.
    pub fn new(
        address: &'a DatabaseAddress,
        run: &RunName,
        version: i32,
        streams: usize,
    ) -> ServerBackends<'a> {
        ServerBackends {
            address,
            name: format!("inrush {run} meter"),
            version,
            connection: WatchConnection::Wanted(Instant::now()),
            failures: 0,
            streams: (0..streams).map(|_| WatchedBackend::default()).collect(),
            first: None,
            is_local: false,
        }
    }

    /// Samples all backends. If the server fails to answer, it is asked again later; the load continues without
    /// samples.
    async fn look_at_all(&mut self, gauges: &[Arc<Gauge>]) {
        for (stream, gauge) in self.streams.iter_mut().zip(gauges) {
            if stream.process_id != gauge.process_id() {
                stream.process_id = gauge.process_id();
                let is_near = gauge.tcp().is_none_or(TcpConnection::is_loopback);
                let database = self.address.config.get_dbname().unwrap_or_default();
                stream.is_local = is_near && is_backend(stream.process_id, database);
                self.is_local |= stream.is_local;
            }
        }
        let process_ids: Vec<i32> = self
            .streams
            .iter()
            .map(|stream| stream.process_id)
            .filter(|process_id| *process_id != 0)
            .collect();
        let is_in_peace =
            matches!(self.connection, WatchConnection::Wanted(from) if Instant::now() < from);
        if process_ids.is_empty() || is_in_peace {
            return;
        }
        let asked = tokio::time::timeout(PATIENCE, self.ask(&process_ids, gauges)).await;
        match asked {
            Ok(Ok(())) => self.failures = 0,
            _ => self.leave_in_peace(),
        }
    }

    async fn ask(&mut self, process_ids: &[i32], gauges: &[Arc<Gauge>]) -> Result<(), Error> {
        if matches!(self.connection, WatchConnection::Wanted(_)) {
            let session = Session::open(self.address, &self.name).await?;
            let doing = "preparing to look at the streams' backends";
            let prepared = session.client.prepare(&states_of(PROCESS_IDS)).await;
            let states = prepared.map_err(|error| session.error(error, doing))?;
            if self.first.is_none() {
                self.first = Some(totals(&session, self.version).await?);
            }
            self.connection = WatchConnection::Open(Box::new((session, states)));
        }
        let WatchConnection::Open(open) = &self.connection else {
            return Ok(());
        };
        let (session, states) = &**open;
        let doing = "looking at the streams' backends";
        // The stream's phase is read as close as possible to the time of its backend's answer.
        let rows = session.client.query(states, &[&process_ids]).await;
        let rows = rows.map_err(|error| session.error(error, doing))?;
        let mut blockers = BTreeMap::new();
        for row in rows {
            let process_id: i32 = row.get(0);
            let mut streams = self.streams.iter_mut().zip(gauges).enumerate();
            let found = streams.find(|(_, (stream, _))| stream.process_id == process_id);
            let Some((index, (stream, gauge))) = found else {
                continue;
            };
            let (class, event): (Option<&str>, Option<&str>) = (row.get(2), row.get(3));
            let state = backend_state(row.get(1), class, event);
            let event = event_name(class, event);
            stream.tally.add(gauge.doing(), state, event);
            if stream.is_local {
                stream.tally.add_process_state(process::state(process_id));
            }
            let holders: Option<Vec<i32>> = row.get(4);
            for holder in holders.into_iter().flatten() {
                blockers.insert(holder, index);
            }
        }
        // Streams of one run may wait for each other; they are not reported as blockers.
        blockers.retain(|process_id, _| !process_ids.contains(process_id));
        if !blockers.is_empty() {
            let holders: Vec<i32> = blockers.keys().copied().collect();
            let question = holders_of(PROCESS_IDS);
            for row in session.query(&question, &[&holders], doing).await? {
                let process_id: i32 = row.get(0);
                let (user, application, state): (String, String, String) =
                    (row.get(1), row.get(2), row.get(3));
                let stream = &mut self.streams[blockers[&process_id]];
                let words = holder(process_id, &user, &application, &state);
                stream.tally.add_blocker(words);
            }
        }
        Ok(())
    }

    fn leave_in_peace(&mut self) {
        self.failures += 1;
        let next = match self.failures < FAILURES_MAX {
            true => WatchConnection::Wanted(Instant::now() + PAUSE * self.failures),
            false => WatchConnection::GivenUp,
        };
        if let WatchConnection::Open(open) = std::mem::replace(&mut self.connection, next) {
            open.0.abandon();
        }
    }

    /// The work of the whole server since the first sample, and the CPU microseconds of the backend that answers these
    /// queries.
    async fn total(&mut self) -> Option<(ServerMeasurements, u64)> {
        let WatchConnection::Open(open) =
            std::mem::replace(&mut self.connection, WatchConnection::GivenUp)
        else {
            return None;
        };
        let (session, _) = *open;
        let last = tokio::time::timeout(PATIENCE, totals(&session, self.version)).await;
        let last = last.ok().and_then(Result::ok);
        let asked = self
            .is_local
            .then(|| process::cpu_us(session.backend_process_id));
        match last {
            Some(_) => session.close().await,
            None => session.abandon(),
        }
        let difference = |figure: fn(&Totals) -> i64| {
            let (first, last) = (self.first.as_ref()?, last.as_ref()?);
            u64::try_from(figure(last) - figure(first)).ok()
        };
        let server = ServerMeasurements {
            is_local: self.is_local,
            sample_ms: 0,
            wal_bytes: difference(|totals| totals.wal_bytes),
            checkpoints_timed: difference(|totals| totals.checkpoints_timed),
            checkpoints_requested: difference(|totals| totals.checkpoints_requested),
            ..ServerMeasurements::default()
        };
        Some((server, asked.flatten().map_or(0, |(ran, _)| ran)))
    }
}

impl Backends for ServerBackends<'_> {
    fn look<'l>(&'l mut self, gauges: &'l [Arc<Gauge>]) -> Looking<'l, ()> {
        Box::pin(self.look_at_all(gauges))
    }

    fn end(&mut self) -> Looking<'_, Option<(ServerMeasurements, u64)>> {
        Box::pin(self.total())
    }

    fn cpu_us(&self, stream: usize) -> Option<(u64, u64)> {
        let backend = &self.streams[stream];
        backend
            .is_local
            .then(|| process::cpu_us(backend.process_id))
            .flatten()
    }

    fn is_local(&self) -> bool {
        self.is_local
    }

    fn series(&self, stream: usize) -> Option<BackendSeries> {
        let backend = &self.streams[stream];
        backend.tally.series(backend.process_id, backend.is_local)
    }
}

async fn totals(session: &Session, version: i32) -> Result<Totals, Error> {
    let checkpoints = match version >= 170_000 {
        true => "num_timed, num_requested FROM pg_catalog.pg_stat_checkpointer",
        false => "checkpoints_timed, checkpoints_req FROM pg_catalog.pg_stat_bgwriter",
    };
    let statement = format!(
        "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_lsn(), '0/0')::pg_catalog.int8, \
         {checkpoints}"
    );
    let doing = "looking at the server's WAL and checkpoints";
    let rows = session.query(&statement, &[], doing).await?;
    Ok(Totals {
        wal_bytes: rows[0].get(0),
        checkpoints_timed: rows[0].get(1),
        checkpoints_requested: rows[0].get(2),
    })
}
