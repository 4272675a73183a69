//! The steps of a run into a PostgreSQL server, in the engine's order.
//!
//! [`prepare`] connects, plans and enters the run into the ledger; [`open_run`] is that run, as the contract sees it; the
//! engine's loader takes pieces of work through a [`stream`], which has a session, in transactions of [`piece`], whose rows
//! are sent by [`rows`]; [`sampler`] asks the server what its sessions do meanwhile; [`committed`] reads the ledger and
//! counts; [`switching`] switches; [`analyze`] updates the statistics of a target.

mod analyze;
mod careful;
mod committed;
mod context;
pub mod copying;
mod count_again;
pub mod encoder;
mod entry;
pub mod expected_keys;
mod kept_units_builder;
mod ledger_coverage;
mod member_numbers;
mod one_transaction;
mod open_run;
mod performer;
mod piece;
pub mod prepare;
mod prepared;
pub mod ready;
mod reload;
mod replication_lag;
pub mod rows;
mod sampler;
mod shared_unit;
mod stored_ways;
mod stream;
mod switching;
mod verifying;
mod was_switched;

use inrush_engine::error::Error;
use inrush_engine::pipeline::{Failure, RunOptions, Success};
use inrush_engine::planner::run::{self, LoadSteps, Preparation};
use inrush_package::Package;
use inrush_plan::ContentChecks;
use inrush_system::runtime::runtime;
use tokio::runtime::Runtime;

use super::plan::routing::KeyScans;
use super::plan::{self, Plan};
use super::{DatabaseAddress, PostgresError, Session};

/// Plans a package without running it.
pub fn check(
    package: &Package,
    address: &DatabaseAddress,
    options: &RunOptions<'_>,
) -> Result<Plan, Error> {
    let runtime = runtime().map_err(PostgresError::Threads)?;
    runtime.block_on(async {
        let session = Session::open(address, "inrush check").await?;
        let sources = options.sources();
        let key_scans = KeyScans::default();
        let contents = ContentChecks::default();
        let plan_options = options.plan_options(&package.run, &*sources, &contents, false);
        let plan = plan::build(&session, address, package, &plan_options, &key_scans).await?;
        session.close().await;
        Ok(plan)
    })
}

/// Runs a package to its end, or until it is asked to stop.
pub fn run(
    package: &Package,
    address: &DatabaseAddress,
    options: &RunOptions<'_>,
) -> Result<Success, Failure> {
    let steps = PostgresSteps {
        package,
        address,
        options,
    };
    run::run(&steps, package, options)
}

/// Loads a package into a server.
struct PostgresSteps<'a> {
    package: &'a Package,
    address: &'a DatabaseAddress,
    options: &'a RunOptions<'a>,
}

impl LoadSteps for PostgresSteps<'_> {
    fn prepare(&self, runtime: &Runtime) -> Result<Preparation, Error> {
        let preparing = prepare::prepare(self.package, self.address, self.options);
        runtime.block_on(self.options.unless_stopped(preparing))
    }
}
