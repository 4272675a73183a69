//! A database at one snapshot. All sources that a run reads from it share the snapshot.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use inrush_pgclient::table_identity::{MAY_ASK_CLUSTER, Side, names};
use inrush_pgclient::{BlockingSession, DatabaseAddress, SessionError};
use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_rows::plural::counted;
use inrush_rows::sql_text::without_semicolon;
use inrush_source::{BoundBy, ReadLimits, SourceError};

use crate::error::{input_error, of_session, unsuitable};
use crate::pool::Pool;
use crate::read_relations::ReadRelations;
use crate::relations::{self, Table};
use crate::since::{self, Bound};
use crate::snapshot::{LockedTable, Snapshot, USER_NAMES, lock_timeout, locked_by, open_keeper};
use crate::{Rows, Settings};

/// A database at a snapshot, with its sessions.
#[derive(Debug)]
pub struct Database {
    /// The address without secrets.
    pub place: Arc<str>,
    /// The name of the database.
    pub(crate) name: String,
    /// The sessions that read.
    pub(crate) pool: Arc<Pool>,
    /// Notes for the plan about the server.
    pub(crate) notes: Vec<String>,
    /// The pace of all readers.
    pub(crate) pace: Arc<Pace>,
    found: Vec<Found>,
    /// Rows that could not be found, or whose tables could not be locked, with the reason.
    not_found: Mutex<Vec<(Wanted, SourceError)>>,
}

/// What a source needs from a database before the snapshot is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// What is read.
    pub rows: Rows,
    /// How the bound of an incremental load is found.
    pub bound_by: Option<BoundBy>,
}

impl Settings {
    /// What it needs from the database before the snapshot.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            rows: self.rows.clone(),
            bound_by: self.since.as_ref().map(|since| since.bound_by.clone()),
        }
    }
}

/// Rows that were found before the snapshot was taken, and whose tables are locked.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    wanted: Wanted,
    /// The bound of an incremental load: the snapshot has all rows below it.
    pub bound: Option<Bound>,
    /// The table or view; none for a query.
    pub table: Option<Table>,
    /// The relations that are read.
    pub read: ReadRelations,
    /// A statement that reads them.
    statement: String,
    /// Names of the stored tables that are read, as [`inrush_pgclient::table_identity`] has them.
    pub stored: Vec<String>,
}

impl Database {
    /// Finds all that will be read, locks its tables and takes the snapshot. Rows that cannot be found are an error
    /// here only if nothing else is wanted; otherwise their own source reports the error when it is opened.
    ///
    /// One of the connections that `limits` allows keeps the snapshot.
    pub fn open(
        address: &DatabaseAddress,
        wanted: &[Wanted],
        limits: ReadLimits,
        stop: &Stop,
    ) -> Result<Arc<Database>, SourceError> {
        let place = address.describe();
        let ReadLimits {
            connections_max,
            rate_bytes_max,
            lock_wait_ms,
        } = limits;
        if connections_max < 2 {
            return Err(unsuitable(
                Path::new(&place),
                format!(
                    "{} cannot both keep a snapshot and read rows",
                    counted(connections_max as u64, "connection")
                ),
                "set `max_connections` of the source to 2 or more",
            ));
        }
        let name = wanted
            .first()
            .map_or_else(|| place.clone(), |first| first.rows.name());
        let failed = |error| of_session(Path::new(&name), error);
        let mut keeper = open_keeper(address, stop).map_err(failed)?;
        keeper
            .query(&lock_timeout(lock_wait_ms), "limiting the wait for locks")
            .map_err(failed)?;
        let mut known: Vec<(Found, Vec<LockedTable>)> = Vec::new();
        let mut not_found = Vec::new();
        for one in wanted {
            match find(&mut keeper, one) {
                Ok(found) => known.push(found),
                Err(error) if wanted.len() == 1 || matches!(error, SourceError::Stopped { .. }) => {
                    return Err(error);
                }
                Err(error) => {
                    not_found.push((one.clone(), error));
                    let doing = "looking for tables";
                    keeper.query("ROLLBACK", doing).map(drop).map_err(failed)?;
                }
            }
        }
        let mut locked: Vec<String> = known
            .iter()
            .flat_map(|(_, tables)| tables)
            .filter(|table| table.can_be_locked)
            .map(|table| table.sql.clone())
            .collect();
        locked.sort_unstable();
        locked.dedup();
        let statements: Vec<&str> = known
            .iter()
            .filter(|(found, _)| found.read.materialized.is_some())
            .map(|(found, _)| found.statement.as_str())
            .collect();
        let snapshot = Snapshot::take(keeper, address, &locked, &statements, lock_wait_ms, stop);
        let snapshot = snapshot.map_err(failed)?;
        let found = snapshot.with_keeper(|keeper| {
            let doing = "asking which tables are read";
            let may_ask = texts(keeper, MAY_ASK_CLUSTER, doing)?.concat() == "t";
            let mut all = Vec::with_capacity(known.len());
            for (mut found, tables) in known {
                let oids: Vec<u32> = tables.iter().map(|table| table.oid).collect();
                found.stored = texts(keeper, &names(&oids, Side::Source, may_ask), doing)?;
                all.push(found);
            }
            let conflicts = keeper.query(MAY_CANCEL, "asking whether the server is a standby")?;
            Ok((all, conflicts.first()))
        });
        let (found, delay) = found.map_err(failed)?;
        Ok(Arc::new(Database {
            notes: delay
                .map(|delay| may_cancel(&place, &delay))
                .into_iter()
                .collect(),
            place: Arc::from(place),
            name: address.config.get_dbname().unwrap_or_default().to_owned(),
            found,
            not_found: Mutex::new(not_found),
            pool: Arc::new(Pool::new(snapshot, connections_max - 1, stop)),
            pace: Arc::new(Pace::new(rate_bytes_max)),
        }))
    }

