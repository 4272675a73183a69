//! The streams: they take units, the largest first, until none is left.

use std::sync::Arc;

use super::ContractContext;
use super::conclude::stopped_by;
use crate::driver::plan::ContractFlow;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::load::LoadStream;
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop;
use crate::pipeline::work_items::WorkItem;
use crate::run::gathering::Gathering;
use crate::run::streams::Stream;

/// Runs all streams to their ends.
pub fn run(
    context: &ContractContext<'_>,
    work: Vec<WorkItem>,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let sampler = context.run.open.sampler();
    context.run_streams(work, gauges, sampler, gathering, |stream, result| {
        work_off(context, stream, result)
    })
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
        let target = LoadStream::new(context, &gauge, stream.as_mut());
        let finishing = load_run.finish_units(&target, &unfinished, &mut result);
        row_loop::blocking(finishing)
    })?;
    gathering.loaded.add_all(result.loaded);
    gathering.rejected(result.rejects);
    finished
}

fn work_off(
    context: &ContractContext<'_>,
    stream: &Stream<'_, ContractFlow>,
    result: &mut StreamResult,
) -> Result<(), Error> {
    let Some(first) = stream.next() else {
        return Ok(());
    };
    let mut connection = context.run.open.open_stream()?;
    let target = LoadStream::new(context, stream.gauge, connection.as_mut());
    target.note_session();
    row_loop::blocking(stream.work_off(&target, first, result))
}
