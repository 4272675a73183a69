//! The steps of a run into a PostgreSQL server, in the engine's order.
//!
//! [`prepare`] connects, plans and enters the run into the ledger; the engine's loader takes pieces of work through a
//! [`stream`], which has a session, in transactions of [`piece`], whose rows are sent by [`rows`]; [`sampler`] asks the
//! server what its sessions do meanwhile; [`conclude`] compares ledger, files and server, and switches; [`analyze`]
//! updates the statistics of a target.

mod analyze;
mod careful;
mod conclude;
mod context;
pub mod copying;
mod count_again;
pub mod encoder;
mod entry;
pub mod expected_keys;
mod kept_units_builder;
mod ledger_coverage;
mod ledger_units;
mod member_numbers;
mod one_transaction;
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
mod unit_reject_files;
mod verifying;

use std::sync::Arc;

use inrush_destination::{SessionSampler, UnitStream};
use inrush_engine::error::Error;
use inrush_engine::native::load::Gauge;
use inrush_engine::native::plan::ContentChecks;
use inrush_engine::native::run::work_items::WorkItem;
use inrush_engine::native::run::{
    self, Gathering, KeptRecord, LoadSteps, Preparation, PublishEnd, RunContext, StreamResult,
    Watch, runtime,
};
use inrush_engine::pipeline::{Failure, RunOptions, Success};
use inrush_package::Package;
use tokio::runtime::Runtime;

use self::careful::SwitchRows;
use self::conclude::{SwitchRefusal, SwitchWork};
use self::context::Context;
use self::ledger_units::LedgerUnits;
use self::prepared::PostgresRun;
use self::replication_lag::Replicas;
use self::sampler::ServerSampler;
use self::stream::SessionStream;
use super::plan::additions::Additions;
use super::plan::routing::KeyScans;
use super::plan::{self, Plan};
use super::{DatabaseAddress, Session};

/// Plans a package without running it.
pub fn check(
    package: &Package,
    address: &DatabaseAddress,
    options: &RunOptions<'_>,
) -> Result<Plan, Error> {
    let runtime = runtime()?;
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

impl PostgresSteps<'_> {
    fn context<'c>(&'c self, shared: &RunContext<'c, PostgresRun>) -> Context<'c> {
        Context {
            shared: *shared,
            address: self.address,
        }
    }

    /// Waits for a server until the run is asked to stop.
    fn unless_stopped<T>(
        &self,
        runtime: &Runtime,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        runtime.block_on(self.options.unless_stopped(work))
    }
}

