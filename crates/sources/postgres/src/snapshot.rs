//! The snapshot that all streams read. A transaction that is kept open exports it, and each session imports it.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inrush_pgclient::quote::literal;
use inrush_pgclient::{BlockingSession, ClientError, DatabaseAddress, SessionError};
use inrush_rows::cancel::Stop;
use inrush_source::never_the_same;

use crate::snapshot_age::SnapshotAge;

/// The tag of our connections in `pg_stat_activity`.
const APPLICATION_NAME: &str = "inrush source";

/// Begins a transaction that sees one moment and changes nothing.
pub const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// From here on, names are looked up as in the user's own sessions. Names in queries and conditions need this.
pub const USER_NAMES: &str = "SET LOCAL search_path = DEFAULT";

/// From here on, names are looked up only in the catalog.
pub const CATALOG_NAMES: &str = "SET LOCAL search_path = pg_catalog";

/// How rows are read, in addition to the settings of every session. Names in queries and conditions are looked up as
/// the user's own sessions do, and a table is read from its beginning. A database without an encoding sends its bytes
/// unchanged: with another `client_encoding`, a text that is not UTF-8 would be an error.
const READING: &str = "SET search_path = DEFAULT; SET synchronize_seqscans = off; \
    SELECT pg_catalog.set_config('client_encoding', 'SQL_ASCII', false) \
    WHERE pg_catalog.current_setting('server_encoding') = 'SQL_ASCII'";

/// Limits the wait for a lock.
pub fn lock_timeout(lock_wait_ms: u32) -> String {
    format!("SET lock_timeout = {lock_wait_ms}")
}

/// A snapshot that lasts until it is dropped.
#[derive(Debug)]
pub struct Snapshot {
    address: DatabaseAddressOf,
    id: String,
    /// The transactions that it shows: `xmin:xmax:xip`, as `pg_current_snapshot` returns them. On a standby the list
    /// `xip` is empty, so a transaction that is committed later does not change the text. For a snapshot of a standby
    /// this field is therefore [`never_the_same`].
    pub transactions: String,
    /// True if it is a snapshot of a standby.
    pub is_of_standby: bool,
    /// The session whose transaction it is.
    keeper: Mutex<BlockingSession>,
    /// The longest wait of a reading session for a lock, in milliseconds.
    lock_wait_ms: u32,
    /// The limit on the time for which it shows all of its rows.
    pub age: SnapshotAge,
}

/// An address whose `Debug` output shows no secret.
struct DatabaseAddressOf(DatabaseAddress);

impl std::fmt::Debug for DatabaseAddressOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.describe())
    }
}

/// A session that looks at the catalog and then keeps the snapshot.
pub fn open_keeper(
    address: &DatabaseAddress,
    stop: &Stop,
) -> Result<BlockingSession, SessionError> {
    let mut keeper = BlockingSession::open(address, APPLICATION_NAME, stop)?;
    refuse_pooler(&mut keeper, address, stop)?;
    Ok(keeper)
}

