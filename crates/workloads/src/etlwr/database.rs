//! The database of the workload: prepared before each run, examined after it, and left as it was found.

use std::collections::BTreeMap;
use std::path::Path;

use inrush::ConnectionDefaults;
use inrush::package::{Connection, Package};
use inrush::postgres::{DatabaseAddress, PostgresError, Session, catalog};
use inrush::report::{RunReport, machine};
use inrush::upkeep::{self, LedgerOptions, Which};

use super::columnstore::Columnstore;
use super::data::TableFiles;
use super::package::NAME;
use crate::error::WorkloadError;
use crate::session::with_session;

/// The longest wait for a lock on a table that is dropped.
const PATIENCE: &str = "SET lock_timeout = '5s'";

/// The server, and whether its data are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// An embedded server; server and data are removed when the program ends.
    Temporary,
    /// An embedded server whose data are kept.
    Kept,
    /// A server of the user.
    Own,
}

/// The size of what a run has stored.
pub struct Stored {
    /// Bytes of all tables.
    pub all: u64,
    /// Bytes of each target; `None` if the database does not report them.
    pub by_target: Option<BTreeMap<String, u64>>,
}

/// A database to load into.
pub enum Database {
    /// A server.
    Server(Box<ServerDatabase>),
    /// A columnstore on this machine.
    Columnstore(Columnstore),
}

impl Database {
    /// The database into which the package of the workload loads. `defaults` fill the gaps of a server's URL.
    pub fn of(
        package: &Package,
        defaults: ConnectionDefaults,
        server: Server,
    ) -> Result<Database, WorkloadError> {
        let connection = package.single_connection()?;
        if let Some(place) = Columnstore::of(connection.address()) {
            return Ok(Database::Columnstore(place));
        }
        let server = ServerDatabase::of(package, defaults, server)?;
        Ok(Database::Server(Box::new(server)))
    }

    /// True if the data are removed when the program ends.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Database::Server(server) => server.server == Server::Temporary,
            Database::Columnstore(_) => false,
        }
    }

    /// Cores of this machine, if the database is on it.
    pub(super) fn cores_here(&self) -> Option<u32> {
        let is_here = match self {
            Database::Server(server) => server.is_here(),
            Database::Columnstore(_) => true,
        };
        is_here.then(|| u32::try_from(machine().cores).unwrap_or(u32::MAX))
    }

    /// Refuses a database that has a table of the workload, because the command drops only tables that it has created.
    pub fn refuse_tables(&self, tables: &[TableFiles]) -> Result<(), WorkloadError> {
        match self {
            Database::Server(server) => server.refuse_tables(tables),
            Database::Columnstore(place) => place.refuse_existing(),
        }
    }

    /// Brings the database to the same state before each run, as far as the database allows this. Returns notes for a
    /// reader of the results.
    pub(super) fn make_ready(
        &self,
        tables: &[TableFiles],
        is_series: bool,
    ) -> Result<Vec<String>, WorkloadError> {
        match self {
            Database::Server(server) => server.make_ready(tables, is_series),
            Database::Columnstore(place) => place.refuse_existing().map(|()| Vec::new()),
        }
    }

    /// Bytes that the targets of a run take in the database.
    pub(super) fn stored_bytes(&self, report: &RunReport) -> Result<Stored, WorkloadError> {
        match self {
            Database::Server(server) => {
                let sizes = server.stored_bytes(report)?;
                Ok(Stored {
                    all: sizes.values().sum(),
                    by_target: Some(sizes),
                })
            }
            Database::Columnstore(place) => Ok(Stored {
                all: place.stored_bytes()?,
                by_target: None,
            }),
        }
    }

    /// Drops the tables that a run has created.
    pub(super) fn drop_tables(&self, report: &RunReport) -> Result<(), WorkloadError> {
        match self {
            Database::Server(server) => server.drop_tables(report),
            Database::Columnstore(place) => place.remove(),
        }
    }
}

/// A PostgreSQL server's database.
pub struct ServerDatabase {
    address: DatabaseAddress,
    connection: Connection,
    ledger_schema: String,
    defaults: ConnectionDefaults,
    server: Server,
}

impl ServerDatabase {
    fn of(
        package: &Package,
        defaults: ConnectionDefaults,
        server: Server,
    ) -> Result<ServerDatabase, WorkloadError> {
        let connection = package.single_connection()?;
        Ok(ServerDatabase {
            address: inrush::postgres_server(connection, &defaults)?,
            connection: connection.clone(),
            ledger_schema: package.run.ledger_schema.clone(),
            defaults,
            server,
        })
    }

