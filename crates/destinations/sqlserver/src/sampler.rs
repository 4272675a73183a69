//! Asks the server what the sessions of a run's streams do, and how large the files of the database are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use inrush_destination::{Error, FileBytes, Result, SessionSampler};
use inrush_tdsclient::Interrupt;
use inrush_verdict::{BackendState, SeenSession, ServerKind};

use crate::connection::{Purpose, SqlSession};
use crate::options::Options;
use crate::waits;

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(2);
const PAGE_BYTES: u64 = 8192;
const ALLOWED_BY: &str = "the right VIEW SERVER STATE (VIEW DATABASE STATE in Azure SQL Database)";

/// A session that asks about others.
pub struct Sampler {
    options: Arc<Options>,
    interrupt: Arc<Interrupt>,
    /// The server has rights of databases, and none of the whole server.
    has_rights_of_databases_only: bool,
    /// Connected when it is first asked.
    session: Option<SqlSession>,
}

impl Sampler {
    /// For the sessions of a run.
    pub fn new(
        options: Arc<Options>,
        interrupt: Arc<Interrupt>,
        has_rights_of_databases_only: bool,
    ) -> Sampler {
        Sampler {
            options,
            interrupt,
            has_rights_of_databases_only,
            session: None,
        }
    }

    fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        if let Some(session) = &mut self.session {
            return session.rows_within(doing, sql, PATIENCE);
        }
        let options = &self.options.session;
        let session = SqlSession::connect(options, 0, Purpose::Planning, &self.interrupt)?;
        let session = self.session.insert(session);
        require_right(session, self.has_rights_of_databases_only)?;
        session.rows_within(doing, sql, PATIENCE)
    }

    /// The sessions with these numbers, in words. Their statements are not read, because they may be confidential.
    fn words_of(&mut self, sessions: &[i32]) -> Result<BTreeMap<i32, String>> {
        let question = format!(
            "SELECT session_id, login_name, program_name, status FROM sys.dm_exec_sessions WHERE session_id IN ({})",
            list(sessions)
        );
        let rows = self.rows("cannot ask who holds locks", &question)?;
        let words = rows.into_iter().filter_map(|row| {
            let [Some(number), login, program, status] = &row[..] else {
                return None;
            };
            let text = |value: &Option<String>| value.clone().unwrap_or_default();
            let words = format!(
                "session {number} of login {:?}, program {:?}, {}",
                text(login),
                text(program).trim_end(),
                text(status)
            );
            Some((number.parse().ok()?, words))
        });
        Ok(words.collect())
    }
}

impl SessionSampler for Sampler {
    fn kind(&self) -> ServerKind {
        ServerKind::SqlServer
    }

    fn look(&mut self, sessions: &[i32]) -> Result<Vec<SeenSession>> {
        let question = format!(
            "SELECT session_id, wait_type, blocking_session_id FROM sys.dm_exec_requests WHERE session_id IN ({})",
            list(sessions)
        );
        let rows = self.rows("cannot ask what sessions do", &question)?;
        // A session without a request is between two batches.
        let mut seen: BTreeMap<i32, (SeenSession, Option<i32>)> = sessions
            .iter()
            .map(|session| (*session, (idle(*session), None)))
            .collect();
        for row in rows {
            let number = |at: usize| row.get(at).and_then(Option::as_deref)?.parse::<i32>().ok();
            let Some((session, blocker)) = number(0).and_then(|it| seen.get_mut(&it)) else {
                continue;
            };
            (session.state, session.event) = waits::state(row.get(1).and_then(Option::as_deref));
            // Numbers below 1 are no sessions; sessions of the run itself are no blockers.
            *blocker = number(2).filter(|it| *it > 0 && !sessions.contains(it));
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

    fn file_bytes(&mut self) -> Result<FileBytes> {
        let question = "SELECT type_desc, SUM(CAST(size AS bigint)) FROM sys.database_files GROUP BY type_desc";
        let rows = self.rows("cannot ask for the files of the database", question)?;
        let mut bytes = FileBytes::default();
        for row in rows {
            let [Some(kind), Some(pages)] = &row[..] else {
                continue;
            };
            let size = pages.parse::<u64>().unwrap_or(0) * PAGE_BYTES;
            match kind.as_str() {
                "LOG" => bytes.log += size,
                "ROWS" => bytes.data += size,
                _ => {}
            }
        }
        Ok(bytes)
    }
}

/// Fails if the login may not see other sessions than its own. The server would answer, too, but only about the session that
/// asks.
fn require_right(session: &mut SqlSession, of_databases_only: bool) -> Result<()> {
    // NULL: a server before SQL Server 2022 does not know the newer right, which VIEW SERVER STATE includes.
    let question = match of_databases_only {
        true => "SELECT HAS_PERMS_BY_NAME(DB_NAME(), N'DATABASE', N'VIEW DATABASE STATE')",
        false => {
            "SELECT COALESCE(HAS_PERMS_BY_NAME(NULL, NULL, N'VIEW SERVER PERFORMANCE STATE'), HAS_PERMS_BY_NAME(NULL, NULL, \
             N'VIEW SERVER STATE'))"
        }
    };
    match session.number("cannot ask for the rights of the login", question)? {
        Some(1) => Ok(()),
        _ => Err(Error::Unsuitable {
            what: format!(
                "the login may not see what its sessions wait for; {ALLOWED_BY} allows it"
            ),
            hint: format!("grant the login {ALLOWED_BY}"),
        }),
    }
}

fn idle(session: i32) -> SeenSession {
    SeenSession {
        process_id: session,
        state: BackendState::Idle,
        event: None,
        blockers: Vec::new(),
    }
}

fn list(numbers: &[i32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
    numbers.join(", ")
}
