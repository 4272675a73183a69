//! PostgreSQL's driver: the entry of this crate for callers who do not know which driver loads.

use std::path::PathBuf;

use inrush_package::{Connection, Package};

use super::plan::Plan;
use super::upkeep::LedgerOfServer;
use super::{DatabaseAddress, PostgresError, load, preflight};
use crate::engine::driver::{Checked, Driver, DriverPlan, PastRuns};
use crate::engine::error::Error;
use crate::engine::pipeline::{Failure, RunOptions, Success};
use crate::engine::preflight::{PreflightOptions, PreflightReport};
use crate::engine::upkeep::LedgerOptions;

/// Loads into servers of PostgreSQL.
pub struct Postgres;

impl Driver for Postgres {
    fn check(&self, package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error> {
        load::check(package, options).map(Checked::new)
    }

    fn run(&self, package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure> {
        load::run(package, options)
    }

    fn preflight(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        preflight_options: &PreflightOptions,
        report: &mut PreflightReport,
    ) -> Result<(), Error> {
        preflight::preflight(package, options, preflight_options, report)
    }

    /// It tries tables in the server, which rolls them back by itself.
    fn scratch_folder(&self, _: &Package, _: &RunOptions<'_>) -> Option<PathBuf> {
        None
    }

    fn past_runs(
        &self,
        connection: &Connection,
        options: &LedgerOptions<'_>,
    ) -> Result<Box<dyn PastRuns>, Error> {
        let address = DatabaseAddress::parse(connection.address(), options.defaults)
            .map_err(PostgresError::from)?;
        Ok(Box::new(LedgerOfServer { address }))
    }
}

impl DriverPlan for Plan {
    fn require_runnable(&self) -> Result<(), Error> {
        Ok(self.require_privileges()?)
    }
}
