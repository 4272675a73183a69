//! The streams: they take pieces of work, the largest first, until none is left.

use std::sync::Arc;

use inrush_destination::SessionSampler;
use inrush_engine::error::Error;
use inrush_engine::native::load::{Gauge, LoadStream, blocking};
use inrush_engine::native::plan::UnitPlace;
use inrush_engine::native::run::stream_threads::{StopOnPanic, worse};
use inrush_engine::native::run::work_items::WorkItem;
use inrush_engine::native::run::{Gathering, Stream, StreamResult};
use inrush_verdict::Phase;
use tokio::sync::Notify;

use super::context::Context;
use super::one_transaction;
use super::replication_lag::Replicas;
use super::sampler::ServerSampler;
use super::stream::{SessionStream, by_control};
use crate::Session;
use crate::plan::FlowPlan;
use crate::plan::additions::Additions;

/// Runs all streams to their ends, beside the task that watches the replicas.
pub fn run(
    context: &Context<'_>,
    work: Vec<WorkItem>,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let (run, runtime) = (context.run, context.runtime);
    // The first check is made before the first row is sent.
    let watching = context.stop.unless_asked(Replicas::watch(context));
    let replicas = runtime.block_on(watching);
    let replicas = replicas.unwrap_or(Err(Error::Interrupted))?;
    let version = run.plan.server.version_number;
    let sampler = ServerSampler::new(runtime, context.address, &run.name, version);
    let loaded = Notify::new();
    let (ended, watched) = std::thread::scope(|scope| {
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
        let sampler = Some(Box::new(sampler) as Box<dyn SessionSampler>);
        let is_one = run.plan.is_one_transaction();
        let load = |stream: &Stream<'_, FlowPlan>, result: &mut StreamResult| match is_one {
            true => one_transaction::load_all(context, stream, result),
            false => work_off(context, stream, result),
        };
        let ended = context.run_streams(work, gauges, sampler, gathering, load);
        loaded.notify_one();
        let watched = watching.map_or(Ok(()), |thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Ok::<_, Error>((ended, watched))
    })?;
    worse(watched.err(), ended.err()).map_or(Ok(()), Err)
}

/// Finishes shared units whose stream was killed right after the last split was committed: all of their splits are loaded,
/// but they were not marked as ready.
pub fn finish_units(context: &Context<'_>, gathering: &mut Gathering) -> Result<(), Error> {
    let run = context.run;
    if run.sharing.is_empty() {
        return Ok(());
    }
    let reading = async { Ok(run.ledger.units(&run.control, run.fence.run_id).await?) };
    let records = context.wait(reading)?;
    let is_finished = |place: &UnitPlace| {
        let (_, unit) = run.unit(*place);
        let mut own = records.iter().filter(|record| record.unit_key == unit.key);
        own.any(|record| record.finished)
    };
    let places = run.sharing.keys().copied();
    let unfinished: Vec<UnitPlace> = places.filter(|place| !is_finished(place)).collect();
    let mut result = StreamResult::default();
    let load_run = context.load_run();
    let finished = by_control(context, Additions::NONE, |target| {
        blocking(load_run.finish_units(target, &unfinished, &mut result))
    });
    gathering.loaded.add_all(result.loaded);
    gathering.rejected(result.rejects);
    finished
}

fn work_off(
    context: &Context<'_>,
    stream: &Stream<'_, FlowPlan>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let Some(first) = stream.next() else {
        return Ok(());
    };
    let Stream { number, gauge, .. } = *stream;
    let runtime = context.runtime;
    let name = format!("inrush {} stream {number}", context.run.record.name);
    let opening = gauge.enter(Phase::ServerWait);
    let mut session = runtime.block_on(Session::open(context.address, &name))?;
    drop(opening);
    session.pace = Arc::clone(&context.run.pace);
    session.gauge = Arc::clone(gauge);
    gauge.served_by(session.backend_process_id, session.watch.tcp());
    let loaded = {
        let mut connection = SessionStream::new(*context, session.clone(), Additions::NONE);
        let target = LoadStream::new(&context.shared, gauge, &mut connection);
        blocking(stream.work_off(&target, first, result))
    };
    let _runtime = runtime.enter();
    match loaded {
        Ok(()) => runtime.block_on(session.close()),
        Err(_) => session.abandon(),
    }
    loaded
}