impl LoadSteps for PostgresSteps<'_> {
    type Run = PostgresRun;
    type Committed = LedgerUnits;
    type Tasks = SwitchWork;
    type Attempts<'c>
        = SwitchRows<'c>
    where
        Self: 'c;
    type Refusal = SwitchRefusal;

    const PACED_BY: &'static str =
        "`rate_bytes_max`, `replica_lag_bytes_max` or `slot_bytes_max` ask";

    fn prepare(&self, runtime: &Runtime) -> Result<Preparation<PostgresRun>, Error> {
        let preparing = prepare::prepare(self.package, self.address, self.options);
        self.unless_stopped(runtime, preparing)
    }

    fn forget(
        &self,
        runtime: &Runtime,
        run: &mut PostgresRun,
        lost: Vec<KeptRecord>,
    ) -> Result<(), Error> {
        self.unless_stopped(runtime, prepare::forget(run, &lost))
    }

    fn ready(&self, runtime: &Runtime, run: &mut PostgresRun) -> Result<(), Error> {
        self.unless_stopped(runtime, prepare::ready(run))
    }

    fn watch<'c>(
        &'c self,
        context: &RunContext<'c, PostgresRun>,
    ) -> Result<Option<Box<dyn Watch + 'c>>, Error> {
        let context = self.context(context);
        let watching = self.unless_stopped(context.runtime, Replicas::watch(context))?;
        Ok(watching.map(|replicas| Box::new(replicas) as Box<dyn Watch>))
    }

    fn before_streams(
        &self,
        context: &RunContext<'_, PostgresRun>,
        work: Vec<WorkItem>,
    ) -> Result<Vec<WorkItem>, Error> {
        if !context.run.plan.is_one_transaction() {
            return Ok(work);
        }
        let beginning = one_transaction::begin(context.run, work);
        self.unless_stopped(context.runtime, beginning)
    }

    fn open_stream<'c>(
        &'c self,
        context: &RunContext<'c, PostgresRun>,
        number: usize,
        gauge: &Arc<Gauge>,
    ) -> Result<Box<dyn UnitStream + 'c>, Error> {
        let context = self.context(context);
        let stream = match context.run.plan.is_one_transaction() {
            true => {
                let pace = &context.run.pace;
                SessionStream::of_control(context, pace, gauge, Additions::NONE)
            }
            false => SessionStream::connect(context, number, gauge)?,
        };
        Ok(Box::new(stream))
    }

    fn sampler(&self, context: &RunContext<'_, PostgresRun>) -> Option<Box<dyn SessionSampler>> {
        let version = context.run.plan.server.version_number;
        let name = &context.run.name;
        let sampler = ServerSampler::new(context.runtime, self.address, name, version);
        Some(Box::new(sampler))
    }

    fn committed(&self, context: &RunContext<'_, PostgresRun>) -> Result<LedgerUnits, Error> {
        let context = self.context(context);
        one_transaction::leave_open(context.run);
        let reading = conclude::committed(&context);
        context.wait(reading)
    }

    fn tasks(
        &self,
        context: &RunContext<'_, PostgresRun>,
        committed: &LedgerUnits,
    ) -> Result<SwitchWork, Error> {
        let context = self.context(context);
        let working_out = SwitchWork::of(&context, committed);
        context.wait(working_out)
    }

    fn attempts<'c>(&'c self, context: &RunContext<'c, PostgresRun>) -> SwitchRows<'c> {
        SwitchRows::new(self.context(context))
    }

    fn publish(
        &self,
        context: &RunContext<'_, PostgresRun>,
        tasks: &SwitchWork,
        attempts: &mut SwitchRows<'_>,
        gathering: &mut Gathering,
    ) -> Result<PublishEnd<SwitchRefusal>, Error> {
        conclude::publish(&self.context(context), tasks, attempts, gathering)
    }

    /// The ledger has what is loaded.
    fn reload(
        &self,
        context: &RunContext<'_, PostgresRun>,
        flow: usize,
        refusal: SwitchRefusal,
        attempts: &SwitchRows<'_>,
        _: &mut LedgerUnits,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let refused = attempts.refused();
        conclude::in_file_order(&self.context(context), flow, refusal, refused, result)
    }

    /// Unless the package says that it does not. A target whose rows came with their statistics is not analyzed again.
    fn analyzes(&self, context: &RunContext<'_, PostgresRun>, flow: usize) -> bool {
        let plan = &context.run.plan;
        plan::statistics::of_target(plan, &plan.flows[flow]).is_some()
    }

    fn analyze(&self, context: &RunContext<'_, PostgresRun>, flow: usize) -> Result<(), Error> {
        let context = self.context(context);
        let analyzing = analyze::of_target(&context, flow);
        context.wait(analyzing)
    }

    fn undo(&self, context: &RunContext<'_, PostgresRun>, error: Error) -> Error {
        if !context.run.plan.is_one_transaction() {
            return error;
        }
        // For a failed run, only the ledger's rows are committed.
        let context = self.context(context);
        one_transaction::roll_back(context.run);
        context.runtime.block_on(context.undo_in_time());
        one_transaction::told(error)
    }

    fn at_end(
        &self,
        context: &RunContext<'_, PostgresRun>,
        verified: Option<LedgerUnits>,
        gathering: &mut Gathering,
        error: Option<&Error>,
    ) -> LedgerUnits {
        let context = self.context(context);
        let reading = LedgerUnits::at_end(&context, verified, gathering, error);
        context.runtime.block_on(reading)
    }

    fn close(&self, runtime: &Runtime, run: PostgresRun) {
        runtime.block_on(async {
            run.members.close().await;
            run.control.close().await;
        });
    }
}
