//! The driver: it checks, runs and predicts loads, the same for every destination.
//!
//! The caller has the list of destinations, and opens a [`Planner`] for an address. The planner plans a package. The driver runs
//! the plan ([`run`](mod@crate::run)), loads a share of a run that another process holds ([`shares`](mod@crate::shares)), or measures
//! the plan ([`preflight`](mod@crate::preflight)).

mod preflight;

use std::fmt;
use std::path::Path;

use inrush_destination::Address;
use inrush_package::Package;
use inrush_plan::contract::{ContractPlanner, OpenDestination};
use inrush_plan::destination_error::DestinationError;
use inrush_plan::load_plan::LoadPlan;
use inrush_plan::planner::{Planner, ShownPlan};
use inrush_plan::{ContentChecks, Reading};
use inrush_rows::told;
use tokio::runtime::Handle;

use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success, runtime};
use crate::preflight::{PreflightOptions, PreflightReport};
use crate::shares::ShareLoaded;

/// Opens the planner of the destination at an address. The planner may use the runtime as long as it is open.
type OpenPlanner<'a> =
    dyn Fn(&Address<'_>, &Handle) -> inrush_destination::Result<Box<dyn Planner>> + 'a;

/// Checks, runs and predicts loads into the destination that a package names.
pub struct Driver<'a> {
    open: Box<OpenPlanner<'a>>,
}

impl<'a> Driver<'a> {
    /// A driver that opens planners with `open`. The caller has the list of destinations; the engine names none.
    pub fn new(
        open: impl Fn(&Address<'_>, &Handle) -> inrush_destination::Result<Box<dyn Planner>> + 'a,
    ) -> Driver<'a> {
        Driver {
            open: Box::new(open),
        }
    }

    /// A driver for destinations of the contract, which share one planner.
    pub fn of_contract(open: OpenDestination) -> Driver<'static> {
        Driver::new(move |address, _| Ok(Box::new(ContractPlanner::open(address, open)?)))
    }

    /// Plans a checked package without running it.
    pub fn check(&self, package: &Package, options: &RunOptions<'_>) -> Result<Checked, Error> {
        let runtime = runtime()?;
        let planner = self.planner(package, options, runtime.handle())?;
        let sources = options.sources();
        let contents = ContentChecks::default();
        let plan_options = options.plan_options(&package.run, &*sources, &contents, false);
        let plan = planner.plan(package, &plan_options)?;
        Ok(Checked {
            // The plan can be shown although the holder of the lock cannot be found out.
            held: plan.held().unwrap_or_default(),
            load: plan.load_plan(),
            shown: plan.into_shown(),
        })
    }

    /// Runs a checked package to its end, or until it is asked to stop. The run ends at once if its files are loaded already.
    pub fn run(&self, package: &Package, options: &RunOptions<'_>) -> Result<Success, Failure> {
        let runtime = runtime()?;
        let planner = self.planner(package, options, runtime.handle())?;
        crate::run::run(&*planner, &runtime, package, options)
    }

    /// Loads one share, counted from 1, of the run whose plan is in this file. Another process holds that run, and
    /// publishes it.
    pub fn load_share(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        plan_file: &Path,
        share: usize,
    ) -> Result<ShareLoaded, Error> {
        let runtime = runtime()?;
        let planner = self.planner(package, options, runtime.handle())?;
        crate::shares::load_share(&*planner, &runtime, package, options, (plan_file, share))
    }

    /// Measures a checked package, and predicts its run. An error that would stop the run becomes a finding of the
    /// report.
    pub fn preflight(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        preflight_options: &PreflightOptions,
        report: &mut PreflightReport,
    ) -> Result<(), Error> {
        preflight::preflight(self, package, options, preflight_options, report)
    }

    /// The planner of the destination that a package names.
    fn planner(
        &self,
        package: &Package,
        options: &RunOptions<'_>,
        runtime: &Handle,
    ) -> Result<Box<dyn Planner>, Error> {
        let connection = package.single_connection()?;
        let address = Address {
            url: connection.address(),
            options: &connection.options,
            folder: &options.folder,
            site_packages: options.site_packages.as_deref(),
            ledger_schema: &package.run.ledger_schema,
        };
        Ok((self.open)(&address, runtime)?)
    }
}

/// A package's plan. Its destination is closed.
#[derive(Debug)]
pub struct Checked {
    load: LoadPlan,
    shown: Box<dyn ShownPlan>,
    /// The error with which a run would end now, because another process holds the lock.
    held: Option<DestinationError>,
}

impl Checked {
    /// Refuses a plan that cannot be run, such as one without the privileges that it needs.
    pub fn require_runnable(&self) -> Result<(), Error> {
        Ok(self.shown.require_runnable()?)
    }

    /// The readings of its flows, in their order.
    pub fn readings(&self) -> Vec<&Reading> {
        self.load.flows.iter().map(|flow| &flow.reading).collect()
    }

    /// Its steps as a script in the destination's SQL. A step that a script cannot perform is a comment.
    pub fn script(&self) -> impl fmt::Display {
        fmt::from_fn(|f| self.shown.fmt_script(f))
    }
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.fmt(f)?;
        let Some(held) = &self.held else {
            return Ok(());
        };
        told!(f, "\nNot now")?;
        told!(f, "  {held}")?;
        match held.hint() {
            Some(hint) => told!(f, "  hint: {hint}"),
            None => Ok(()),
        }
    }
}
