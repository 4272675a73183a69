//! The destinations and sources of this build: the planner and the ledger for each URL, and the kinds of sources
//! that a flow may name. No other file names a destination.

use std::path::Path;
use std::sync::Arc;

use inrush_destination::address::DestinationKind;
use inrush_destination::clients::{ClientServer, ClientWork};
use inrush_destination::{Address, Destination, Result, RunLedger};
use inrush_engine::driver::Driver;
use inrush_engine::error::Error;
use inrush_engine::upkeep::LedgerOptions;
use inrush_package::{Connection, FlowSource, Package, URLS, redacted_url};
use inrush_plan::PlanError;
use inrush_plan::contract::ContractPlanner;
use inrush_plan::destination_error::DestinationError;
use inrush_plan::planner::Planner;
use inrush_plan::reading::flow_inputs::{FlowAsked, FlowInputs, Sources};
use inrush_postgres::{ConnectionDefaults, DatabaseAddress, PostgresClients, PostgresPlanner};
use inrush_rows::cancel::Stop;
use inrush_rows::exit_status::ExitStatus;
use inrush_source_adbc::RowStream;
pub use inrush_sqlserver::{SQLCMD_VARIABLES, left_out as left_out_of_sqlserver};
use inrush_transform::evaluator::{Evaluator, EvaluatorError};
use tokio::runtime::Handle;

use crate::flow_databases::FlowDatabases;
use crate::flow_files::FlowFiles;
use crate::flow_sqlserver::FlowSqlServer;
use crate::flow_steps::FlowSteps;
use crate::flow_stream::FlowStream;
use crate::flow_tables::FlowTables;

/// Opens the sources of a run: the files, tables and queries that flows name. `defaults` fill the gaps of URLs, and drivers are
/// looked for in `site_packages`, the folder of installed Python packages.
pub fn open_sources(
    defaults: &ConnectionDefaults,
    site_packages: Option<&Path>,
) -> impl Fn(&Stop) -> Arc<dyn Sources> + Sync + use<> {
    let defaults = defaults.clone();
    let site_packages = site_packages.map(Path::to_owned);
    move |stop| {
        Arc::new(FlowSources {
            files: FlowFiles::new(stop),
            tables: FlowTables::new(&defaults, stop),
            databases: FlowDatabases::new(site_packages.as_deref(), stop),
            sql_server: FlowSqlServer::new(stop),
            steps: FlowSteps::new(site_packages.as_deref()),
        })
    }
}

/// Opens the source of a run whose only flow loads these rows of a program. DuckDB, which evaluates steps, is looked for in
/// `site_packages`.
pub fn open_row_stream(
    rows: &RowStream,
    site_packages: Option<&Path>,
) -> impl Fn(&Stop) -> Arc<dyn Sources> + Sync + use<> {
    let rows = rows.clone();
    let site_packages = site_packages.map(Path::to_owned);
    move |stop| Arc::new(FlowStream::new(&rows, site_packages.as_deref(), stop))
}

/// Opens the sources of a run for a caller that has only files.
pub fn open_files(stop: &Stop) -> Arc<dyn Sources> {
    Arc::new(FlowFiles::new(stop))
}

/// All kinds of sources; the settings of a flow choose one.
#[derive(Debug)]
struct FlowSources {
    files: FlowFiles,
    tables: FlowTables,
    databases: FlowDatabases,
    sql_server: FlowSqlServer,
    steps: FlowSteps,
}

impl FlowSources {
    /// The connection of a source and its kind; `None` if the source is PostgreSQL.
    fn other<'a>(
        asked: &FlowAsked<'a>,
        source: &FlowSource,
    ) -> Option<(DestinationKind, &'a Connection)> {
        let connection = asked.package.connections.get(&source.connection)?;
        let url = connection.address();
        let kind = DestinationKind::of(url).filter(|_| DestinationKind::has_tables(url))?;
        Some((kind, connection))
    }
}

impl Sources for FlowSources {
    fn look(
        &self,
        asked: &FlowAsked<'_>,
        notes: &mut Vec<String>,
    ) -> std::result::Result<FlowInputs, PlanError> {
        let Some(source) = &asked.flow.source else {
            return self.files.look(asked, notes);
        };
        match FlowSources::other(asked, source) {
            Some((DestinationKind::SqlServer, connection)) => {
                self.sql_server.look(asked, source, connection, notes)
            }
            Some((_, connection)) => self.databases.look(asked, source, connection, notes),
            None => self.tables.look(asked, source, notes),
        }
    }

    fn find(&self, asked: &FlowAsked<'_>) -> std::result::Result<(), PlanError> {
        let Some(source) = &asked.flow.source else {
            return self.files.find(asked);
        };
        match FlowSources::other(asked, source) {
            Some((DestinationKind::SqlServer, connection)) => {
                self.sql_server.open(asked, source, connection).map(drop)
            }
            Some((_, connection)) => self.databases.open(asked, source, connection).map(drop),
            None => self.tables.open(asked, source).map(drop),
        }
    }

    fn step_evaluator(&self) -> std::result::Result<Arc<Evaluator>, EvaluatorError> {
        self.steps.evaluator()
    }
}

/// True if a URL names a server whose tables can be compared with those of another one.
pub fn is_server_of_source(url: &str) -> bool {
    inrush_postgres::is_meant(url)
}

/// True if Inrush can read the tables of a connection to compare them. It does not read those of SQL Server, because that has not
/// been tried.
pub fn is_compared(url: &str) -> bool {
    let is_other = matches!(
        DestinationKind::of(url),
        Some(DestinationKind::DuckDb(_) | DestinationKind::Adbc(_))
    );
    is_other || is_server_of_source(url)
}

