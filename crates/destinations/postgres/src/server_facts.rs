//! The facts of a server that affect a load, and refusals of unsuitable servers and poolers.

use inrush_pgclient::DatabaseAddress;

use super::error::PostgresError;
use super::session::Session;
use crate::fast_copy::FastCopy;

const OLDEST_VERSION: i32 = 140_000;

/// The settings of a server that affect a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFacts {
    /// `server_version_num`.
    pub version_number: i32,
    /// `server_version`.
    pub version: String,
    /// `wal_level`; under `minimal` a private unit writes no WAL.
    pub wal_level: String,
    /// The most connections of the server.
    pub connections_max: i32,
    /// Connections in use now.
    pub connections_used: i64,
    /// Locks that all transactions together may hold.
    pub locks_max: i64,
    /// Settings that matter to a load, for the report.
    pub settings: Vec<(String, String)>,
    /// The role that loads.
    pub role: String,
    /// The database.
    pub database: String,
    /// The database stores texts in UTF-8.
    pub is_utf8: bool,
    /// Whether the extension `inrush_fastcopy` can be used; looked up only if a plan wants it.
    pub fast_copy: FastCopy,
}

const SETTINGS_OF_INTEREST: &[&str] = &[
    "server_version",
    "wal_level",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "max_wal_size",
    "checkpoint_timeout",
    "shared_buffers",
    "wal_buffers",
    "maintenance_work_mem",
    "autovacuum",
    "data_checksums",
    "max_locks_per_transaction",
    "max_connections",
];

/// Reads the server's facts and refuses servers that cannot be loaded: too old a version, a standby, a transaction
/// pooler.
pub async fn inspect(
    session: &Session,
    address: &DatabaseAddress,
) -> Result<ServerFacts, PostgresError> {
    let row = &session
        .query(
            "SELECT current_setting('server_version_num')::int4, \
                    current_setting('server_version'), current_setting('wal_level'), \
                    current_setting('max_connections')::int4, pg_is_in_recovery(), \
                    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), \
                    current_setting('max_locks_per_transaction')::int8 * \
                    (current_setting('max_connections')::int8 + \
                     current_setting('max_prepared_transactions')::int8), \
                    current_user::text, current_database()::text, \
                    current_setting('server_encoding') = 'UTF8'",
            &[],
            "reading the version of the server",
        )
        .await?[0];
    let version_number: i32 = row.get(0);
    let version: String = row.get(1);
    if version_number < OLDEST_VERSION {
        return Err(PostgresError::Unsuitable {
            what: format!(
                "{} runs PostgreSQL {version}; Inrush needs 14 or newer",
                address.server()
            ),
            hint: "load into a newer server".to_owned(),
        });
    }
    if row.get::<_, bool>(4) {
        return Err(PostgresError::Unsuitable {
            what: format!(
                "{} is a standby (in recovery): it is read-only",
                address.server()
            ),
            hint: "connect to the primary".to_owned(),
        });
    }
    refuse_transaction_pooler(session, address).await?;
    refuse_replica_role(session).await?;
    let names: Vec<&str> = SETTINGS_OF_INTEREST.to_vec();
    let settings = session
        .query(
            "SELECT name, current_setting(name) FROM pg_settings WHERE name = ANY($1) ORDER BY 1",
            &[&names],
            "reading the server's settings",
        )
        .await?
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    Ok(ServerFacts {
        version_number,
        version,
        wal_level: row.get(2),
        connections_max: row.get(3),
        connections_used: row.get(5),
        locks_max: row.get(6),
        settings,
        role: row.get(7),
        database: row.get(8),
        is_utf8: row.get(9),
        fast_copy: FastCopy::unasked(),
    })
}

/// A pooler invents a process ID for a connection. A pooler that gives each transaction another backend loses locks and
/// settings of the session, so it is refused. Other poolers keep the session. To distinguish them, this changes a
/// setting, and reads it again after other sessions had the chance to take the backend.
async fn refuse_transaction_pooler(
    session: &Session,
    address: &DatabaseAddress,
) -> Result<(), PostgresError> {
    if session.watch.backend_process_id() == session.backend_process_id as u32 {
        return Ok(());
    }
    let doing = "finding out whether a pooler answers for the server";
    session.execute("SET inrush.probe = 'kept'", doing).await?;
    let other = Session::open(address, "inrush probe").await?;
    other.execute("BEGIN; SELECT 1", doing).await?;
    let look = session.query(
        "SELECT pg_backend_pid(), coalesce(current_setting('inrush.probe', true), '')",
        &[],
        doing,
    );
    let kept = match tokio::time::timeout(std::time::Duration::from_secs(5), look).await {
        Ok(rows) => {
            let rows = rows?;
            rows[0].get::<_, i32>(0) == session.backend_process_id
                && rows[0].get::<_, String>(1) == "kept"
        }
        // The pool has one backend, and the other session holds it.
        Err(_) => false,
    };
    other.close().await;
    if kept {
        return Ok(());
    }
    Err(PostgresError::Unsuitable {
        what: format!(
            "a transaction pooler (such as PgBouncer) answers at {}: each transaction may get \
             another backend, so a load would lose its locks and settings",
            address.server()
        ),
        hint: "connect to the server itself, or to a pool with pool_mode = session".to_owned(),
    })
}

