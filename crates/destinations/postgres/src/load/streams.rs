//! The streams: they take pieces of work, the largest first, until none is left.

use std::sync::Arc;

use inrush_verdict::Phase;
use tokio::sync::Notify;

use super::backends::ServerBackends;
use super::context::Context;
use super::one_transaction;
use super::replication_lag::Replicas;
use super::shared_unit;
use super::stream::SessionStream;
use crate::Session;
use crate::engine::error::Error;
use crate::engine::gauge::Gauge;
use crate::engine::load::{LoadRun, Loader};
use crate::engine::pipeline::results::StreamResult;
use crate::engine::pipeline::stream_threads::{self, Queue, StopOnPanic, worse};
use crate::engine::pipeline::work_items::WorkItem;
use crate::engine::run::gathering::Gathering;
use crate::plan::FlowPlan;

/// Runs all streams to their ends, beside the task that watches the replicas.
pub fn run(
    context: &Context<'_>,
    work: Vec<WorkItem>,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let (run, runtime) = (context.run, context.runtime);
    let queue = Queue::new(work.into());
    let load_run = context.load_run();
    // The first check is made before the first row is sent.
    let replicas = runtime.block_on(async {
        tokio::select! {
            biased;
            replicas = Replicas::watch(context) => replicas,
            _ = context.stop.wait() => Err(Error::Interrupted),
        }
    })?;
    let version = run.plan.server.version_number;
    let backends = ServerBackends::new(context.address, &run.name, version, gauges.len());
    let subjects = context.subjects(gauges, Some(Box::new(backends)));
    let loaded = Notify::new();
    let (ended, watched) =
        std::thread::scope(|scope| {
            let watching = replicas.map(|replicas| {
                let loaded = &loaded;
                let watching = move || {
                    let _stop_on_panic = StopOnPanic(context.stop);
                    runtime.block_on(replicas.go_on(context, loaded))
                };
                std::thread::Builder::new()
                    .name("inrush-replicas".to_owned())
                    .spawn_scoped(scope, watching)
            });
            let watching = watching.transpose();
            let watching = watching.map_err(|source| Error::Threads { source })?;
            let ended =
                stream_threads::run(runtime, context.stop, subjects, |number, gauge, result| {
                    match run.plan.is_one_transaction() {
                        true => runtime
                            .block_on(one_transaction::load_all(context, &load_run, gauge, result)),
                        false => runtime
                            .block_on(work_off(context, &load_run, number, gauge, &queue, result)),
                    }
                });
            loaded.notify_one();
            let watched = watching.map_or(Ok(()), |thread| {
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            Ok::<_, Error>((ended, watched))
        })?;
    let error = gathering.streams_ended(ended);
    match worse(watched.err(), error) {
        Some(error) => Err(error),
        None if context.stop.asked().is_some() => Err(Error::Interrupted),
        None => {
            runtime.block_on(context.unless_stopped(finish_shared(context, &load_run, gathering)))
        }
    }
}

/// Finishes a shared unit whose stream was killed right after the last split was committed: all of its splits are
/// loaded, but the unit was not marked as ready.
async fn finish_shared(
    context: &Context<'_>,
    load_run: &LoadRun<'_, FlowPlan>,
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let run = context.run;
    let records = run.ledger.units(&run.control, run.fence.run_id).await?;
    for (flow_index, unit_index) in run.sharing.keys() {
        let (_, unit) = run.unit(*flow_index, *unit_index);
        let finished = records
            .iter()
            .any(|record| record.unit_key == unit.key && record.finished);
        if finished {
            continue;
        }
        let place = (*flow_index, *unit_index);
        let done = shared_unit::finish(context, &run.control, place).await;
        if let Err(error) = done {
            let item = WorkItem::whole(place, unit);
            let mut result = StreamResult::default();
            let target = SessionStream {
                context,
                session: &run.control,
            };
            Loader::new(load_run, &target, 0, &item)
                .after_refusal(error, &mut result)
                .await?;
            gathering.loaded.add_all(result.loaded);
        }
    }
    Ok(())
}

async fn work_off(
    context: &Context<'_>,
    load_run: &LoadRun<'_, FlowPlan>,
    number: usize,
    gauge: &Arc<Gauge>,
    queue: &Queue<WorkItem>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let Some(first) = queue.next() else {
        return Ok(());
    };
    let name = format!("inrush {} stream {number}", context.run.record.name);
    let opening = gauge.enter(Phase::ServerWait);
    let mut session = Session::open(context.address, &name).await?;
    drop(opening);
    session.pace = Arc::clone(&context.run.pace);
    session.gauge = Arc::clone(gauge);
    gauge.served_by(session.backend_process_id, session.watch.tcp());
    let target = SessionStream {
        context,
        session: &session,
    };
    let loaded = load_run
        .work_off(&target, number, first, queue, result)
        .await;
    match loaded {
        Ok(()) => session.close().await,
        Err(_) => session.abandon(),
    }
    loaded
}
