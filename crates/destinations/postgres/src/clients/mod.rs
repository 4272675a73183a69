//! A server that many clients call: the contract of `inrush_destination::clients` for PostgreSQL.
//!
//! All tables and functions are in a separate schema (`own_schema`), created over a control connection that stays open
//! during the measurement. Clients have raw connections without the driver (`connection`), with the settings of the
//! URL. `look` samples their backends, and `statements` has the statements that they send.

mod connection;
mod look;
mod own_schema;
mod statements;

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use inrush_destination::clients::{
    ClientConnection, ClientServer, ClientServerFacts, ClientWork, ServerLook, ServerTotals,
};
use inrush_destination::{Error, Result};
use inrush_pgclient::{
    ClientError, ConnectionDefaults, DatabaseAddress, ENDING_LOOK, ENDING_MAX, RawConnection,
    ServerAddress, ServerConnection,
};
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;

use self::connection::PostgresClient;
use self::look::BackendLook;
use self::own_schema::OwnSchema;
use self::statements::Statements;

/// The `application_name` of the clients' connections.
const CLIENT: &str = "inrush bench client";
/// The `application_name` of the connection that creates and removes tables.
const CONTROL: &str = "inrush bench";

/// Rows that are inserted to measure the size of a row.
const SAMPLE_ROWS: u32 = 5_000;

const OLDEST_VERSION: i32 = 140_000;

const SETTINGS_OF_INTEREST: &[&str] = &[
    "server_version",
    "max_connections",
    "shared_buffers",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "wal_sync_method",
    "commit_delay",
    "commit_siblings",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
];

/// A server with a separate schema for a measurement.
pub struct PostgresClients {
    /// One address for each endpoint; without endpoints, the address in the URL.
    addresses: Vec<DatabaseAddress>,
    statements: Statements,
    schema: OwnSchema,
    /// `server_version_num`.
    version: i32,
    way: &'static str,
    control: Mutex<Control>,
}

/// The connection that creates and removes tables, and holds the lock that marks the schema as used.
struct Control {
    runtime: Runtime,
    connection: ServerConnection,
}

impl PostgresClients {
    /// Connects, removes what killed measurements have left, and creates the schema.
    pub fn open(
        url: &str,
        work: ClientWork,
        defaults: &ConnectionDefaults,
    ) -> Result<PostgresClients> {
        let address = &DatabaseAddress::parse(url, defaults).map_err(told)?;
        let mut addresses = Vec::new();
        for endpoint in &work.endpoints {
            let place = ServerAddress::parse(endpoint).map_err(|reason| Error::Unsuitable {
                what: format!("--endpoints: {reason}"),
                hint: "write them as HOST:PORT,HOST:PORT".to_owned(),
            })?;
            addresses.push(address.at(place));
        }
        if addresses.is_empty() {
            addresses.push(address.clone());
        }
        let runtime = runtime()?;
        let connected = runtime.block_on(ServerConnection::open(address, CONTROL));
        let connection = connected.map_err(told)?;
        let version = runtime.block_on(version_of(&connection)).map_err(told)?;
        if version < OLDEST_VERSION {
            return Err(Error::Unsuitable {
                what: format!(
                    "the server has version {}, which is too old",
                    version / 10_000
                ),
                hint: "use PostgreSQL 14 or later".to_owned(),
            });
        }
        runtime.block_on(require_one_server(&connection, &addresses, &work.endpoints))?;
        let way = runtime.block_on(way_to(&addresses[0])).map_err(told)?;
        let making = OwnSchema::make(&connection);
        let schema = runtime
            .block_on(making)
            .map_err(|error| not_made(error, address))?;
        Ok(PostgresClients {
            addresses,
            statements: Statements::new(&work, &schema.name),
            schema,
            version,
            way,
            control: Mutex::new(Control {
                runtime,
                connection,
            }),
        })
    }

    /// Runs a query over the control connection.
    fn ask<T>(
        &self,
        work: impl AsyncFnOnce(&ServerConnection) -> std::result::Result<T, ClientError>,
    ) -> Result<T> {
        let control = self.control.lock().unwrap_or_else(PoisonError::into_inner);
        let Control {
            runtime,
            connection,
        } = &*control;
        runtime.block_on(work(connection)).map_err(told)
    }

    fn number(&self, sql: &str, doing: &str) -> Result<i64> {
        self.ask(async |connection| {
            let rows = connection.query(sql, &[], doing).await?;
            Ok(rows[0].get(0))
        })
    }
}

