//! The trait of a driver, which checks, runs and predicts loads into destinations of one kind, and shows and removes
//! what stopped runs left. Each method is called once per run or once per command; work on rows or batches stays inside
//! the driver.

use std::fmt;
use std::path::{Path, PathBuf};

use inrush_package::{Connection, Package};

use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success};
use crate::plan::Reading;
use crate::preflight::{PreflightOptions, PreflightReport};
use crate::shares::ShareLoaded;
use crate::undo::{UndoOptions, Undone};
use crate::upkeep::{LedgerOptions, MarkOfTarget, RunOfTarget, StoppedRun, Which};

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

    /// The past runs in the destination of a connection.
    fn past_runs(
        &self,
        connection: &Connection,
        options: &LedgerOptions<'_>,
    ) -> Result<Box<dyn PastRuns>, Error>;
}

/// A destination's records of past runs.
pub trait PastRuns {
    /// The runs that stopped before their switch, the newest first.
    fn stopped(&self, which: &Which) -> Result<Vec<StoppedRun>, Error>;

    /// The marks of incremental loads, in the order of packages and targets.
    fn marks(&self, which: &Which) -> Result<Vec<MarkOfTarget>, Error>;

    /// The runs that have loaded rows into targets whose names in SQL `is_asked` accepts, the newest first. Runs that
    /// were given up are left out.
    fn runs_of_targets(
        &self,
        which: &Which,
        is_asked: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<RunOfTarget>, Error>;

    /// Removes their staged rows and marks them as discarded, except runs that are still working. Returns the runs that
    /// were discarded.
    fn discard(&self, which: &Which) -> Result<Vec<StoppedRun>, Error>;

    /// Removes the rows that a run brought in, and puts back the rows that it replaced. `None` if the destination keeps
    /// no replaced rows.
    fn undo(&self, options: &UndoOptions<'_>) -> Result<Option<Undone>, Error>;
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
