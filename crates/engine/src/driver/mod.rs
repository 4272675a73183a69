//! The planner and the entry points for every destination that implements the contract of `inrush_destination`.
//!
//! [`plan`] resolves a package against files and destination, [`load`] runs the plan, and [`preflight`] measures it. How it
//! works: `docs/design/destinations.md`.

mod failures;
mod load;
mod plan;
mod preflight;

use std::fmt;
use std::path::{Path, PathBuf};

use inrush_destination::address::DestinationKind;
use inrush_destination::{Address, Destination, RunLedger};
use inrush_package::{Connection, Package};

use self::plan::ContractPlan;
use crate::driver_trait::{Checked, Driver, DriverPlan};
use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success};
use crate::preflight::{PreflightOptions, PreflightReport};
use crate::shares::ShareLoaded;
use crate::upkeep::LedgerOptions;
use inrush_plan::Reading;

/// Opens the destination at an address. The caller has the list of destinations; the engine names none.
pub type OpenDestination = fn(&Address<'_>) -> inrush_destination::Result<Box<dyn Destination>>;

/// Loads by the contract.
pub struct ContractDriver {
    /// Opens destinations.
    pub open: OpenDestination,
}

/// True if a URL is that of a destination that implements the contract.
pub fn is_meant(url: &str) -> bool {
    DestinationKind::of(url).is_some()
}

impl Driver for ContractDriver {
    fn check(&self, package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error> {
        load::check(self.open, package, options).map(Checked::new)
    }

    fn run(&self, package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure> {
        load::run(self.open, package, options)
    }

    fn load_share(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        plan_file: &Path,
        share: usize,
    ) -> Result<ShareLoaded, Error> {
        load::load_share(self.open, package, options, plan_file, share)
    }

    fn preflight(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        preflight_options: &PreflightOptions,
        report: &mut PreflightReport,
    ) -> Result<(), Error> {
        preflight::preflight(self.open, package, options, preflight_options, report)
    }

    fn scratch_folder(&self, package: &Package, options: &RunOptions<'_>) -> Option<PathBuf> {
        preflight::scratch_folder(package, options)
    }

    fn ledger(
        &self,
        connection: &Connection,
        options: &LedgerOptions<'_>,
    ) -> Result<Box<dyn RunLedger>, Error> {
        Ok((self.open)(&Address {
            url: connection.address(),
            options: &connection.options,
            folder: options.folder,
            site_packages: options.site_packages,
            ledger_schema: options.ledger_schema,
        })?)
    }
}

impl DriverPlan for ContractPlan {
    /// A plan that cannot be run is refused while it is made.
    fn require_runnable(&self) -> Result<(), Error> {
        Ok(())
    }

    fn readings(&self) -> Vec<&Reading> {
        self.flows.iter().map(|flow| &flow.reading).collect()
    }

    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        plan::print::fmt_script(self, f)
    }
}