impl ClientServer for PostgresClients {
    fn facts(&self) -> Result<ClientServerFacts> {
        let settings = self.ask(async |connection| {
            let sql = "SELECT name, pg_catalog.current_setting(name) FROM pg_catalog.pg_settings \
                       WHERE name = ANY($1)";
            connection
                .query(
                    sql,
                    &[&SETTINGS_OF_INTEREST],
                    "reading the server's settings",
                )
                .await
        })?;
        let mut settings: Vec<(String, String)> = settings
            .iter()
            .map(|row| (row.get(0), row.get(1)))
            .collect();
        // The sessions of the clients may have another value of this setting than this session.
        settings.retain(|(name, _)| name != "synchronous_commit");
        settings.sort();
        let version = settings.iter().find(|(name, _)| name == "server_version");
        Ok(ClientServerFacts {
            version: format!("PostgreSQL {}", version.map_or("?", |(_, version)| version)),
            destination: self.addresses[0].describe(),
            way: self.way.to_owned(),
            statement: self.statements.shown().to_owned(),
            settings,
            removed: self.schema.removed.clone(),
        })
    }

    fn require_room(&self, clients: u16) -> Result<()> {
        let row = self.ask(async |connection| {
            let rows = connection
                .query(ROOM, &[], "counting the server's connections")
                .await?;
            Ok((
                rows[0].get::<_, i32>(0),
                rows[0].get::<_, i32>(1),
                rows[0].get::<_, i64>(2),
                rows[0].get::<_, i32>(3),
                rows[0].get::<_, i64>(4),
            ))
        })?;
        let (most, reserved, used, limit, used_of_limit) = row;
        // One connection is kept for the samples.
        let mut room = i64::from(most - reserved) - used - 1;
        let mut why =
            format!("max_connections is {most}, {reserved} are reserved, {used} are in use");
        if limit >= 0 && i64::from(limit) - used_of_limit - 1 < room {
            room = i64::from(limit) - used_of_limit - 1;
            why = format!(
                "the role or the database may have {limit} connections, {used_of_limit} are in use"
            );
        }
        if i64::from(clients) <= room {
            return Ok(());
        }
        Err(Error::Unsuitable {
            what: format!(
                "{clients} clients need {clients} connections, but the server has room for {}: {why}, \
                 and 1 is needed to look at the server",
                room.max(0)
            ),
            hint: "measure fewer clients, or raise max_connections".to_owned(),
        })
    }

    fn make_ready(&self) -> Result<Vec<String>> {
        let statements = self.statements.make_ready();
        self.ask(async |connection| {
            for statement in &statements {
                connection.execute(statement, "making the tables of the measurement").await?;
            }
            // Pages that an earlier run has left unwritten must not slow down this run.
            let refused = connection.execute("CHECKPOINT", "making ready").await;
            match refused {
                Ok(()) => Ok(Vec::new()),
                Err(error) if error.code().is_some() => Ok(vec![format!(
                    "no CHECKPOINT before each run, so a run may wait for writes of an earlier run: {error}"
                )]),
                Err(error) => Err(error),
            }
        })
    }

    fn row_bytes(&self) -> Result<Option<f64>> {
        let Some(table) = self.statements.table() else {
            return Ok(None);
        };
        let doing = "measuring how much a row takes";
        let insert = self.statements.insert(SAMPLE_ROWS);
        let bytes = self.ask(async |connection| {
            connection.execute(&insert, doing).await?;
            let sql = format!("SELECT pg_catalog.pg_total_relation_size('{table}')");
            let rows = connection.query(&sql, &[], doing).await?;
            connection
                .execute(&format!("TRUNCATE {table}"), doing)
                .await?;
            Ok(rows[0].get::<_, i64>(0))
        })?;
        Ok(Some(bytes as f64 / f64::from(SAMPLE_ROWS)))
    }

    fn connect(&self, client: usize) -> Result<Box<dyn ClientConnection>> {
        let address = &self.addresses[(client - 1) % self.addresses.len()];
        let runtime = runtime()?;
        let name = self.client_name();
        let opening = RawConnection::open(address, &name);
        let raw = runtime.block_on(opening).map_err(told)?;
        Ok(Box::new(PostgresClient::new(raw, &self.statements)?))
    }

