//! The trait of a driver, which checks, runs and predicts loads into destinations of one kind, and opens their ledgers. Each
//! method is called once per run or once per command; work on rows or batches stays inside the driver.

use std::fmt;
use std::path::{Path, PathBuf};

use inrush_destination::RunLedger;
use inrush_package::{Connection, Package};

use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success};
use crate::preflight::{PreflightOptions, PreflightReport};
use crate::shares::ShareLoaded;
use crate::upkeep::LedgerOptions;
use inrush_plan::Reading;

/// Loads into the destinations of one kind.
pub trait Driver {
    /// Plans a package that was checked, and runs nothing.
    fn check(&self, package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error>;

    /// Runs a checked package to its end, or until it is asked to stop. The run ends at once if its files are loaded
    /// already.
    fn run(&self, package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure>;

    /// Loads one share, counted from 1, of the run whose plan is in this file. Another process holds that run, and
    /// publishes it.
    fn load_share(
        &self,
        _package: &Package,
        _options: &RunOptions<'_>,
        _plan_file: &Path,
        _share: usize,
    ) -> Result<ShareLoaded, Error> {
        Err(Error::no_several_hosts())
    }

    /// Measures a checked package, and predicts its run. An error that would stop the run becomes a finding of the
    /// report.
    fn preflight(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        preflight_options: &PreflightOptions,
        report: &mut PreflightReport,
    ) -> Result<(), Error>;

    /// The folder that a preflight makes beside the destination, and takes away again; `None` if it makes none.
    fn scratch_folder(&self, package: &Package, options: &RunOptions<'_>) -> Option<PathBuf>;

    /// The ledger in the destination of a connection.
    fn ledger(
        &self,
        connection: &Connection,
        options: &LedgerOptions<'_>,
    ) -> Result<Box<dyn RunLedger>, Error>;
}

/// A plan, for callers who do not know which driver made it.
pub trait DriverPlan: fmt::Debug + fmt::Display {
    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    fn require_runnable(&self) -> Result<(), Error>;

    /// The readings of its flows, in their order.
    fn readings(&self) -> Vec<&Reading>;

    /// Writes its steps as a script in the destination's SQL. A step that a script cannot perform is a comment.
    fn fmt_script(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

/// A package's plan, made by the driver of its destination.
#[derive(Debug)]
pub struct Checked(Box<dyn DriverPlan>);

impl Checked {
    /// Wraps a driver's own plan.
    pub fn new(plan: impl DriverPlan + 'static) -> Checked {
        Checked(Box::new(plan))
    }

    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    pub fn require_runnable(&self) -> Result<(), Error> {
        self.0.require_runnable()
    }

    /// The readings of its flows, in their order.
    pub fn readings(&self) -> Vec<&Reading> {
        self.0.readings()
    }

    /// Its steps as a script in the destination's SQL. A step that a script cannot perform is a comment.
    pub fn script(&self) -> impl fmt::Display {
        fmt::from_fn(|f| self.0.fmt_script(f))
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
