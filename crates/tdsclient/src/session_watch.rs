//! Asks a server for the present states of sessions and the sizes of the database's files. Destinations and sources use
//! this for verdicts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use inrush_verdict::{BackendState, SeenSession};

use crate::address::SessionOptions;
use crate::error::SessionError;
use crate::interrupt::Interrupt;
use crate::session::Session;
use crate::waits;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
const PAGE_BYTES: u64 = 8192;
/// The session waits for no lock.
const SETTINGS: &str = "SET LOCK_TIMEOUT 0";
/// Reads the right on the server, the right on the database, and the edition; the edition decides which of the two
/// counts. A server before SQL Server 2022 does not know VIEW SERVER PERFORMANCE STATE and returns NULL for it. Then
/// VIEW SERVER STATE counts, which includes it.
const RIGHTS: &str = "SELECT COALESCE(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE'), \
    HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER STATE')), \
    HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'VIEW DATABASE STATE'), CAST(SERVERPROPERTY('EngineEdition') AS bigint)";
/// Editions whose logins have only rights of their databases: Azure SQL Database, and SQL databases in Fabric.
const EDITIONS_OF_DATABASES: [&str; 2] = ["5", "12"];
const FILES: &str =
    "SELECT type_desc, SUM(CAST(size AS bigint)) FROM sys.database_files GROUP BY type_desc";

/// The reason why nothing is known about other sessions.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The server would answer, but only about the session that asks.
    #[error(
        "the login may not see what its sessions wait for; the right VIEW SERVER STATE (VIEW DATABASE STATE in Azure SQL Database) \
         allows it"
    )]
    NoRight,
    /// The server refused, or did not answer in time.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// A result of asking.
pub type WatchResult<T> = std::result::Result<T, WatchError>;

/// The sizes of a database's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSizes {
    /// Bytes of the files of its log.
    pub log_bytes: u64,
    /// Bytes of its data files.
    pub data_bytes: u64,
}

/// A session that asks about others. It connects when it is first asked.
pub struct SessionWatch {
    options: SessionOptions,
    interrupt: Arc<Interrupt>,
    session: Option<Session>,
}

impl fmt::Debug for SessionWatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SessionWatch")
            .field("session", &self.session)
            .finish_non_exhaustive()
    }
}

impl SessionWatch {
    /// A watch over the sessions of this connection.
    pub fn new(options: SessionOptions, interrupt: Arc<Interrupt>) -> SessionWatch {
        SessionWatch {
            options,
            interrupt,
            session: None,
        }
    }

    /// The states of the sessions with these [numbers](Session::number_on_server) now; sessions that have ended are
    /// left out.
    pub fn look(&mut self, sessions: &[i32]) -> WatchResult<Vec<SeenSession>> {
        let those = format!("WHERE session_id IN ({})", list(sessions));
        let question = format!(
            "SELECT session_id FROM sys.dm_exec_sessions {those}; SELECT session_id, wait_type, blocking_session_id FROM \
             sys.dm_exec_requests {those}"
        );
        let mut answers = self.rows(&question)?.into_iter();
        let open = answers.next().unwrap_or_default();
        // A session without a request is between two batches.
        let mut seen: BTreeMap<i32, (SeenSession, Option<i32>)> = open
            .iter()
            .filter_map(|row| number(row, 0))
            .map(|number| (number, (idle(number), None)))
            .collect();
        for row in answers.next().unwrap_or_default() {
            let Some((session, blocker)) = number(&row, 0).and_then(|it| seen.get_mut(&it)) else {
                continue;
            };
            (session.state, session.event) = waits::state(row.get(1).and_then(Option::as_deref));
            // Numbers below 1 are no sessions; sessions of the run itself are no blockers.
            *blocker = number(&row, 2).filter(|it| *it > 0 && !sessions.contains(it));
        }
        let blockers: Vec<i32> = seen.values().filter_map(|(_, blocker)| *blocker).collect();
        if !blockers.is_empty() {
            let words = self.words_of(&blockers)?;
            for (session, blocker) in seen.values_mut() {
                let found = blocker.and_then(|blocker| words.get(&blocker));
                session.blockers.extend(found.cloned());
            }
        }
        Ok(seen.into_values().map(|(session, _)| session).collect())
    }

    /// The sizes of the database's files now.
    pub fn file_sizes(&mut self) -> WatchResult<FileSizes> {
        let rows = self.rows(FILES)?.into_iter().next().unwrap_or_default();
        let mut sizes = FileSizes::default();
        for row in rows {
            let [Some(kind), Some(pages)] = &row[..] else {
                continue;
            };
            let bytes = pages.parse::<u64>().unwrap_or(0) * PAGE_BYTES;
            match kind.as_str() {
                "LOG" => sizes.log_bytes += bytes,
                "ROWS" => sizes.data_bytes += bytes,
                _ => {}
            }
        }
        Ok(sizes)
    }

    /// These sessions, in words. Their statements are not read, because they may be confidential.
    fn words_of(&mut self, sessions: &[i32]) -> WatchResult<BTreeMap<i32, String>> {
        let question = format!(
            "SELECT session_id, login_name, program_name, status FROM sys.dm_exec_sessions WHERE session_id IN ({})",
            list(sessions)
        );
        let rows = self.rows(&question)?.into_iter().next().unwrap_or_default();
        let words = rows.into_iter().filter_map(|row| {
            let text = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
            let found = number(&row, 0)?;
            let words = format!(
                "session {found} of login {:?}, program {:?}, {}",
                text(1),
                text(2).trim_end(),
                text(3)
            );
            Some((found, words))
        });
        Ok(words.collect())
    }

    /// The rows of each query of a batch.
    fn rows(&mut self, batch: &str) -> WatchResult<Vec<Rows>> {
        let session = match &mut self.session {
            Some(session) => session,
            None => {
                let mut session = Session::connect(&self.options, 0, &self.interrupt)?;
                session.run_within(SETTINGS, PATIENCE)?;
                require_right(&mut session, PATIENCE)?;
                self.session.insert(session)
            }
        };
        Ok(session.run_within(batch, PATIENCE)?.into_rows_of_each())
    }
}

/// The rows of a query, as texts.
type Rows = Vec<Vec<Option<String>>>;

/// Fails if the login may not see other sessions.
pub(crate) fn require_right(session: &mut Session, patience: Duration) -> WatchResult<()> {
    let rows = session.run_within(RIGHTS, patience)?.into_rows();
    let row = rows.into_iter().next().unwrap_or_default();
    let text = |at: usize| row.get(at).and_then(Option::as_deref);
    let of_databases = text(2).is_some_and(|edition| EDITIONS_OF_DATABASES.contains(&edition));
    match text(if of_databases { 1 } else { 0 }) {
        Some("1") => Ok(()),
        _ => Err(WatchError::NoRight),
    }
}

fn idle(number: i32) -> SeenSession {
    SeenSession {
        process_id: number,
        state: BackendState::Idle,
        event: None,
        blockers: Vec::new(),
    }
}

fn number(row: &[Option<String>], at: usize) -> Option<i32> {
    row.get(at)?.as_deref()?.parse().ok()
}

fn list(numbers: &[i32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
    numbers.join(", ")
}
