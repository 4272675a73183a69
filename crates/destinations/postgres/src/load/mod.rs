//! Runs a package into a PostgreSQL server.
//!
//! [`prepare`] connects, plans and enters the run into the ledger; [`streams`] runs the streams,
//! each a thread with its own connection; the engine's loader takes pieces of work through a [`stream`], in
//! transactions of [`piece`], whose rows go into COPYs of [`rows`]; [`backends`] watches the server meanwhile; [`conclude`] checks the account, switches
//! and analyzes; [`summary`] writes the report.

mod backends;
mod careful;
mod conclude;
mod context;
pub mod copying;
mod count_again;
pub mod encoder;
pub mod expected_keys;
mod files;
mod first_records;
mod kept_splits;
mod ledger_coverage;
mod one_transaction;
mod performer;
mod piece;
pub mod prepare;
pub mod ready;
mod reload;
mod replication_lag;
pub mod rows;
mod shared_unit;
mod stream;
mod streams;
mod summary;
mod unit_reject_files;
mod verifying;

use std::sync::Arc;
use std::time::Instant;

use inrush_package::Package;

use self::summary::Summary;
use super::plan::routing::KeyScans;
use super::plan::{self, Earlier, Plan};
use super::{DatabaseAddress, Session};
use crate::engine::error::Error;
use crate::engine::fault::{self, FaultPoint};
use crate::engine::ledger::Account;
use crate::engine::pipeline::{
    Failure, RunOptions, Success, ending, plan_options, report_facts, require_address_space,
    runtime, stream_threads,
};
use crate::engine::plan::ContentChecks;

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
        let plan_options = plan_options(options, &*sources, &contents, false);
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
    let mut summary = Summary::begin();
    let runtime = runtime()?;
    let prepared = runtime.block_on(async {
        tokio::select! {
            biased;
            prepared = prepare::prepare(package, address, options) => prepared,
            _ = options.stop.wait() => Err(Error::Interrupted),
        }
    })?;
    let mut prepared = match prepared {
        prepare::Prepared::AlreadyLoaded { plan, accounts } => {
            return Ok(already_loaded(&summary, &plan, &accounts, options));
        }
        prepare::Prepared::Run(prepared) => *prepared,
    };
    summary.planned(&prepared);
    require_address_space(prepared.plan.streams, prepared.plan.memory.total())?;

    let loading = Instant::now();
    let mut error = first_records::resolve(&mut prepared, options).err();
    if error.is_none() {
        let gauges = stream_threads::gauges(prepared.plan.streams);
        if prepared.plan.is_one_transaction() {
            prepared.control.gauge = Arc::clone(&gauges[0]);
            prepared.control.pace = Arc::clone(&prepared.pace);
        }
        let context = prepared.context(address, options);
        error = streams::run(&runtime, &context, &gauges, &mut summary).err();
    }
    summary.gathering.phases.load_s = loading.elapsed().as_secs_f64();
    if error.is_none() {
        fault::reach(options.fault.as_ref(), FaultPoint::BeforeSwitch);
        let context = prepared.context(address, options);
        let concluded = runtime.block_on(conclude::conclude(
            &context,
            &prepared.control,
            package,
            &mut summary,
        ));
        error = concluded.err();
    }
    if error.is_some() && prepared.plan.is_one_transaction() {
        // What the ledger says of a run that has failed is what is committed.
        let context = prepared.context(address, options);
        runtime.block_on(context.undo_in_time());
        error = error.map(one_transaction::told);
    }
    fault::reach(options.fault.as_ref(), FaultPoint::BeforeReport);
    let report = runtime.block_on(summary.report(&prepared, options, error.as_ref()));
    let ended = ending::end(
        prepared.context(address, options).event_sink(),
        report,
        error,
    );
    runtime.block_on(prepared.control.close());
    ended
}

fn already_loaded(
    summary: &Summary,
    plan: &Plan,
    accounts: &[Account],
    options: &RunOptions<'_>,
) -> Success {
    let report = summary.already_loaded(plan, accounts, options);
    options
        .observer
        .notice(&report_facts::finished(&report, None));
    Success {
        report,
        report_path: None,
    }
}

/// Whether a plan has nothing left to do.
fn is_loaded(plan: &Plan) -> bool {
    matches!(plan.earlier, Earlier::Loaded(_))
}
