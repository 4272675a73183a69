//! Runs the streams: threads that take pieces of work, the largest first, until none is left.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::context::Context;
use super::load::{load, load_carefully};
use super::replicas::Replicas;
use super::results::StreamResult;
use super::shared_unit;
use super::summary::Summary;
use crate::cancel::{Stop, StopReason};
use crate::destination::postgres::Session;
use crate::error::Error;
use crate::meter::nanoseconds;
use crate::plan::identity;
use crate::plan::units::{self, WorkItem};
use crate::source::SourceError;

/// Runs all streams to their ends. The first error stops the others; theirs are told only
/// where there is no other.
pub fn run(runtime: &Runtime, context: &Context<'_>, summary: &mut Summary) -> Result<(), Error> {
    let queue = Mutex::new(remaining_work(context));
    let started = Instant::now();
    // The first look is before the first row.
    let replicas = runtime.block_on(async {
        tokio::select! {
            biased;
            replicas = Replicas::watch(context) => replicas,
            _ = context.stop.wait() => Err(Error::Interrupted),
        }
    })?;
    let loaded = Notify::new();
    let (results, watched) = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut results: Vec<StreamResult> = Vec::new();
        let watching = replicas.map(|replicas| {
            let loaded = &loaded;
            scope.spawn(move || {
                let _fall = Fall(context.stop);
                runtime.block_on(replicas.go_on(context, loaded))
            })
        });
        for number in 1..=context.run.plan.streams {
            let queue = &queue;
            let spawned = std::thread::Builder::new()
                .name(format!("inrush-stream-{number}"))
                .spawn_scoped(scope, move || {
                    let _fall = Fall(context.stop);
                    runtime.block_on(stream(context, number, queue, started))
                });
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    context.stop.ask(StopReason::Failed);
                    results.push(StreamResult {
                        error: Some(Error::Threads { source }),
                        ..StreamResult::default()
                    });
                    break;
                }
            }
        }
        for thread in threads {
            results.push(
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        loaded.notify_one();
        let watched = watching.map_or(Ok(()), |thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        (results, watched)
    });
    summary.paced(context.run.pace.waited());
    let mut first_error = watched.err();
    for result in results {
        let error = summary.stream_ended(result);
        first_error = worse(first_error, error);
    }
    match first_error {
        Some(error) => Err(error),
        None => runtime.block_on(context.unless_stopped(finish_shared(context, summary))),
    }
}

/// A thread that falls lets the others stop and go on from where they wait for it: what it was for,
/// such as to end their pause, nobody does any more.
struct Fall<'a>(&'a Stop);

impl Drop for Fall<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.ask(StopReason::Failed);
        }
    }
}

/// A shared unit whose last shard was committed, and whose stream was killed right after: all of
/// its shards are there and nobody has made it ready.
async fn finish_shared(context: &Context<'_>, summary: &mut Summary) -> Result<(), Error> {
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
        let done = shared_unit::finish(context, &run.control, *flow_index, *unit_index).await;
        if let Err(error) = done {
            let item = WorkItem {
                flow: *flow_index,
                unit: *unit_index,
                shards: 0..unit.shards.len(),
                bytes_count: unit.bytes_count,
            };
            let mut result = StreamResult::default();
            load_carefully(context, &run.control, &item, error, &mut result).await?;
            summary.loaded(result.loaded);
        }
    }
    Ok(())
}

/// Of two errors the one that tells the cause: a stream that was asked to stop is no cause.
fn worse(first: Option<Error>, second: Option<Error>) -> Option<Error> {
    match (first, second) {
        (Some(first), Some(second)) if is_consequence(&first) => Some(second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

/// The work that no earlier attempt has committed.
fn remaining_work(context: &Context<'_>) -> VecDeque<WorkItem> {
    let run = context.run;
    units::work(&run.plan.flows, run.plan.streams)
        .into_iter()
        .filter(|item| {
            let (_, unit) = run.unit(item.flow, item.unit);
            if run
                .units_kept
                .get(&unit.key)
                .is_some_and(|kept| kept.finished)
            {
                return false;
            }
            if !unit.shared {
                return true;
            }
            unit.shards[item.shards.clone()].iter().any(|shard| {
                let key = (unit.key.clone(), identity::shard_key(shard));
                !run.shards_kept.contains_key(&key)
            })
        })
        .collect()
}

/// A stream that stopped since another one had failed.
fn is_consequence(error: &Error) -> bool {
    matches!(
        error,
        Error::Interrupted | Error::Source(SourceError::FeedFailed { .. })
    )
}

async fn stream(
    context: &Context<'_>,
    number: usize,
    queue: &Mutex<VecDeque<WorkItem>>,
    started: Instant,
) -> StreamResult {
    let mut result = StreamResult::default();
    let begun = Instant::now();
    if let Err(error) = work_off(context, number, queue, &mut result).await {
        context.stop.ask(StopReason::Failed);
        result.error = Some(error);
    }
    result.meter.busy_ns = nanoseconds(begun.elapsed());
    result.ended_s = started.elapsed().as_secs_f64();
    result
}

async fn work_off(
    context: &Context<'_>,
    number: usize,
    queue: &Mutex<VecDeque<WorkItem>>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let next = || {
        queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    let Some(mut item) = next() else {
        return Ok(());
    };
    let name = format!("inrush {} stream {number}", context.run.record.name);
    let mut session = Session::open(context.address, &name).await?;
    session.pace = Arc::clone(&context.run.pace);
    loop {
        // What waits for the server is dropped when the run is asked to stop; what converts
        // looks at the flag between blocks.
        let loaded = tokio::select! {
            biased;
            loaded = load(context, &session, number, &item, result) => loaded,
            _ = context.stop.wait() => Err(Error::Interrupted),
        };
        match loaded {
            Ok(()) => {}
            Err(error) => {
                session.abandon();
                return Err(error);
            }
        }
        if context.stop.asked().is_some() {
            session.close().await;
            return Err(Error::Interrupted);
        }
        match next() {
            Some(next) => item = next,
            None => break,
        }
    }
    session.close().await;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_falls_stops_the_others() {
        let stop = Stop::default();
        let fallen = std::thread::scope(|scope| {
            let falling = || {
                let _fall = Fall(&stop);
                panic!("a bug");
            };
            let ended = || drop(Fall(&stop));
            scope.spawn(ended).join().expect("no panic");
            assert_eq!(stop.asked(), None);
            scope.spawn(falling).join()
        });
        assert!(fallen.is_err());
        assert_eq!(stop.asked(), Some(StopReason::Failed));
    }
}
