//! The holder of a package's lock: its session, and the run that it holds, if the ledger knows the run.

use super::Ledger;
use super::error::LedgerError;
use crate::Session;
use inrush_rows::ids::{RunKey, RunName};

/// The session that holds a package's lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The run that it holds; `None` while it only plans, or removes leftovers of runs.
    pub run: Option<RunName>,
    /// Process and host, if the run records them, and the session.
    pub who: String,
    /// The time at which it took the run; if it holds none, the time at which it connected.
    pub since: String,
}

impl From<Holder> for LedgerError {
    fn from(holder: Holder) -> LedgerError {
        LedgerError::Busy {
            run: holder.run,
            holder: holder.who,
            since: holder.since,
        }
    }
}

impl Ledger {
    /// The session that holds the lock of this run key now; `None` if the lock was released in the meantime.
    pub async fn holder(
        &self,
        session: &Session,
        run_key: &RunKey,
    ) -> Result<Option<Holder>, LedgerError> {
        let doing = "looking up who holds the run's lock";
        let rows = session
            .query(
                "SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.usename::text, '?'), \
                        coalesce(to_char(a.backend_start, 'YYYY-MM-DD HH24:MI:SS TZ'), \
                                 'a time that this role may not see') \
                 FROM pg_locks l JOIN pg_stat_activity a USING (pid) \
                 WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 \
                   AND l.database = (SELECT oid FROM pg_database \
                                     WHERE datname = current_database()) \
                   AND (l.classid::int8 << 32 | l.objid::int8) \
                       = hashtextextended('inrush run ' || $1, 0)",
                &[&run_key.as_str()],
                doing,
            )
            .await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let (process, application, role): (i32, String, String) =
            (row.get(0), row.get(1), row.get(2));
        let backend = format!("backend {process} (role {role}, application \"{application}\")");
        let alone = Holder {
            run: None,
            who: backend.clone(),
            since: row.get(3),
        };
        if !super::exists(session, &self.schema).await? {
            return Ok(Some(alone));
        }
        let unpublished = self.unpublished_runs(session, Some(run_key)).await?;
        let own = unpublished
            .into_iter()
            .find(|run| application == format!("inrush {} control", run.name));
        Ok(Some(own.map_or(alone, |run| Holder {
            run: Some(run.name.clone()),
            who: format!("{}, {backend}", run.holder),
            since: run.held_since,
        })))
    }
}