    fn watch(&self) -> Result<Box<dyn ServerLook + '_>> {
        let look = BackendLook::open(
            &self.addresses[0],
            self.version,
            self.client_name(),
            self.statements.table(),
        );
        Ok(Box::new(look.map_err(told)?))
    }

    fn totals(&self) -> Result<ServerTotals> {
        let flushes = match self.version {
            180_000.. => "(SELECT sum(fsyncs) FROM pg_catalog.pg_stat_io WHERE object = 'wal')",
            _ => "wal_sync",
        };
        let sql = format!(
            "SELECT pg_catalog.pg_wal_lsn_diff(pg_catalog.pg_current_wal_insert_lsn(), '0/0')::pg_catalog.int8, \
                    wal_fpi::pg_catalog.int8, {flushes}::pg_catalog.int8, {checkpoints} \
             FROM pg_catalog.pg_stat_wal",
            checkpoints = checkpoints(self.version),
        );
        let name = self.client_name();
        let row = self.ask(async |connection| {
            // A session reports its counts when it ends, a moment after its client has gone.
            all_ended(connection, &name).await?;
            let rows = connection
                .query(&sql, &[], "reading the server's counters")
                .await?;
            let number = |at: usize| rows[0].get::<_, Option<i64>>(at);
            Ok([number(0), number(1), number(2), number(3)])
        })?;
        let [wal_bytes, full_pages, flushes, checkpoints] =
            row.map(|number| number.and_then(|number| u64::try_from(number).ok()));
        Ok(ServerTotals {
            wal_bytes: wal_bytes.unwrap_or(0),
            wal_full_pages: full_pages.unwrap_or(0),
            wal_flushes: flushes,
            checkpoints: checkpoints.unwrap_or(0),
        })
    }

    fn rows_stored(&self) -> Result<Option<u64>> {
        let Some(table) = self.statements.table() else {
            return Ok(None);
        };
        let sql = format!("SELECT count(*) FROM {table}");
        let rows = self.number(&sql, "counting the rows of the table")?;
        Ok(Some(rows.unsigned_abs()))
    }

    fn clean(&self) -> Vec<String> {
        let name = &self.schema.name;
        let removed = self.ask(async |connection| OwnSchema::remove(connection, name).await);
        // If only the control connection was lost, a new one can still remove the schema.
        let removed = removed.or_else(|_| {
            let runtime = runtime()?;
            runtime.block_on(async {
                let connection = ServerConnection::open(&self.addresses[0], CONTROL).await;
                let connection = connection.map_err(told)?;
                let removed = OwnSchema::remove(&connection, name).await.map_err(told);
                connection.close().await;
                removed
            })
        });
        match removed {
            Ok(()) => Vec::new(),
            Err(error) => vec![format!(
                "schema {name} could not be removed ({error}); the next `inrush bench` of this kind removes it"
            )],
        }
    }
}

impl PostgresClients {
    /// The `application_name` by which samples find the clients' backends.
    fn client_name(&self) -> String {
        format!("{CLIENT} {}", self.schema.number)
    }
}

/// A role without the right to see other sessions sees only their role and database.
///
/// Returns the server's limit of connections, how many of them are reserved, and how many are in use; then the limit of
/// the role or the database, and how many of that limit are in use.
const ROOM: &str = "\
    WITH own AS ( \
        SELECT r.rolsuper, r.rolconnlimit, d.datconnlimit \
        FROM pg_catalog.pg_roles AS r, pg_catalog.pg_database AS d \
        WHERE r.rolname = current_user AND d.datname = pg_catalog.current_database()), \
    used AS ( \
        SELECT count(*) AS all_of_them, \
               count(*) FILTER (WHERE usename = current_user) AS of_role, \
               count(*) FILTER (WHERE datname = pg_catalog.current_database()) AS of_database \
        FROM pg_catalog.pg_stat_activity \
        WHERE usesysid IS NOT NULL AND datid IS NOT NULL) \
    SELECT pg_catalog.current_setting('max_connections')::pg_catalog.int4, \
           CASE WHEN rolsuper THEN 0 ELSE \
                pg_catalog.current_setting('superuser_reserved_connections')::pg_catalog.int4 \
                + coalesce(pg_catalog.current_setting('reserved_connections', true), '0')::pg_catalog.int4 END, \
           used.all_of_them, \
           CASE WHEN rolsuper THEN -1 \
                WHEN rolconnlimit >= 0 AND (datconnlimit < 0 OR rolconnlimit <= datconnlimit) THEN rolconnlimit \
                ELSE datconnlimit END, \
           CASE WHEN rolconnlimit >= 0 AND (datconnlimit < 0 OR rolconnlimit <= datconnlimit) \
                THEN used.of_role ELSE used.of_database END \
    FROM own, used";

