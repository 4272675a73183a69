//! What the library's callers need of a kind of destination, whichever it is. Each method is called once in a run, or
//! once in a command: what is done for each row, or for each batch, is the engine's own.

use std::fmt;
use std::path::PathBuf;

use inrush_package::{Connection, Package};

use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success};
use crate::preflight::{PreflightOptions, PreflightReport};
use crate::undo::{UndoOptions, Undone};
use crate::upkeep::{LedgerOptions, StoppedRun, Which};

/// Loads into the destinations of one kind.
pub trait Driver {
    /// Plans a package that was checked, and runs nothing.
    fn check(&self, package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error>;

    /// Runs a package that was checked to its end, or until it is asked to stop. What is loaded already is found
    /// before anything else is done.
    fn run(&self, package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure>;

    /// Measures a package that was checked, and predicts its run. What stops that is a finding of the report.
    fn preflight(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        preflight_options: &PreflightOptions,
        report: &mut PreflightReport,
    ) -> Result<(), Error>;

    /// The folder that a preflight makes beside the destination, and takes away again; nothing where it makes none.
    fn scratch_folder(&self, package: &Package, options: &RunOptions<'_>) -> Option<PathBuf>;

    /// The way to what the destination of a connection knows of runs.
    fn past_runs(
        &self,
        connection: &Connection,
        options: &LedgerOptions<'_>,
    ) -> Result<Box<dyn PastRuns>, Error>;
}

/// What a destination knows of runs that came to no end, or to their end long ago.
pub trait PastRuns {
    /// Those that stopped before their switch, the newest first.
    fn stopped(&self, which: &Which) -> Result<Vec<StoppedRun>, Error>;

    /// Removes what they have staged and marks them as discarded, but for runs that are at work. Returns what was
    /// removed.
    fn discard(&self, which: &Which) -> Result<Vec<StoppedRun>, Error>;

    /// Takes out what a run brought in, and puts back what it took out; nothing where the destination does not keep
    /// what a run takes the place of.
    fn undo(&self, options: &UndoOptions<'_>) -> Result<Option<Undone>, Error>;
}

/// A plan, as those see it who do not know which engine made it.
pub trait DriverPlan: fmt::Debug + fmt::Display {
    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    fn require_runnable(&self) -> Result<(), Error>;
}

/// A package's plan, by whichever engine loads into its destination.
#[derive(Debug)]
pub struct Checked(Box<dyn DriverPlan>);

impl Checked {
    /// Of an engine's own plan.
    pub fn new(plan: impl DriverPlan + 'static) -> Checked {
        Checked(Box::new(plan))
    }

    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    pub fn require_runnable(&self) -> Result<(), Error> {
        self.0.require_runnable()
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
