//! The steps of a load into any destination that implements the contract of `inrush_destination`.
//!
//! [`prepare`] opens the destination, plans, and holds the run's lock; [`prepared`] is the run with the work that it keeps. The
//! order of the steps is [`crate::run`]'s.

mod members;
pub mod prepare;
mod prepared;

use std::path::Path;

use inrush_destination::{Ability, Destination, RunRecord};
use inrush_package::Package;
use tokio::runtime::Runtime;

use self::prepared::ContractRun;
use super::OpenDestination;
use super::plan::ContractPlan;
use crate::error::Error;
use crate::pipeline::{Failure, RunOptions, Success, runtime};
use crate::report::RunFolder;
use crate::run::context::RunContext;
use crate::run::steps::{JoinSteps, LoadSteps, Preparation};
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
    type Run = ContractRun;

    const PACED_BY: &'static str = "`rate_bytes_max` asks";

    fn prepare(&self, runtime: &Runtime) -> Result<Preparation<ContractRun>, Error> {
        let destination = self.destination.as_ref();
        runtime.block_on(prepare::prepare(destination, self.package, self.options))
    }

    fn joins(&self) -> Option<&dyn JoinSteps<ContractRun>> {
        let can = &self.destination.abilities().can;
        can.contains(&Ability::SeveralHosts).then_some(self as _)
    }

    /// Targets are analyzed only if the package says so: most databases keep statistics by themselves.
    fn analyzes(&self, _: &RunContext<'_, ContractRun>, _: usize) -> bool {
        self.package.run.asks_to_analyze()
    }
}

impl JoinSteps<ContractRun> for ContractSteps<'_> {
    fn record<'r>(&self, run: &'r ContractRun) -> &'r RunRecord {
        run.open.record()
    }

    fn targets_digest(&self, run: &ContractRun) -> String {
        prepare::targets_digest(&run.plan)
    }

    fn join(
        &self,
        runtime: &Runtime,
        sent: &SentPlan,
        folder: RunFolder,
    ) -> Result<ContractRun, Error> {
        let destination = self.destination.as_ref();
        let joining = prepare::join(destination, self.package, self.options, sent, folder);
        runtime.block_on(joining)
    }

    fn shut_out(&self, run: &ContractRun) -> Result<(), Error> {
        Ok(run.open.shut_out()?)
    }
}
