//! The steps of a load into any destination that implements the contract of `inrush_destination`.
//!
//! [`prepare`] opens the destination, plans, and holds the run's lock. [`crate::run`] has the order of the steps.

mod members;
pub mod prepare;

use std::path::Path;

use inrush_destination::{Ability, Destination};
use inrush_package::Package;
use tokio::runtime::Runtime;

use super::OpenDestination;
use super::plan::ContractPlan;
use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success, runtime};
use crate::report::RunFolder;
use crate::run::prepared::PreparedRun;
use crate::run::steps::{LoadSteps, Preparation};
use crate::shares::{SentPlan, ShareLoaded};

/// Plans a package without loading it.
pub fn check(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<ContractPlan, Error> {
    let runtime = runtime()?;
    let destination = prepare::reach(open, package, options)?;
    runtime.block_on(prepare::plan(destination.as_ref(), package, options))
}

/// Loads a package, until it is done or asked to stop.
pub fn run(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Success, Failure> {
    let steps = ContractSteps {
        destination: prepare::reach(open, package, options)?,
        package,
        options,
    };
    crate::run::run(&steps, package, options)
}

/// Loads a share of a run that another process holds.
pub fn load_share(
    open: OpenDestination,
    package: &Package,
    options: &RunOptions<'_>,
    plan_file: &Path,
    share: usize,
) -> Result<ShareLoaded, Error> {
    let steps = ContractSteps {
        destination: prepare::reach(open, package, options)?,
        package,
        options,
    };
    crate::shares::load_share(&steps, options, plan_file, share)
}

/// Loads a package into a destination of the contract.
struct ContractSteps<'a> {
    destination: Box<dyn Destination>,
    package: &'a Package,
    options: &'a RunOptions<'a>,
}

impl LoadSteps for ContractSteps<'_> {
    fn prepare(&self, runtime: &Runtime) -> Result<Preparation, Error> {
        let destination = self.destination.as_ref();
        runtime.block_on(prepare::prepare(destination, self.package, self.options))
    }

    fn can_be_joined(&self) -> bool {
        let can = &self.destination.abilities().can;
        can.contains(&Ability::SeveralHosts)
    }

    fn join(
        &self,
        runtime: &Runtime,
        sent: &SentPlan,
        folder: RunFolder,
    ) -> Result<PreparedRun, Error> {
        let destination = self.destination.as_ref();
        let joining = prepare::join(destination, self.package, self.options, sent, folder);
        runtime.block_on(joining)
    }
}