    /// Rows that were found. If they were not found before, they are looked for again, so that the error describes the
    /// present state.
    pub(crate) fn find(&self, wanted: &Wanted) -> Result<Found, SourceError> {
        if let Some(found) = self.found.iter().find(|found| found.wanted == *wanted) {
            return Ok(found.clone());
        }
        let name = wanted.rows.name();
        let input = Path::new(&name);
        self.look(input, |keeper| {
            let table = match &wanted.rows {
                Rows::Table { schema, name } => {
                    Some(relations::find_table(keeper, schema.as_deref(), name)?)
                }
                Rows::Query(query) => {
                    let doing = "parsing the query";
                    let failed = |error| of_session(input, error);
                    keeper.query(USER_NAMES, doing).map_err(failed)?;
                    keeper
                        .parse(without_semicolon(query), doing)
                        .map_err(failed)?;
                    None
                }
            };
            match &wanted.bound_by {
                Some(by) => {
                    let oids = table.iter().map(|table| table.oid).collect();
                    let read = ReadRelations::ask(keeper, oids);
                    let read = read.map_err(|error| of_session(input, error))?;
                    since::find_bound(keeper, by, table.as_ref(), &read, input).map(drop)
                }
                None => Ok(()),
            }
        })?;
        let mut not_found = self
            .not_found
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = not_found.iter().position(|(known, _)| known == wanted) {
            return Err(not_found.swap_remove(at).1);
        }
        Err(input_error(
            Path::new(&name),
            "it appeared, or became readable, after the snapshot was taken",
            "run the same command again",
        ))
    }

    /// Looks at the catalog in the keeper's transaction. An error does not end this transaction.
    pub(crate) fn look<T>(
        &self,
        input: &Path,
        look: impl FnOnce(&mut BlockingSession) -> Result<T, SourceError>,
    ) -> Result<T, SourceError> {
        let doing = "looking at the catalog";
        self.pool.snapshot().with_keeper(|keeper| {
            let failed = |error: SessionError| of_session(input, error);
            keeper.query("SAVEPOINT look", doing).map_err(failed)?;
            let seen = look(keeper);
            // The rollback also restores settings.
            let ended = keeper.query("ROLLBACK TO SAVEPOINT look; RELEASE SAVEPOINT look", doing);
            let seen = seen?;
            ended.map_err(failed)?;
            Ok(seen)
        })
    }
}

/// How long a standby waits at most before it ends a transaction whose snapshot needs rows that the standby must
/// remove. No row if the server is not such a standby.
const MAY_CANCEL: &str = "SELECT pg_catalog.current_setting('max_standby_streaming_delay') \
    WHERE pg_catalog.pg_is_in_recovery() AND pg_catalog.current_setting('hot_standby_feedback') = 'off' \
      AND pg_catalog.current_setting('max_standby_streaming_delay') <> '-1'";

/// The plan's note about a standby that ends transactions.
fn may_cancel(place: &str, delay: &str) -> String {
    format!(
        "{place} is a standby with hot_standby_feedback = off: it ends the copy if it has to remove rows that the \
         snapshot still needs (max_standby_streaming_delay = {delay}); the same command then resumes the copy"
    )
}

/// Finds rows before there is a snapshot.
fn find(
    keeper: &mut BlockingSession,
    wanted: &Wanted,
) -> Result<(Found, Vec<LockedTable>), SourceError> {
    let name = wanted.rows.name();
    let (table, statement) = match &wanted.rows {
        Rows::Table { schema, name } => {
            let table = relations::find_table(keeper, schema.as_deref(), name)?;
            let statement = format!("SELECT FROM {}", table.sql);
            (Some(table), statement)
        }
        Rows::Query(query) => (None, without_semicolon(query).to_owned()),
    };
    let shown = table.as_ref().map_or(&name, |table| &table.name);
    let input = Path::new(shown);
    let failed = |error| of_session(input, error);
    let locked = locked_by(keeper, &statement, input).map_err(failed)?;
    let oids = locked.iter().map(|table| table.oid).collect();
    let read = ReadRelations::ask(keeper, oids).map_err(failed)?;
    let bound = match &wanted.bound_by {
        Some(by) => Some(since::find_bound(keeper, by, table.as_ref(), &read, input)?),
        None => None,
    };
    let found = Found {
        wanted: wanted.clone(),
        bound,
        table,
        read,
        statement,
        stored: Vec::new(),
    };
    Ok((found, locked))
}

fn texts(
    session: &mut BlockingSession,
    sql: &str,
    doing: &str,
) -> Result<Vec<String>, SessionError> {
    Ok(session.query(sql, doing)?.texts())
}
