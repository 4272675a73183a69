//! Runs the streams: threads that take units, the largest first, until none is left.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::Context;
use super::load::load;
use super::summary::ContractSummary;
use crate::cancel::StopReason;
use crate::error::Error;
use crate::meter::nanoseconds;
use crate::package::LoadOrder;
use crate::pipeline::results::StreamResult;

/// A unit, by the places of its flow and of itself.
type Place = (usize, usize);

/// Runs all streams to their ends. The first error stops the others; theirs are told only where
/// there is no other.
pub fn run(context: &Context<'_>, summary: &mut ContractSummary) -> Result<(), Error> {
    let queue = Mutex::new(remaining(context));
    let started = Instant::now();
    let streams = context.run.plan.streams;
    let results: Vec<StreamResult> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        let mut results = Vec::new();
        for number in 1..=streams {
            let queue = &queue;
            let spawned = std::thread::Builder::new()
                .name(format!("inrush-stream-{number}"))
                .spawn_scoped(scope, move || stream(context, number, queue, started));
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
        let ended = threads.into_iter().map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.extend(ended);
        results
    });
    let mut first: Option<Error> = None;
    for result in results {
        let error = summary.stream_ended(result);
        first = match (first, error) {
            (Some(Error::Interrupted), Some(other)) => Some(other),
            (Some(first), _) => Some(first),
            (None, other) => other,
        };
    }
    match first {
        Some(error) => Err(error),
        None if context.stop.asked().is_some() => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// The units that no earlier attempt has committed: the largest first, or flow by flow.
fn remaining(context: &Context<'_>) -> VecDeque<Place> {
    let run = context.run;
    let by_flow = run.plan.settings.order == LoadOrder::Package;
    let mut places: Vec<(u64, Place)> = Vec::new();
    for (flow_index, flow) in run.plan.flows.iter().enumerate() {
        for (unit_index, unit) in flow.units.iter().enumerate() {
            if !run.kept.contains_key(&unit.key) {
                places.push((unit.shard.size_bytes(), (flow_index, unit_index)));
            }
        }
    }
    places.sort_by_key(|(bytes, (flow, _))| {
        let turn = if by_flow { *flow } else { 0 };
        (turn, std::cmp::Reverse(*bytes))
    });
    places.into_iter().map(|(_, place)| place).collect()
}

fn stream(
    context: &Context<'_>,
    number: usize,
    queue: &Mutex<VecDeque<Place>>,
    started: Instant,
) -> StreamResult {
    let mut result = StreamResult::default();
    let begun = Instant::now();
    if let Err(error) = work_off(context, number, queue, &mut result) {
        context.stop.ask(StopReason::Failed);
        result.error = Some(error);
    }
    result.meter.busy_ns = nanoseconds(begun.elapsed());
    result.ended_s = started.elapsed().as_secs_f64();
    result
}

fn work_off(
    context: &Context<'_>,
    number: usize,
    queue: &Mutex<VecDeque<Place>>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let next = || {
        queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop_front()
    };
    let Some(mut place) = next() else {
        return Ok(());
    };
    let mut stream = context.run.open.open_stream()?;
    loop {
        if context.stop.asked().is_some() {
            return Err(Error::Interrupted);
        }
        if let Err(error) = load(context, stream.as_mut(), number, place, result) {
            // What undoing says is no news beside it.
            let _ = stream.abort_unit();
            return Err(error);
        }
        match next() {
            Some(next) => place = next,
            None => return Ok(()),
        }
    }
}
