//! The server counts what the sessions of streams waited for in total (`sys.dm_exec_session_wait_stats`, SQL Server 2016 and
//! later). Each session asks about itself, which needs no right. It asks before it ends, because the server forgets the waits
//! of a session when it ends
//! (https://learn.microsoft.com/sql/relational-databases/system-dynamic-management-views/sys-dm-exec-session-wait-stats-transact-sql).

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::connection::SqlSession;

/// The longest wait for the server's answer. Without an answer the load goes on.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most wait types in the note.
const NAMED_MAX: usize = 3;
/// Shorter waits are left out of the note.
const NAMED_MILLISECONDS: u64 = 1_000;

/// Milliseconds of all sessions by wait type.
#[derive(Debug, Default)]
pub struct SessionWaits(Mutex<BTreeMap<String, u64>>);

impl SessionWaits {
    /// Adds the waits of a session.
    pub fn add(&self, session: &mut SqlSession) {
        let question = "SELECT wait_type, wait_time_ms FROM sys.dm_exec_session_wait_stats WHERE session_id = @@SPID";
        let Ok(answer) = session.bulk().run_within(question, PATIENCE) else {
            return;
        };
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in answer.into_rows() {
            let [Some(wait_type), Some(milliseconds)] = &row[..] else {
                continue;
            };
            let milliseconds = milliseconds.parse::<u64>().unwrap_or(0);
            *waits.entry(wait_type.clone()).or_default() += milliseconds;
        }
    }

    /// The note about the longest waits; `None` if none was long.
    pub fn note(&self) -> Option<String> {
        let waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut longest: Vec<(&String, u64)> = waits
            .iter()
            .map(|(wait_type, milliseconds)| (wait_type, *milliseconds))
            .filter(|(_, milliseconds)| *milliseconds >= NAMED_MILLISECONDS)
            .collect();
        longest.sort_by_key(|(_, milliseconds)| std::cmp::Reverse(*milliseconds));
        let named = longest.into_iter().take(NAMED_MAX);
        let named = named.map(|(wait_type, milliseconds)| {
            format!("{wait_type} {:.1} s", milliseconds as f64 / 1_000.0)
        });
        let named: Vec<String> = named.collect();
        (!named.is_empty()).then(|| {
            format!(
                "the sessions of the streams waited on the server, in total: {}",
                named.join(", ")
            )
        })
    }
}
