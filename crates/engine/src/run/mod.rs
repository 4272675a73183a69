//! A run from its start to its end, the same for every destination:
//!
//! ```text
//! prepare: plan ──> lock and ledger ──> forget lost rejects ──> begin
//!    │  └─ nothing is left to do ──> report
//!    ▼
//! load: the units that are left, here or by processes that join
//!    ▼
//! conclude: account ──> switch ──> analyze
//!    ▼
//! end: report
//! ```
//!
//! One process prepares, concludes and ends. It can send the plan to others, which load shares of the units
//! ([`shares`](crate::shares)).
//!
//! A [`Planner`] plans the package, and its plan begins the run: it takes the lock, enters the run into the ledger, and returns the
//! destination's side of it. If the plan may be outdated by then, the package is planned again ([`prepare`]).
//!
//! | module | what it does |
//! |---|---|
//! | [`prepare`] | the steps before the load, in their order |
//! | [`prepared`] | the state of a run |
//! | [`replayed`] | refuses to load the rejects of a run that is not switched |
//! | [`lost_rejects`] | finds kept work that must be loaded again |
//! | [`first_rows`] | reads the keys of all rows before the load, if a step keeps the first of several rows (`distinct_on`) |
//! | [`streams`] | the steps of the load, beside the [`watch`] |
//! | [`conclude`] | the steps after the load, in their order |
//! | [`account`] | compares the ledger's row counts with the destination's counts ([`committed_units`]) |
//! | [`ledger_checks`] | compares the ledger's records with the files |
//! | [`staged_sums`] | compares the ledger's sums with the destination's sums |
//! | [`publish`] | makes the rows visible |
//! | [`publish_faults`] | the faults at the steps of a publish, for tests |
//! | [`settle`] | asks the ledger whether the rows are published, if the answer was lost |
//! | [`reload`] | loads units again if their target refuses rows at the publish |
//! | [`rows_in_source`] | finds these rows in the source |
//! | [`analyze`] | updates the statistics of the targets |
//! | [`one_transaction`] | rolls back a failed load without staging |
//! | [`gathering`], [`unit_reports`], [`report`] | make the report |
//! | [`ending`] | writes the report |

pub(crate) mod account;
mod analyze;
pub(crate) mod announcements;
pub(crate) mod committed_units;
mod conclude;
pub(crate) mod context;
pub(crate) mod ending;
pub(crate) mod first_rows;
pub(crate) mod gathering;
pub(crate) mod ledger_checks;
mod lost_rejects;
pub(crate) mod one_transaction;
pub(crate) mod prepare;
pub(crate) mod prepared;
mod publish;
pub(crate) mod publish_faults;
mod reload;
mod replayed;
mod report;
mod rows_in_source;
pub(crate) mod settle;
mod staged_sums;
pub(crate) mod streams;
pub(crate) mod unit_reports;
mod watch;

use std::time::Instant;

use inrush_package::Package;
use inrush_plan::planner::Planner;
use tokio::runtime::Runtime;

use self::conclude::Concluded;
use self::context::RunContext;
use self::gathering::Gathering;
use self::prepare::Prepared;
use self::prepared::{find_first_records, work_left};
use crate::pipeline::{Failure, RunOptions, Success, stream_threads};
use crate::shares::coordinate;

/// Runs a package to its end, or until it is asked to stop.
pub fn run(
    planner: &dyn Planner,
    runtime: &Runtime,
    package: &Package,
    options: &RunOptions<'_>,
) -> Result<Success, Failure> {
    let mut gathering = Gathering::begin();
    let run = match prepare::prepare(planner, package, options, &mut gathering)? {
        Prepared::NothingLeft(success) => return Ok(*success),
        Prepared::Run(run) => *run,
    };
    let gauges = stream_threads::gauges(run.plan.streams);
    let loading = Instant::now();
    let found = find_first_records(&run, options)
        .and_then(|()| first_rows::find(&run, options, &mut gathering));
    let context = RunContext::new(&run, runtime, options);
    let loaded = found.and_then(|()| match options.shares {
        None => streams::load(&context, work_left(&context), &gauges, &mut gathering),
        Some(shares) => coordinate::coordinate(&context, package, shares, &gauges, &mut gathering),
    });
    let loaded = loaded.and_then(|()| streams::finish_units(&context, &mut gathering));
    gathering.phases.load_s = loading.elapsed().as_secs_f64();
    context.tell_paces(&mut gathering);

    let concluded = match loaded {
        Ok(()) => conclude::conclude(&context, options, &mut gathering),
        Err(error) => Concluded::failed(error),
    };
    let ended = conclude::end(&context, concluded, options, gathering);
    run.close();
    ended
}
