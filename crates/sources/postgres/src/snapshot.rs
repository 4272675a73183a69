//! The snapshot that all streams read: exported by a transaction that is kept open, and taken over by each session.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use inrush_pgclient::quote::literal;
use inrush_pgclient::{BlockingSession, ClientError, DatabaseAddress, SessionError};
use inrush_rows::cancel::Stop;

/// The tag of our connections in `pg_stat_activity`.
const APPLICATION_NAME: &str = "inrush source";

/// Begins a transaction that sees one moment and changes nothing.
pub const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// How rows are read, beside the settings of every session. Names in queries and conditions are looked up as the user's own
/// sessions do, and a table is read from its beginning. A database without an encoding sends its bytes as they are: with
/// another setting a text that is not UTF-8 would end the reading.
const READING: &str = "SET search_path = DEFAULT; SET synchronize_seqscans = off; \
    SELECT pg_catalog.set_config('client_encoding', 'SQL_ASCII', false) \
    WHERE pg_catalog.current_setting('server_encoding') = 'SQL_ASCII'";

/// A snapshot that lasts until it is dropped.
#[derive(Debug)]
pub struct Snapshot {
    address: DatabaseAddressOf,
    id: String,
    /// The transactions that it shows: `xmin:xmax:xip`, as `pg_current_snapshot` says.
    pub transactions: String,
    hides_nothing: bool,
    /// The session whose transaction it is.
    keeper: Mutex<BlockingSession>,
}

/// An address without a `Debug` that could tell a secret.
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
    BlockingSession::open(address, APPLICATION_NAME, stop)
}

impl Snapshot {
    /// Locks tables, by their names in SQL, and takes the snapshot. With `hides_nothing`, a table that hides rows from the
    /// user by row security is an error.
    pub fn take(
        mut keeper: BlockingSession,
        address: &DatabaseAddress,
        locked: &[String],
        hides_nothing: bool,
    ) -> Result<Snapshot, SessionError> {
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
        let sql = "SELECT pg_catalog.pg_export_snapshot(), pg_catalog.pg_current_snapshot()::text";
        let exported = keeper.query(sql, "exporting a snapshot")?;
        let mut texts = exported.rows.into_iter().flatten().flatten();
        Ok(Snapshot {
            address: DatabaseAddressOf(address.clone()),
            id: texts.next().unwrap_or_default(),
            transactions: texts.next().unwrap_or_default(),
            hides_nothing,
            keeper: Mutex::new(keeper),
        })
    }

    /// The session that keeps it. The catalog is read in its transaction.
    pub fn keeper(&mut self) -> &mut BlockingSession {
        self.keeper
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// A session whose transaction has this snapshot.
    pub fn open_session(&self, stop: &Stop) -> Result<BlockingSession, SessionError> {
        let mut session = BlockingSession::open(&self.address.0, APPLICATION_NAME, stop)?;
        session.query(READING, "making the settings of a reading session")?;
        if self.hides_nothing {
            session.query(
                "SET row_security = off",
                "turning row security into an error",
            )?;
        }
        session.query(BEGIN, "beginning a transaction for reading")?;
        let take = format!("SET TRANSACTION SNAPSHOT {}", literal(&self.id));
        session
            .query(&take, "taking over the snapshot")
            .map_err(gone)?;
        Ok(session)
    }
}

/// A snapshot that the server does not know any more.
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

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.keeper().close();
    }
}

/// The tables that a query reads, by their names in SQL: those that the server locks when it parses the query.
pub fn tables_of_query(
    keeper: &mut BlockingSession,
    query: &str,
    name: &Path,
) -> Result<Vec<String>, SessionError> {
    let doing = format!("parsing {}", name.display());
    keeper.query(&format!("{BEGIN}; SET LOCAL search_path = DEFAULT"), &doing)?;
    keeper.parse(query, &doing)?;
    let locked = keeper.query(
        "SELECT pg_catalog.format('%I.%I', n.nspname, c.relname) \
         FROM pg_catalog.pg_locks AS l \
         JOIN pg_catalog.pg_class AS c ON c.oid = l.relation \
         JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         WHERE l.pid = pg_catalog.pg_backend_pid() AND l.locktype = 'relation' \
           AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) \
           AND c.relkind IN ('r', 'p', 'v') \
           AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
         ORDER BY 1",
        &doing,
    )?;
    keeper.query("ROLLBACK", &doing)?;
    Ok(locked.rows.into_iter().flatten().flatten().collect())
}