/// Refuses a pooler that gives each transaction or statement another backend: the settings of a session would be lost,
/// or would appear in another session. A pooler that keeps the session is found by a setting that is still there after
/// another session had the chance to take the backend.
fn refuse_pooler(
    keeper: &mut BlockingSession,
    address: &DatabaseAddress,
    stop: &Stop,
) -> Result<(), SessionError> {
    let doing = "finding out whether a pooler answers for the server";
    let own = keeper.query("SELECT pg_catalog.pg_backend_pid()", doing)?;
    let own = own.first();
    if own.as_deref() == Some(keeper.backend_process_id().to_string().as_str()) {
        return Ok(());
    }
    let mut probe = || -> Result<bool, SessionError> {
        keeper.query("SET inrush.probe = 'kept'", doing)?;
        let mut other = BlockingSession::open(address, APPLICATION_NAME, stop)?;
        other.query("BEGIN", doing)?;
        other.query("SELECT 1", doing)?;
        let kept = keeper.query(
            "SELECT pg_catalog.pg_backend_pid(), pg_catalog.current_setting('inrush.probe', true)",
            doing,
        )?;
        drop(other);
        let kept: Vec<Option<String>> = kept.rows.into_iter().flatten().collect();
        Ok(kept == [own.clone(), Some("kept".to_owned())])
    };
    match probe() {
        Ok(true) => Ok(()),
        Err(SessionError::Stopped) => Err(SessionError::Stopped),
        // A pooler of statements refuses a transaction.
        Ok(false) | Err(SessionError::Client(_)) => Err(SessionError::Client(ClientError::Gone {
            what: format!(
                "a pooler (such as PgBouncer) answers at {}, and gives each transaction or statement another backend: \
                 a snapshot cannot be kept",
                address.server()
            ),
            hint: "connect to the server itself, or to a pooler with pool_mode = session"
                .to_owned(),
        })),
    }
}

impl Snapshot {
    /// Locks tables, by their names in SQL, and takes the snapshot.
    ///
    /// LOCK refuses a materialized view, which REFRESH replaces for all snapshots. A statement that is parsed locks it, but takes
    /// a snapshot first. So another session parses `statements` before the snapshot is taken, and keeps its locks until the keeper
    /// has parsed them, too.
    pub fn take(
        mut keeper: BlockingSession,
        address: &DatabaseAddress,
        locked: &[String],
        statements: &[&str],
        lock_wait_ms: u32,
        stop: &Stop,
    ) -> Result<Snapshot, SessionError> {
        let holder = match statements.is_empty() {
            true => None,
            false => {
                let mut holder = BlockingSession::open(address, APPLICATION_NAME, stop)?;
                holder.query(&lock_timeout(lock_wait_ms), "limiting the wait for locks")?;
                holder.query("BEGIN", "locking materialized views")?;
                parse_all(&mut holder, statements)?;
                Some(holder)
            }
        };
        let doing = "beginning a transaction for a snapshot";
        keeper.query(BEGIN, doing)?;
        if !locked.is_empty() {
            // LOCK takes no snapshot, so the one below shows what was committed before the locks.
            let sql = format!("LOCK TABLE {} IN ACCESS SHARE MODE", locked.join(", "));
            keeper.query(
                &sql,
                "locking the tables against changes of their definition",
            )?;
        }
        // This is the first query of the transaction, and it takes the snapshot.
        let age = SnapshotAge::begin(&mut keeper)?;
        let sql = "SELECT pg_catalog.pg_export_snapshot(), pg_catalog.pg_current_snapshot()::text, \
                   pg_catalog.pg_is_in_recovery()";
        let exported = keeper.query(sql, "exporting a snapshot")?;
        if let Some(holder) = holder {
            parse_all(&mut keeper, statements)?;
            drop(holder);
        }
        let mut texts = exported.texts().into_iter();
        let id = texts.next().unwrap_or_default();
        let transactions = texts.next().unwrap_or_default();
        let is_of_standby = texts.next().as_deref() == Some("t");
        Ok(Snapshot {
            address: DatabaseAddressOf(address.clone()),
            id,
            transactions: match is_of_standby {
                true => never_the_same(),
                false => transactions,
            },
            is_of_standby,
            keeper: Mutex::new(keeper),
            lock_wait_ms,
            age,
        })
    }