    /// True if the server is on this machine.
    fn is_here(&self) -> bool {
        let here = ["/", "localhost:", "127.", "[::1]"];
        let is_here = |place: &str| here.iter().any(|start| place.starts_with(start));
        let mut places = self.address.places.iter();
        self.server != Server::Own || places.all(|place| is_here(&place.describe()))
    }

    fn refuse_tables(&self, tables: &[TableFiles]) -> Result<(), WorkloadError> {
        let names: Vec<String> = tables
            .iter()
            .map(|table| table.table.name.to_owned())
            .collect();
        let there = self.with_session(async |session| {
            for name in &names {
                let schema = catalog::default_schema(session, name).await?;
                let only = std::slice::from_ref(name);
                if !catalog::relation_names(session, &schema, Some(only))
                    .await?
                    .is_empty()
                {
                    return Ok(Some(format!("{schema}.{name}")));
                }
            }
            Ok(None)
        })?;
        match there {
            None => Ok(()),
            Some(table) => Err(WorkloadError::Usage {
                what: format!(
                    "--to: the database has a table {table}, but the workload creates its tables itself"
                ),
                hint: "load into another database, or drop it if it comes from an earlier run"
                    .to_owned(),
            }),
        }
    }

    fn make_ready(
        &self,
        tables: &[TableFiles],
        is_series: bool,
    ) -> Result<Vec<String>, WorkloadError> {
        self.refuse_tables(tables)?;
        let mut notes = Vec::new();
        if is_series && self.server != Server::Temporary {
            notes.extend(self.remove_stopped_runs()?);
        }
        // Pages that an earlier run has not yet written must not slow down the next run.
        let refused = self.with_session(async |session| {
            match session.execute("CHECKPOINT", "making ready").await {
                Ok(()) => Ok(None),
                Err(error) if error.code().is_some() => Ok(Some(error.to_string())),
                Err(error) => Err(error),
            }
        })?;
        if let Some(refused) = refused {
            notes.push(format!(
                "no CHECKPOINT before each run, so a run may wait for writes of an earlier run: \
                 {refused}"
            ));
        }
        Ok(notes)
    }

    fn remove_stopped_runs(&self) -> Result<Vec<String>, WorkloadError> {
        let which = Which {
            package: Some(NAME.to_owned()),
            run: None,
        };
        let options = LedgerOptions {
            folder: Path::new("."),
            site_packages: None,
            ledger_schema: &self.ledger_schema,
        };
        let runs = inrush::past_runs(&self.connection, &options, &self.defaults)?;
        let removed = runs.discard(&which)?;
        let note = |removed: upkeep::StoppedRun| {
            format!(
                "the staged rows of the stopped run {} were removed before",
                removed.run.name
            )
        };
        Ok(removed.into_iter().map(note).collect())
    }

    /// Bytes that each target takes in the database, its partitions included.
    fn stored_bytes(&self, report: &RunReport) -> Result<BTreeMap<String, u64>, WorkloadError> {
        let targets: Vec<String> = report
            .tables
            .iter()
            .map(|table| table.target.clone())
            .collect();
        self.with_session(async |session| {
            let mut sizes = BTreeMap::new();
            for target in targets {
                let rows = session
                    .query(
                        "SELECT (pg_total_relation_size($1::text::regclass) + coalesce((\
                         SELECT sum(pg_total_relation_size(relid)) \
                         FROM pg_partition_tree($1::text::regclass) \
                         WHERE relid <> $1::text::regclass), 0))::bigint",
                        &[&target],
                        "looking at the sizes of the tables",
                    )
                    .await?;
                sizes.insert(target, rows[0].get::<_, i64>(0).unsigned_abs());
            }
            Ok(sizes)
        })
    }

    fn drop_tables(&self, report: &RunReport) -> Result<(), WorkloadError> {
        let targets: Vec<&str> = report
            .tables
            .iter()
            .map(|table| table.target.as_str())
            .collect();
        let statement = format!("{PATIENCE}; DROP TABLE {}", targets.join(", "));
        self.with_session(async |session| session.execute(&statement, "dropping the tables").await)
    }

    fn with_session<T>(
        &self,
        work: impl AsyncFnOnce(&Session) -> Result<T, PostgresError>,
    ) -> Result<T, WorkloadError> {
        with_session(&self.address, "inrush bench etlwr", work)
    }
}
