//! Runs: begin, take over, fence, mark as switched, discard.

use std::ops::Deref;

use inrush_destination::{PastRun, RunRecord, RunState};
use inrush_rows::ids::{RunId, RunKey, RunName};
use tokio_postgres::error::SqlState;

use super::error::LedgerError;
use super::{Ledger, stored};
use crate::Session;

/// A run in the ledger of a server: the record that every destination has, and the facts that only this ledger has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRun {
    /// The record.
    pub record: RunRecord,
    /// When its holder began the run or took it over, as messages show it.
    pub held_since: String,
    /// The OIDs of its targets after the switch, in their order.
    pub target_oids: Vec<u32>,
}

impl Deref for StoredRun {
    type Target = RunRecord;

    fn deref(&self) -> &RunRecord {
        &self.record
    }
}

/// The run and epoch that a transaction checks and holds, so that a run that was taken over cannot commit.
#[derive(Clone, Debug)]
pub struct Fence {
    /// The run.
    pub run_id: RunId,
    /// Its name, for messages.
    pub name: RunName,
    /// The epoch that must still be the run's.
    pub epoch: i32,
}

const COLUMNS: &str = "run_id, name, package, epoch, state, holder, \
    to_char(held_since, 'YYYY-MM-DD HH24:MI:SS TZ'), \
    (extract(epoch from switched_at) * 1000000)::bigint, targets, \
    coalesce(target_oids, '{}'), (extract(epoch from started_at) * 1000000)::bigint, \
    run_key, package_hash";

fn stored_run(row: &tokio_postgres::Row) -> StoredRun {
    StoredRun {
        record: RunRecord {
            run_id: RunId::new(row.get(0)),
            name: RunName::new(row.get::<_, String>(1)),
            run_key: RunKey::new(row.get::<_, &str>(11)),
            package: row.get(2),
            package_hash: row.get(12),
            holder: row.get(5),
            epoch: row.get(3),
            state: state(row.get(4)),
            started_at_microseconds: row.get(10),
            switched_at_microseconds: row.get(7),
            targets: row.get(8),
        },
        held_since: row.get(6),
        target_oids: row.get(9),
    }
}

/// The state that this word means. A CHECK of the table allows no other words.
fn state(word: &str) -> RunState {
    RunState::of_word(word).unwrap_or(RunState::Loading)
}

impl Ledger {
    /// A run by its number.
    pub async fn run(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Option<StoredRun>, LedgerError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE run_id = $1",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "reading the ledger")
            .await?;
        Ok(rows.first().map(stored_run))
    }

    /// A run by its name.
    pub async fn run_by_name(
        &self,
        session: &Session,
        name: &RunName,
    ) -> Result<Option<StoredRun>, LedgerError> {
        if !super::exists(session, &self.schema).await? {
            return Ok(None);
        }
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE name = $1",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&name.as_str()], "reading the ledger")
            .await?;
        Ok(rows.first().map(stored_run))
    }

    /// Later runs that are switched in and still have rows in their targets.
    pub async fn later_runs(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Vec<StoredRun>, LedgerError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE run_id > $1 AND state = 'switched' ORDER BY run_id DESC",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "reading the ledger")
            .await?;
        Ok(rows.iter().map(stored_run).collect())
    }

    /// Marks a run as undone, in the transaction that takes its rows out. Returns false if it is not switched any more.
    pub async fn mark_undone(&self, session: &Session, run_id: RunId) -> Result<bool, LedgerError> {
        let sql = format!(
            "UPDATE {} SET state = 'undone', epoch = epoch + 1 \
             WHERE run_id = $1 AND state = 'switched' RETURNING run_id",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "marking the run as undone")
            .await?;
        Ok(!rows.is_empty())
    }

    /// Runs that have not been switched, because they have stopped or are in progress, the newest first; with `run_key`, only the
    /// runs of this package into these targets.
    pub async fn unpublished_runs(
        &self,
        session: &Session,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<StoredRun>, LedgerError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM {} WHERE state = 'loading' \
             AND ($1::text IS NULL OR run_key = $1) ORDER BY run_id DESC",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_key.map(RunKey::as_str)], "reading the ledger")
            .await?;
        Ok(rows.iter().map(stored_run).collect())
    }