/// Refuses a role with `session_replication_role = replica` that may not change it: the server would then check no
/// foreign key and fire no trigger.
async fn refuse_replica_role(session: &Session) -> Result<(), PostgresError> {
    let rows = session
        .query(
            "SELECT current_setting('session_replication_role'), current_user::text",
            &[],
            "asking whether foreign keys are checked",
        )
        .await?;
    let role: String = rows[0].get(1);
    if rows[0].get::<_, String>(0) != "replica" {
        return Ok(());
    }
    Err(PostgresError::Unsuitable {
        what: format!(
            "the sessions of role {role} have session_replication_role = replica: the server would \
             check no foreign key and fire no trigger, and the role may not set it back"
        ),
        hint: format!(
            "as a superuser: ALTER ROLE {role} RESET session_replication_role; (or where the \
             database sets it, ALTER DATABASE ... RESET), or GRANT SET ON PARAMETER \
             session_replication_role TO {role};"
        ),
    })
}

/// A standby or a slot that is too far behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The role or the database that has the limit.
    pub who: String,
    /// Bytes of WAL that it has not replayed, or holds back.
    pub bytes: u64,
    /// The limit, in bytes.
    pub bytes_max: u64,
}

/// The standby or slot that exceeds its limit most.
pub async fn furthest_behind(
    session: &Session,
    replica_lag_bytes_max: Option<u64>,
    slot_bytes_max: Option<u64>,
) -> Result<Option<Behind>, PostgresError> {
    let limit = |bytes: Option<u64>| bytes.map(|bytes| i64::try_from(bytes).unwrap_or(i64::MAX));
    let rows = session
        .query(
            "SELECT who, behind, most FROM ( \
                 SELECT 'standby ' || application_name AS who, $1::int8 AS most, \
                        pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn)::int8 AS behind \
                 FROM pg_stat_replication \
                 UNION ALL \
                 SELECT 'replication slot ' || slot_name, $2::int8, \
                        pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)::int8 \
                 FROM pg_replication_slots) AS found \
             WHERE behind > most ORDER BY behind - most DESC LIMIT 1",
            &[&limit(replica_lag_bytes_max), &limit(slot_bytes_max)],
            "asking how far standbys are behind",
        )
        .await?;
    Ok(rows.first().map(|row| Behind {
        who: row.get(0),
        bytes: row.get::<_, i64>(1).unsigned_abs(),
        bytes_max: row.get::<_, i64>(2).unsigned_abs(),
    }))
}

/// Refuses to watch standbys that the role may not see: they would seem not to lag.
pub async fn refuse_blind(session: &Session, role: &str) -> Result<(), PostgresError> {
    let sees = session
        .query(
            "SELECT pg_has_role('pg_read_all_stats', 'USAGE')",
            &[],
            "reading the rights of the role",
        )
        .await?;
    if sees[0].get(0) {
        return Ok(());
    }
    Err(PostgresError::Unsuitable {
        what: format!(
            "`replica_lag_bytes_max` is set, but the role {role} may not see how far standbys are \
             behind"
        ),
        hint: format!("GRANT pg_monitor TO {role}, or load without it"),
    })
}

/// The folder on the server's machine for new tables; `None` if the role may not know it.
pub async fn table_folder(session: &Session) -> Result<Option<String>, PostgresError> {
    let rows = session
        .query(
            "SELECT coalesce(nullif(pg_tablespace_location(t.oid), ''), \
                    (SELECT setting FROM pg_settings WHERE name = 'data_directory')) \
             FROM pg_database AS d JOIN pg_tablespace AS t ON \
                  CASE current_setting('default_tablespace') WHEN '' THEN t.oid = d.dattablespace \
                  ELSE t.spcname = current_setting('default_tablespace') END \
             WHERE d.datname = current_database()",
            &[],
            "asking where tables are stored",
        )
        .await?;
    Ok(rows.first().and_then(|row| row.get(0)))
}
