//! The streams: they take units, the largest first, until none is left.

use std::collections::VecDeque;

use inrush_package::LoadOrder;
use tokio::runtime::Runtime;

use super::ContractContext;
use super::summary::ContractSummary;
use super::unit::load;
use crate::driver::plan::{UnitPlace, feeds};
use crate::error::Error;
use crate::gauge::Gauge;
use crate::pipeline::metering::Subjects;
use crate::pipeline::results::StreamResult;
use crate::pipeline::stream_threads::{self, Queue};

/// Runs all streams to their ends.
pub fn run(
    runtime: &Runtime,
    context: &ContractContext<'_>,
    summary: &mut ContractSummary,
) -> Result<(), Error> {
    let queue = Queue::new(remaining(context));
    let gauges = stream_threads::gauges(context.run.plan.streams);
    let subjects = Subjects {
        gauges: &gauges,
        flows: context.flow_counts(),
        feeds: context.feeds(),
        backends: None,
    };
    let ended = stream_threads::run(runtime, context.stop, subjects, |number, gauge, result| {
        work_off(context, number, gauge, &queue, result)
    });
    match summary.gathering.streams_ended(ended) {
        Some(error) => Err(error),
        None if context.stop.asked().is_some() => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// The units that no earlier attempt has committed: the largest first, or flow by flow. One that is fed stands there once
/// for each stream.
fn remaining(context: &ContractContext<'_>) -> VecDeque<UnitPlace> {
    let run = context.run;
    let by_flow = run.plan.settings.order == LoadOrder::Package;
    let mut places: Vec<(u64, UnitPlace)> = Vec::new();
    for (flow_index, flow) in run.plan.flows.iter().enumerate() {
        for (unit_index, unit) in flow.units.iter().enumerate() {
            let place = (flow_index, unit_index);
            if !run.kept.is_whole(place) {
                let turns = feeds::turns(unit, run.plan.streams);
                places.extend(turns.map(|bytes| (bytes, place)));
            }
        }
    }
    places.sort_by_key(|(bytes, (flow, _))| {
        let turn = if by_flow { *flow } else { 0 };
        (turn, std::cmp::Reverse(*bytes))
    });
    places.into_iter().map(|(_, place)| place).collect()
}

fn work_off(
    context: &ContractContext<'_>,
    number: usize,
    gauge: &Gauge,
    queue: &Queue<UnitPlace>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let Some(mut place) = queue.next() else {
        return Ok(());
    };
    let mut stream = context.run.open.open_stream()?;
    loop {
        if context.stop.asked().is_some() {
            return Err(Error::Interrupted);
        }
        if let Err(error) = load(context, stream.as_mut(), number, gauge, place, result) {
            // What undoing says is no news beside it.
            let _ = stream.abort_unit();
            return Err(error);
        }
        match queue.next() {
            Some(next) => place = next,
            None => return Ok(()),
        }
    }
}