    /// The runs of a package, or of all packages, the oldest first. A target counts as gone if another table has its
    /// name now, or if no table has it.
    pub async fn runs(
        &self,
        session: &Session,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<PastRun>, LedgerError> {
        let oid = stored::table("true", "target", "NULL", "NULL");
        let sql = format!(
            "SELECT {COLUMNS}, CASE WHEN state = 'switched' THEN ARRAY( \
                SELECT target FROM unnest(targets) target \
                WHERE coalesce({oid} <> ALL (coalesce(target_oids, '{{}}')), true)) ELSE '{{}}' END \
             FROM {} WHERE $1::text IS NULL OR run_key = $1 ORDER BY run_id",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_key.map(RunKey::as_str)], "reading the ledger")
            .await?;
        let past = |row: &tokio_postgres::Row| PastRun {
            record: stored_run(row).record,
            gone: row.get(13),
        };
        Ok(rows.iter().map(past).collect())
    }

    /// Takes the lock for runs with this key, or returns its holder. A process has this lock as long as it lives. A
    /// loader that was just killed may still have a backend that has not noticed, so this waits a little for the lock.
    pub async fn lock(&self, session: &Session, run_key: &RunKey) -> Result<(), LedgerError> {
        let doing = "taking the run's lock";
        session.execute("SET lock_timeout = '3s'", doing).await?;
        let locked = session
            .query(
                "SELECT pg_advisory_lock(hashtextextended('inrush run ' || $1, 0))",
                &[&run_key.as_str()],
                doing,
            )
            .await;
        session.execute("SET lock_timeout = 0", doing).await?;
        match locked {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                Err(match self.holder(session, run_key).await? {
                    Some(holder) => holder.into(),
                    None => LedgerError::Busy {
                        run: None,
                        holder: "a session that has just ended".to_owned(),
                        since: "a moment ago".to_owned(),
                    },
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Takes the lock of a run that is known by its number.
    pub async fn lock_run(&self, session: &Session, run_id: RunId) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT run_key FROM {} WHERE run_id = $1",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "taking the run's lock")
            .await?;
        match rows.first() {
            Some(row) => {
                self.lock(session, &RunKey::new(row.get::<_, &str>(0)))
                    .await
            }
            None => Ok(()),
        }
    }

    /// True if a living process holds the lock of a run with this key: the lock is tried without waiting, and released
    /// at once.
    pub async fn is_held(&self, session: &Session, run_id: RunId) -> Result<bool, LedgerError> {
        let sql = format!(
            "SELECT pg_try_advisory_lock(hashtextextended('inrush run ' || run_key, 0)), run_key \
             FROM {} WHERE run_id = $1",
            self.table("run")
        );
        let doing = "looking whether a run is held";
        let rows = session.query(&sql, &[&run_id.number()], doing).await?;
        let Some(row) = rows.first() else {
            return Ok(false);
        };
        let free: bool = row.get(0);
        if free {
            let key: &str = row.get(1);
            session
                .query(
                    "SELECT pg_advisory_unlock(hashtextextended('inrush run ' || $1, 0))",
                    &[&key],
                    doing,
                )
                .await?;
        }
        Ok(!free)
    }

    /// Writes a new run into the ledger.
    #[allow(clippy::too_many_arguments)] // One column each.
    pub async fn begin_run(
        &self,
        session: &Session,
        run_key: &RunKey,
        name: &RunName,
        package: &str,
        package_hash: &str,
        targets: &[String],
        holder: &str,
    ) -> Result<StoredRun, LedgerError> {
        let sql = format!(
            "INSERT INTO {} (run_key, name, package, package_hash, targets, state, holder) \
             VALUES ($1, $2, $3, $4, $5, 'loading', $6) RETURNING {COLUMNS}",
            self.table("run")
        );
        let rows = session
            .query(
                &sql,
                &[
                    &run_key.as_str(),
                    &name.as_str(),
                    &package,
                    &package_hash,
                    &targets,
                    &holder,
                ],
                "beginning the run in the ledger",
            )
            .await?;
        Ok(stored_run(&rows[0]))
    }

    /// Ends the backends of a run, except this session's own.
    pub async fn end_backends(&self, session: &Session, run: &RunName) -> Result<(), LedgerError> {
        // The server waits five seconds for each backend; backends that are slower are fenced out by the epoch.
        session
            .query(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity \
                 WHERE starts_with(application_name, 'inrush ' || $1 || ' ') \
                   AND pid <> pg_backend_pid() AND pg_has_role(usesysid, 'USAGE')",
                &[&run.as_str()],
                "ending what a run has left at the server",
            )
            .await?;
        Ok(())
    }

    /// Takes a stopped run over: ends the backends that it left, then raises the epoch. Raising it waits for
    /// transactions of these backends that are still committing. The run gets its new holder, and the hash of the package by which
    /// it goes on.
    pub async fn take_over(
        &self,
        session: &Session,
        run: &RunRecord,
        holder: &str,
        package_hash: &str,
    ) -> Result<StoredRun, LedgerError> {
        let doing = "taking the run over";
        self.end_backends(session, &run.name).await?;
        let sql = format!(
            "UPDATE {} SET epoch = epoch + 1, holder = $2, held_since = now(), package_hash = $3 \
             WHERE run_id = $1 AND state = 'loading' RETURNING {COLUMNS}",
            self.table("run")
        );
        session.execute("SET lock_timeout = '30s'", doing).await?;
        let updated = session
            .query(&sql, &[&run.run_id.number(), &holder, &package_hash], doing)
            .await;
        session.execute("SET lock_timeout = 0", doing).await?;
        let rows = match updated {
            Err(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) => {
                let stored = self.run(session, run.run_id).await?;
                return Err(LedgerError::Busy {
                    run: Some(run.name.clone()),
                    holder: format!("{}, whose backend would not end", run.holder),
                    since: stored.map_or_else(String::new, |stored| stored.held_since),
                });
            }
            other => other?,
        };
        match rows.first() {
            Some(row) => Ok(stored_run(row)),
            None => Err(LedgerError::TakenOver {
                run: run.name.clone(),
            }),
        }
    }

    /// Checks inside a transaction that this process still holds the run, and that no other process takes it over until
    /// the transaction ends: `FOR SHARE` makes an update of the epoch wait.
    pub async fn hold_fence(&self, session: &Session, fence: &Fence) -> Result<(), LedgerError> {
        self.check_fence(session, fence, "FOR SHARE").await
    }

    /// Like [`Ledger::hold_fence`], with an exclusive lock: for the switch, which changes the run's row.
    pub async fn hold_fence_alone(
        &self,
        session: &Session,
        fence: &Fence,
    ) -> Result<(), LedgerError> {
        self.check_fence(session, fence, "FOR UPDATE").await
    }

    async fn check_fence(
        &self,
        session: &Session,
        fence: &Fence,
        strength: &str,
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT 1 FROM {} WHERE run_id = $1 AND epoch = $2 AND state = 'loading' {strength}",
            self.table("run")
        );
        let rows = session
            .query(
                &sql,
                &[&fence.run_id.number(), &fence.epoch],
                "checking the fence",
            )
            .await?;
        if rows.is_empty() {
            return Err(LedgerError::TakenOver {
                run: fence.name.clone(),
            });
        }
        Ok(())
    }

    /// Marks the run as switched, inside the switch's transaction, and records the OIDs of its targets.
    pub async fn mark_switched(
        &self,
        session: &Session,
        fence: &Fence,
        target_oids: &[u32],
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "UPDATE {} SET state = 'switched', switched_at = now(), target_oids = $2 \
             WHERE run_id = $1",
            self.table("run")
        );
        session
            .query(
                &sql,
                &[&fence.run_id.number(), &target_oids],
                "marking the run as switched",
            )
            .await?;
        Ok(())
    }

    /// True if the run was switched. Used if the reply to the switch's COMMIT was lost: the query waits for a
    /// transaction that is still committing.
    pub async fn is_switched(&self, session: &Session, run_id: RunId) -> Result<bool, LedgerError> {
        let sql = format!(
            "SELECT state FROM {} WHERE run_id = $1 FOR SHARE",
            self.table("run")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "reading the ledger")
            .await?;
        Ok(rows
            .first()
            .is_some_and(|row| state(row.get(0)) == RunState::Switched))
    }

    /// Marks a run as discarded; its staging tables were dropped in the same transaction.
    pub async fn discard(&self, session: &Session, run_id: RunId) -> Result<(), LedgerError> {
        let sql = format!(
            "UPDATE {} SET state = 'discarded', epoch = epoch + 1 \
             WHERE run_id = $1 AND state = 'loading'",
            self.table("run")
        );
        session
            .query(&sql, &[&run_id.number()], "discarding the run")
            .await?;
        self.forget_members(session, run_id).await
    }
}
