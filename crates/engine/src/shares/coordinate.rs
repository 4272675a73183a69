//! The process that holds a run, while other processes load it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use inrush_package::Package;
use inrush_plan::load_flow::LoadFlow;
use inrush_rows::plural::counted;

use super::Shares;
use super::divide::{Division, divide};
use super::error::ShareError;
use super::files::ShareFiles;
use super::sent_plan::{PLAN_FILE, SentPlan};
use super::waiting::{SHOW_LIFE_EVERY, Waiting};
use crate::error::Error;
use crate::event::Event;
use crate::gauge::Gauge;
use crate::run::committed_units::CommittedUnits;
use crate::run::context::RunContext;
use crate::run::gathering::Gathering;
use crate::run::prepared::{PreparedRun, work_left};
use crate::run::streams;

/// The time between two looks for results. The hosts share only a folder, so nothing can announce a result.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Divides the work that is left, lets other processes load it, and waits until all of it is in the ledger. Units that
/// several streams fill together are loaded here.
pub fn coordinate(
    context: &RunContext<'_>,
    package: &Package,
    asked: Shares,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let run = context.run;
    let count = asked.count.get();
    let targets_digest = run.plan.targets_digest.clone();
    let targets_digest = targets_digest.ok_or_else(Error::no_several_hosts)?;
    refuse_inputs_of_one_host(&run.plan.flows)?;
    let Division { own, shares } = divide(work_left(context), &run.plan.flows, count);
    let record = run.open.record();
    let files = ShareFiles::open(run.folder.path(), record.epoch)?;
    let missing = (1..=count).filter(|share| !shares[share - 1].is_empty());
    let missing: Vec<usize> = missing.collect();
    SentPlan::of(&run.plan, record, package, targets_digest, shares).write(&run.folder)?;
    tell(context, missing.len(), asked.silence_max);
    if !own.is_empty() {
        streams::load(context, own, gauges, gathering)?;
    }
    let waiting = Waiting::new(missing, asked.silence_max, Instant::now());
    wait_for_results(context, &files, waiting, gathering)?;
    Ok(run.open.shut_out()?)
}

/// Waits for the results of all shares, as long as a process gives signs of life.
fn wait_for_results(
    context: &RunContext<'_>,
    files: &ShareFiles,
    mut waiting: Waiting,
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let mut looked = Instant::now();
    loop {
        for share in waiting.shares() {
            if let Some(result) = files.result(share)? {
                gathering.add_share(share, result);
                waiting.ended(share, Instant::now());
            }
        }
        if waiting.shares().is_empty() {
            return Ok(());
        }
        if looked.elapsed() >= SHOW_LIFE_EVERY {
            looked = Instant::now();
            for share in waiting.shares() {
                if let Some(text) = waiting.look(share, files.life(share)?, looked) {
                    context.notice(&Event::Note { text });
                }
            }
            waiting.require_life(looked)?;
        }
        context.runtime.block_on(async {
            tokio::select! {
                biased;
                _ = context.stop.wait() => Err(Error::Interrupted),
                () = tokio::time::sleep(LOOK_EVERY) => Ok(()),
            }
        })?;
    }
}

fn refuse_inputs_of_one_host(flows: &[Arc<LoadFlow>]) -> Result<(), ShareError> {
    for flow in flows {
        if let Some(split) = flow.splits().find(|split| split.input.is_snapshot()) {
            return Err(ShareError::Snapshot {
                flow: flow.reading.name.clone(),
                input: split.input.name().display().to_string(),
            });
        }
        if let Some(split) = flow.splits().find(|split| split.input.is_read_once()) {
            return Err(ShareError::Pipe {
                flow: flow.reading.name.clone(),
                pipe: split.input.name().display().to_string(),
            });
        }
    }
    Ok(())
}

fn tell(context: &RunContext<'_>, missing: usize, silence_max: Duration) {
    if missing > 0 {
        let path = context.run.folder.path().join(PLAN_FILE);
        context.notice(&Event::Note {
            text: format!(
                "the run waits for {}: on each host, `inrush join PACKAGE {} --share N` loads one; the run fails if no \
                 process gives a sign of life for {} s",
                counted(missing as u64, "share"),
                path.display(),
                silence_max.as_secs()
            ),
        });
    }
}

/// Compares the rejects of all hosts with the limit. Each host has compared only its own; the ledger has all of them.
pub fn judge_rejects(run: &PreparedRun, committed: &CommittedUnits) -> Result<(), ShareError> {
    for (flow_at, flow) in run.plan.flows.iter().enumerate() {
        let units = 0..flow.units.len();
        let rejects = units.map(|unit| {
            committed
                .unit(run, (flow_at, unit), false)
                .account
                .rows_rejected
        });
        let rejected: u64 = rejects.sum();
        let limit = flow.reading.reject_limit.rows_accepted();
        if rejected > limit {
            return Err(ShareError::RejectLimit {
                flow: flow.reading.name.clone(),
                rejected,
                limit,
            });
        }
    }
    Ok(())
}
