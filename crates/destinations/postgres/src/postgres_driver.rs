//! PostgreSQL's driver: the entry of this crate for callers who do not know which driver loads.

use std::fmt;
use std::path::PathBuf;

use inrush_destination::RunLedger;
use inrush_engine::driver_trait::{Checked, Driver, DriverPlan};
use inrush_engine::error::Error;
use inrush_engine::pipeline::{Failure, RunOptions, Success};
use inrush_engine::preflight::{PreflightOptions, PreflightReport};
use inrush_engine::upkeep::LedgerOptions;
use inrush_package::{Connection, Package};
use inrush_plan::Reading;
use inrush_system::runtime::runtime;

use super::plan::{self, Plan};
use super::server_ledger::ServerLedger;
use super::{ConnectionDefaults, DatabaseAddress, PostgresError, load, preflight};

/// Loads into PostgreSQL servers.
pub struct Postgres<'a> {
    /// Completes a connection's URL, as libpq does.
    pub defaults: &'a ConnectionDefaults,
}

impl Postgres<'_> {
    /// The server that a connection names.
    pub fn address(&self, connection: &Connection) -> Result<DatabaseAddress, Error> {
        let address = DatabaseAddress::parse(connection.address(), self.defaults);
        Ok(address.map_err(PostgresError::from)?)
    }

    /// The one server of all flows of a package.
    fn address_of(&self, package: &Package) -> Result<DatabaseAddress, Error> {
        self.address(package.single_connection()?)
    }
}

impl Driver for Postgres<'_> {
    fn check(&self, package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error> {
        load::check(package, &self.address_of(package)?, options).map(Checked::new)
    }

    fn run(&self, package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure> {
        load::run(package, &self.address_of(package)?, options)
    }

    fn preflight(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        preflight_options: &PreflightOptions,
        report: &mut PreflightReport,
    ) -> Result<(), Error> {
        let address = self.address_of(package)?;
        preflight::preflight(package, &address, options, preflight_options, report)
    }

    /// `None`, because the trial tables are in the server, which rolls them back by itself.
    fn scratch_folder(&self, _: &Package, _: &RunOptions<'_>) -> Option<PathBuf> {
        None
    }

    fn ledger(
        &self,
        connection: &Connection,
        options: &LedgerOptions<'_>,
    ) -> Result<Box<dyn RunLedger>, Error> {
        let address = self.address(connection)?;
        Ok(Box::new(ServerLedger::new(
            address,
            options.ledger_schema,
            runtime().map_err(PostgresError::Threads)?,
        )))
    }
}

impl DriverPlan for Plan {
    fn require_runnable(&self) -> Result<(), Error> {
        Ok(self.require_privileges()?)
    }

    fn readings(&self) -> Vec<&Reading> {
        self.flows.iter().map(|flow| &flow.reading).collect()
    }

    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        plan::print::fmt_script(self, f)
    }
}
