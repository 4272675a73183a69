//! The streams: they take units, the largest first, until none is left.

use std::cell::RefCell;
use std::collections::VecDeque;

use inrush_package::LoadOrder;
use tokio::runtime::Runtime;

use super::ContractContext;
use super::stream::ContractStream;
use super::summary::ContractSummary;
use crate::driver::plan::ContractFlow;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::load::{LoadRun, Loader};
use crate::pipeline::metering::{self, Subjects};
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop;
use crate::pipeline::stream_threads::{self, Queue};
use crate::pipeline::work_items::{self, Committed, WorkItem};

/// Runs all streams to their ends.
pub fn run(
    runtime: &Runtime,
    context: &ContractContext<'_>,
    summary: &mut ContractSummary,
) -> Result<(), Error> {
    let run = context.run;
    let queue = Queue::new(remaining(context));
    let load_run = context.load_run();
    let gauges = stream_threads::gauges(run.plan.streams);
    let subjects = Subjects {
        gauges: &gauges,
        flows: metering::named_counts(&run.plan.flows, &run.flow_counts),
        feeds: run.fed_files.sources(&run.plan.flows),
        backends: None,
    };
    let ended = stream_threads::run(runtime, context.stop, subjects, |number, gauge, result| {
        work_off(context, &load_run, number, gauge, &queue, result)
    });
    match summary.gathering.streams_ended(ended) {
        Some(error) => Err(error),
        None if context.stop.asked().is_some() => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// The work that no earlier attempt has committed: the largest first, or flow by flow.
fn remaining(context: &ContractContext<'_>) -> VecDeque<WorkItem> {
    let run = context.run;
    let by_flow = run.plan.settings.order == LoadOrder::Package;
    let turn = |flow| if by_flow { flow } else { 0 };
    // Of a file that is fed, only its feed tells that all of it is committed.
    let left = work_items::left(
        &run.plan.flows,
        run.plan.streams,
        turn,
        |place, _| match run.kept.is_whole(place) {
            true => Committed::All,
            false => Committed::Nothing,
        },
    );
    left.into()
}

fn work_off(
    context: &ContractContext<'_>,
    load_run: &LoadRun<'_, ContractFlow>,
    number: usize,
    gauge: &Gauge,
    queue: &Queue<WorkItem>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let Some(mut item) = queue.next() else {
        return Ok(());
    };
    let mut stream = context.run.open.open_stream()?;
    loop {
        if context.stop.asked().is_some() {
            return Err(Error::Interrupted);
        }
        let target = ContractStream {
            context,
            gauge,
            stream: RefCell::new(stream.as_mut()),
        };
        let loader = Loader::new(load_run, &target, number, &item);
        if let Err(error) = row_loop::blocking(loader.load(result)) {
            // What undoing says is no news beside it.
            let _ = stream.abort_unit();
            return Err(error);
        }
        match queue.next() {
            Some(next) => item = next,
            None => return Ok(()),
        }
    }
}