/// Nothing loads into the destination of this URL.
#[derive(Debug, thiserror::Error)]
#[error("the connection URL {url} cannot be used: it is not the URL of a destination: {URLS}")]
struct UnknownDestination {
    /// The URL without its password.
    url: String,
}

/// Refuses a connection whose URL is not that of a destination.
fn require_known(connection: &Connection) -> std::result::Result<(), Error> {
    let url = connection.address();
    if DestinationKind::of(url).is_some() || inrush_postgres::is_meant(url) {
        return Ok(());
    }
    let unknown = UnknownDestination {
        url: redacted_url(url),
    };
    Err(Error::Destination(
        DestinationError::new(unknown, None).with_exit_status(ExitStatus::Usage),
    ))
}

/// The driver that loads a package: all of its flows go to one destination. `defaults` fill the gaps of URLs.
pub fn driver_of<'a>(
    package: &Package,
    defaults: &'a ConnectionDefaults,
) -> std::result::Result<Driver<'a>, Error> {
    require_known(package.single_connection()?)?;
    Ok(Driver::new(|address, runtime| {
        open_planner(address, runtime, defaults)
    }))
}

/// Opens the planner of the destination at an address.
fn open_planner(
    address: &Address<'_>,
    runtime: &Handle,
    defaults: &ConnectionDefaults,
) -> Result<Box<dyn Planner>> {
    match inrush_postgres::is_meant(address.url) {
        true => Ok(Box::new(PostgresPlanner::open(address, defaults, runtime)?)),
        false => Ok(Box::new(ContractPlanner::open(address, open)?)),
    }
}

/// The ledger of the destination of a connection. A destination other than a server is opened. `defaults` fill the gaps of the URL.
pub fn ledger_of(
    connection: &Connection,
    options: &LedgerOptions<'_>,
    defaults: &ConnectionDefaults,
) -> std::result::Result<Box<dyn RunLedger>, Error> {
    require_known(connection)?;
    let address = Address {
        url: connection.address(),
        options: &connection.options,
        folder: options.folder,
        site_packages: options.site_packages,
        ledger_schema: options.ledger_schema,
    };
    Ok(match inrush_postgres::is_meant(address.url) {
        true => Box::new(inrush_postgres::ledger(&address, defaults)?),
        false => open(&address)?,
    })
}

/// The PostgreSQL server that a connection names. `defaults` fill the gaps of the URL.
pub fn postgres_server(
    connection: &Connection,
    defaults: &ConnectionDefaults,
) -> std::result::Result<DatabaseAddress, Error> {
    Ok(inrush_postgres::server_of(connection.address(), defaults)?)
}

/// The server of a connection that clients can call.
pub fn client_server(
    connection: &Connection,
    work: ClientWork,
    defaults: &ConnectionDefaults,
) -> Result<Box<dyn ClientServer>> {
    let url = connection.address();
    if !inrush_postgres::is_meant(url) {
        return Err(inrush_destination::Error::Unsuitable {
            what: format!(
                "{} is not a server that clients can call",
                redacted_url(url)
            ),
            hint: "write postgresql://USER@HOST/DATABASE, embedded:FOLDER or embedded".to_owned(),
        });
    }
    Ok(Box::new(PostgresClients::open(url, work, defaults)?))
}

/// Opens the destination of an address. If there is none, [`inrush_destination::Error::Address`] gives the reason and
/// the known URLs.
fn open(address: &Address<'_>) -> Result<Box<dyn Destination>> {
    let Some(kind) = DestinationKind::of(address.url) else {
        return Err(inrush_destination::Error::Address {
            what: "the URL names no destination".to_owned(),
            hint: "write FILE.duckdb, parquet:FOLDER, adbc:DRIVER, mssql://USER@HOST/DATABASE, or \
                 postgresql://USER@HOST/DATABASE"
                .to_owned(),
        });
    };
    if let Some((what, hint)) = kind.fault(address.folder) {
        return Err(inrush_destination::Error::Address { what, hint });
    }
    match kind {
        DestinationKind::DuckDb(file) => {
            inrush_adbc::open_duckdb(address, &address.folder.join(file))
        }
        DestinationKind::Adbc(driver) => inrush_adbc::open_driver(address, &driver),
        DestinationKind::Parquet(folder) => {
            inrush_parquet::open(address, &address.folder.join(folder))
        }
        DestinationKind::SqlServer => inrush_sqlserver::open(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_scheme_is_an_error_that_names_the_known_ones() {
        let unknown = |url: &str| {
            let known = require_known(&Connection::new(url));
            known.err().map(|error| error.to_string())
        };
        for url in ["mysql://u:secret@h/d", "embedded", "POSTGRESQL://h/d", ""] {
            let text = unknown(url).expect(url);
            assert!(text.contains(URLS) && !text.contains("secret"), "{text}");
        }
        for url in [
            "postgresql://h/d",
            "postgres://h/d",
            "x.duckdb",
            "parquet:lake",
            "adbc:sqlite",
            "mssql://sa@h/d",
        ] {
            assert_eq!(unknown(url), None, "{url}");
        }
    }

    #[test]
    fn databases_with_tables_are_compared() {
        for url in ["postgresql://h/d", "lake.duckdb", "adbc:sqlite"] {
            assert!(is_compared(url), "{url}");
        }
        for url in ["parquet:lake", "mssql://u@h/d"] {
            assert!(!is_compared(url), "{url}");
        }
    }
}