/// The expression that counts checkpoints.
fn checkpoints(version: i32) -> &'static str {
    match version {
        170_000.. => {
            "(SELECT num_timed + num_requested FROM pg_catalog.pg_stat_checkpointer)::pg_catalog.int8"
        }
        _ => {
            "(SELECT checkpoints_timed + checkpoints_req FROM pg_catalog.pg_stat_bgwriter)::pg_catalog.int8"
        }
    }
}

async fn version_of(connection: &ServerConnection) -> std::result::Result<i32, ClientError> {
    let sql = "SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4";
    let rows = connection
        .query(sql, &[], "asking for the server's version")
        .await?;
    Ok(rows[0].get(0))
}

/// Fails if the endpoints are different servers: the results would describe none of them.
async fn require_one_server(
    connection: &ServerConnection,
    addresses: &[DatabaseAddress],
    endpoints: &[String],
) -> Result<()> {
    let started_at = |connection: &ServerConnection| {
        connection
            .watch
            .backend()
            .map(|backend| backend.server_started_at)
    };
    for (address, endpoint) in addresses.iter().zip(endpoints) {
        let other = ServerConnection::open(address, CONTROL)
            .await
            .map_err(told)?;
        let is_same = started_at(&other) == started_at(connection);
        other.close().await;
        if !is_same {
            return Err(Error::Unsuitable {
                what: format!("--endpoints: {endpoint} is another server than that of --to"),
                hint: "name addresses and ports of one server".to_owned(),
            });
        }
    }
    Ok(())
}

/// Waits until the sessions of disconnected clients have ended, but not for long: one may still execute a statement.
async fn all_ended(
    connection: &ServerConnection,
    name: &str,
) -> std::result::Result<(), ClientError> {
    let sql = "SELECT count(*) FROM pg_catalog.pg_stat_get_activity(NULL) AS a \
               WHERE a.application_name = $1";
    let given_up_at = Instant::now() + ENDING_MAX;
    loop {
        let rows = connection
            .query(sql, &[&name], "waiting for the sessions of clients to end")
            .await?;
        if rows[0].get::<_, i64>(0) == 0 || Instant::now() >= given_up_at {
            return Ok(());
        }
        tokio::time::sleep(ENDING_LOOK).await;
    }
}

/// How the server is reached: socket, TCP or TLS.
async fn way_to(address: &DatabaseAddress) -> std::result::Result<&'static str, ClientError> {
    let raw = RawConnection::open(address, CONTROL).await?;
    Ok(match (raw.is_encrypted(), raw.tcp()) {
        (true, _) => "TLS",
        (false, Some(_)) => "TCP",
        (false, None) => "unix socket",
    })
}

fn runtime() -> Result<Runtime> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.map_err(|error| Error::Refused {
        doing: "cannot start".to_owned(),
        message: error.to_string(),
        hint: Some("raise the limits of this user (ulimit -n, ulimit -u)".to_owned()),
    })
}

/// An error of a connection as an error of the contract.
fn told(error: ClientError) -> Error {
    let hint = error.hint();
    match error {
        ClientError::Refused { doing, message, .. } => Error::Refused {
            doing,
            message: format!("the server says: {message}"),
            hint,
        },
        ClientError::Lost { doing, reason } => Error::Refused {
            doing,
            message: format!("the connection to the server was lost ({reason})"),
            hint: Some("the server's log says why it ended the session".to_owned()),
        },
        other => Error::Unsuitable {
            what: other.to_string(),
            hint: hint.unwrap_or_else(|| "check the URL and the server's log".to_owned()),
        },
    }
}

/// The error if the schema could not be created.
fn not_made(error: ClientError, address: &DatabaseAddress) -> Error {
    let is_refused = error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE);
    match told(error) {
        Error::Refused { doing, message, .. } if is_refused => Error::Refused {
            doing,
            message,
            hint: Some(format!(
                "the measurement makes a schema of its own: GRANT CREATE ON DATABASE {} TO {}",
                address.config.get_dbname().unwrap_or("?"),
                address.config.get_user().unwrap_or("?")
            )),
        },
        other => other,
    }
}
