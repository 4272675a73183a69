//! Asks the server for the states of the streams' backends, and for its WAL and checkpoints.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use inrush_destination::{Error, ServerFigures, SessionSampler};
use inrush_pgclient::activity::{backend_state, event_name, holder, holders_of, states_of};
use inrush_pgclient::local_backend::is_backend;
use inrush_rows::ids::RunName;
use inrush_verdict::{SeenSession, ServerKind};
use tokio::runtime::Handle;
use tokio_postgres::Statement;

use crate::{DatabaseAddress, PostgresError, Session};

/// The longest wait for the server's answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pause after the first failure. It is longer after each further failure.
const PAUSE: Duration = Duration::from_secs(5);

/// After this many failures the server is not asked again.
const FAILURES_MAX: u32 = 6;

/// The parameter of a query that has the process ids.
const PROCESS_IDS: &str = "$1::pg_catalog.int4[]";

/// Asks the server over a separate connection, which is opened after the connections of the streams. If the server
/// fails to answer, it is asked again later; the load continues without samples.
pub struct ServerSampler {
    runtime: Handle,
    address: DatabaseAddress,
    name: String,
    /// `server_version_num`.
    version: i32,
    connection: WatchConnection,
    failures: u32,
}

enum WatchConnection {
    /// Opened when it is needed, but not before this time.
    Wanted(Instant),
    Open(Box<(Session, Statement)>),
    /// Given up after too many failures.
    GivenUp,
}

impl ServerSampler {
    /// Prepares to ask about the backends of a run.
    pub fn new(
        runtime: &Handle,
        address: &DatabaseAddress,
        run: &RunName,
        version: i32,
    ) -> ServerSampler {
        ServerSampler {
            runtime: runtime.clone(),
            address: address.clone(),
            name: format!("inrush {run} meter"),
            version,
            connection: WatchConnection::Wanted(Instant::now()),
            failures: 0,
        }
    }

    async fn ask(&mut self, process_ids: &[i32]) -> Result<Vec<SeenSession>, PostgresError> {
        if matches!(self.connection, WatchConnection::Wanted(_)) {
            let session = Session::open(&self.address, &self.name).await?;
            let doing = "preparing to look at the streams' backends";
            let prepared = session.client.prepare(&states_of(PROCESS_IDS)).await;
            let states = prepared.map_err(|error| session.error(error, doing))?;
            self.connection = WatchConnection::Open(Box::new((session, states)));
        }
        match &self.connection {
            WatchConnection::Open(open) => states(&open.0, &open.1, process_ids).await,
            WatchConnection::Wanted(_) | WatchConnection::GivenUp => Ok(Vec::new()),
        }
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

    fn session(&self) -> Option<&Session> {
        match &self.connection {
            WatchConnection::Open(open) => Some(&open.0),
            WatchConnection::Wanted(_) | WatchConnection::GivenUp => None,
        }
    }
}

impl SessionSampler for ServerSampler {
    fn kind(&self) -> ServerKind {
        ServerKind::PostgreSql
    }

    fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>, Error> {
        if matches!(self.connection, WatchConnection::Wanted(from) if Instant::now() < from) {
            return Ok(Vec::new());
        }
        let runtime = self.runtime.clone();
        let asked =
            runtime.block_on(async { tokio::time::timeout(PATIENCE, self.ask(sessions)).await });
        match asked {
            Ok(Ok(seen)) => {
                self.failures = 0;
                Ok(seen)
            }
            _ => {
                self.leave_in_peace();
                Ok(Vec::new())
            }
        }
    }

    fn figures(&mut self) -> Result<Option<ServerFigures>, Error> {
        let Some(session) = self.session() else {
            return Ok(None);
        };
        let figures = self.runtime.block_on(async {
            tokio::time::timeout(PATIENCE, figures(session, self.version)).await
        });
        match figures {
            Ok(Ok(figures)) => Ok(Some(figures)),
            _ => {
                self.leave_in_peace();
                Ok(Some(ServerFigures::default()))
            }
        }
    }

    fn is_process_here(&self, session: i32) -> bool {
        let database = self.address.config.get_dbname().unwrap_or_default();
        is_backend(session, database)
    }

    fn own_session(&self) -> Option<i32> {
        Some(self.session()?.backend_process_id)
    }

    fn close(&mut self) {
        let open = std::mem::replace(&mut self.connection, WatchConnection::GivenUp);
        if let WatchConnection::Open(open) = open {
            self.runtime.block_on(open.0.close());
        }
    }
}

/// The states of backends now. If a backend waits for a lock, its state has the processes that hold this lock.
async fn states(
    session: &Session,
    statement: &Statement,
    process_ids: &[i32],
) -> Result<Vec<SeenSession>, PostgresError> {
    let doing = "looking at the streams' backends";
    let rows = session.client.query(statement, &[&process_ids]).await;
    let rows = rows.map_err(|error| session.error(error, doing))?;
    let mut seen = Vec::with_capacity(rows.len());
    let mut blocked = BTreeMap::new();
    for row in rows {
        let (class, event): (Option<&str>, Option<&str>) = (row.get(2), row.get(3));
        let holders: Option<Vec<i32>> = row.get(4);
        for holder in holders.into_iter().flatten() {
            blocked.insert(holder, seen.len());
        }
        seen.push(SeenSession {
            process_id: row.get(0),
            state: backend_state(row.get(1), class, event),
            event: event_name(class, event),
            blockers: Vec::new(),
        });
    }
    // Streams of one run may wait for each other; they are not reported as blockers.
    blocked.retain(|process_id, _| !process_ids.contains(process_id));
    if !blocked.is_empty() {
        let holders: Vec<i32> = blocked.keys().copied().collect();
        let question = holders_of(PROCESS_IDS);
        for row in session.query(&question, &[&holders], doing).await? {
            let process_id: i32 = row.get(0);
            let (user, application, state): (String, String, String) =
                (row.get(1), row.get(2), row.get(3));
            let words = holder(process_id, &user, &application, &state);
            seen[blocked[&process_id]].blockers.push(words);
        }
    }
    Ok(seen)
}

async fn figures(session: &Session, version: i32) -> Result<ServerFigures, PostgresError> {
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
    let figure = |column: usize| u64::try_from(rows[0].get::<_, i64>(column)).ok();
    Ok(ServerFigures {
        wal_bytes: figure(0),
        checkpoints_timed: figure(1),
        checkpoints_requested: figure(2),
        ..ServerFigures::default()
    })
}
