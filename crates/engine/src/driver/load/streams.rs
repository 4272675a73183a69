//! The streams: they take units, the largest first, until none is left.

use std::cell::RefCell;
use std::sync::Arc;

use super::ContractContext;
use super::conclude::stopped_by;
use super::stream::ContractStream;
use crate::driver::plan::ContractFlow;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::load::LoadRun;
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop;
use crate::pipeline::stream_threads::{self, Queue};
use crate::pipeline::work_items::WorkItem;
use crate::run::gathering::Gathering;

/// Runs all streams to their ends.
pub fn run(
    context: &ContractContext<'_>,
    work: Vec<WorkItem>,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let queue = Queue::new(work.into());
    let load_run = context.load_run();
    let subjects = context.subjects(gauges, context.run.open.sampler());
    let ended = stream_threads::run(
        context.runtime,
        context.stop,
        subjects,
        |number, gauge, result| work_off(context, &load_run, number, gauge, &queue, result),
    );
    match gathering.streams_ended(ended) {
        Some(error) => Err(error),
        None if context.stop.asked().is_some() => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// Finishes units that an earlier attempt has committed completely, and may not have finished.
pub fn finish_units(context: &ContractContext<'_>, gathering: &mut Gathering) -> Result<(), Error> {
    let unfinished = context.run.unfinished();
    if unfinished.is_empty() {
        return Ok(());
    }
    let load_run = context.load_run();
    let gauge = Gauge::default();
    let mut result = StreamResult::default();
    let finished = stopped_by(context, || {
        let mut stream = context.run.open.open_stream()?;
        let target = ContractStream {
            context,
            gauge: &gauge,
            stream: RefCell::new(stream.as_mut()),
        };
        let finishing = load_run.finish_units(&target, &unfinished, &mut result);
        row_loop::blocking(finishing)
    })?;
    gathering.loaded.add_all(result.loaded);
    gathering.rejected(result.rejects);
    finished
}

fn work_off(
    context: &ContractContext<'_>,
    load_run: &LoadRun<'_, ContractFlow>,
    number: usize,
    gauge: &Gauge,
    queue: &Queue<WorkItem>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let Some(first) = queue.next() else {
        return Ok(());
    };
    let mut stream = context.run.open.open_stream()?;
    let target = ContractStream {
        context,
        gauge,
        stream: RefCell::new(stream.as_mut()),
    };
    target.note_session();
    row_loop::blocking(load_run.work_off(&target, number, first, queue, result))
}