    /// Uses the session that keeps the snapshot. The catalog is read in its transaction.
    pub fn with_keeper<T>(&self, work: impl FnOnce(&mut BlockingSession) -> T) -> T {
        work(&mut self.keeper.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A session whose transaction has this snapshot. It waits for a lock no longer than the limit, because the session
    /// that has the lock may itself wait for a lock of the keeper. The server does not detect this deadlock.
    pub fn open_session(&self, stop: &Stop) -> Result<BlockingSession, SessionError> {
        let mut session = BlockingSession::open(&self.address.0, APPLICATION_NAME, stop)?;
        let settings = format!("{}; {READING}", lock_timeout(self.lock_wait_ms));
        session.query(&settings, "making the settings of a reading session")?;
        session.query(BEGIN, "beginning a transaction for reading")?;
        let take = format!("SET TRANSACTION SNAPSHOT {}", literal(&self.id));
        session
            .query(&take, "taking over the snapshot")
            .map_err(|error| self.with_reason(gone(error)))?;
        Ok(session)
    }

    /// The reason that the server gave to the session that kept the snapshot, if the snapshot is gone: a standby that has to
    /// remove rows ends the oldest transactions.
    fn with_reason(&self, error: SessionError) -> SessionError {
        if !matches!(error, SessionError::Client(ClientError::Gone { .. })) {
            return error;
        }
        let asked = self.with_keeper(|keeper| keeper.query("SELECT", "keeping the snapshot"));
        match asked {
            Err(SessionError::Client(told)) if told.code().is_some() => SessionError::Client(told),
            _ => error,
        }
    }
}

/// Parses statements of users. This locks everything that they read.
fn parse_all(session: &mut BlockingSession, statements: &[&str]) -> Result<(), SessionError> {
    let doing = "locking the materialized views that are read";
    session.query(USER_NAMES, doing)?;
    for statement in statements {
        session.parse(statement, doing)?;
    }
    session.query(CATALOG_NAMES, doing).map(drop)
}

/// The error for a snapshot that the server no longer has.
fn gone(error: SessionError) -> SessionError {
    let code = match &error {
        SessionError::Client(error) => error.code().map(|code| code.code()),
        SessionError::Stopped => None,
    };
    match code {
        // Undefined object; until PostgreSQL 15, invalid parameter value.
        Some("42704" | "22023") => SessionError::Client(ClientError::Gone {
            what: "the snapshot is gone, because the connection that kept it was lost".to_owned(),
            hint: "run the same command again".to_owned(),
        }),
        _ => error,
    }
}

/// A table that a statement reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedTable {
    /// Its OID.
    pub oid: u32,
    /// Schema and name, quoted for SQL.
    pub sql: String,
    /// True if LOCK can lock it.
    pub can_be_locked: bool,
}

/// The tables and sequences that a statement reads, also through views: those that the server locks when it parses the statement.
pub fn locked_by(
    keeper: &mut BlockingSession,
    statement: &str,
    name: &Path,
) -> Result<Vec<LockedTable>, SessionError> {
    let doing = format!("parsing {}", name.display());
    keeper.query(&format!("{BEGIN}; {USER_NAMES}"), &doing)?;
    keeper.parse(statement, &doing)?;
    // A lock on a view locks its tables, too, by the rights of the view's owner.
    let locked = keeper.query(
        "SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), \
                c.relkind IN ('r', 'p', 'v') AND \
                (pg_catalog.has_table_privilege(c.oid, 'SELECT') OR NOT pg_catalog.bool_or(c.relkind = 'v') OVER ()) \
         FROM pg_catalog.pg_locks AS l \
         JOIN pg_catalog.pg_class AS c ON c.oid = l.relation \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' \
           AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) \
           AND c.relkind IN ('r', 'p', 'v', 'm', 'f', 'S') \
           AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
         ORDER BY 2",
        &doing,
    )?;
    keeper.query("ROLLBACK", &doing)?;
    let row = |row: Vec<Option<String>>| match <[Option<String>; 3]>::try_from(row) {
        Ok([Some(oid), Some(sql), can_be_locked]) => Some(LockedTable {
            oid: oid.parse().ok()?,
            sql,
            can_be_locked: can_be_locked.as_deref() == Some("t"),
        }),
        _ => None,
    };
    Ok(locked.rows.into_iter().filter_map(row).collect())
}
