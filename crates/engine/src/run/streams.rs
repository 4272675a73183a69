//! The streams of a run, for any destination: threads that take pieces of work in their order until none is left, beside the
//! [`watch`](super::watch).

use std::sync::Arc;

use inrush_plan::units::work_items::WorkItem;
use tokio::sync::Notify;

use super::context::RunContext;
use super::gathering::Gathering;
use super::watch::Watching;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::load::{LoadRun, LoadStream};
use crate::pipeline::results::StreamResult;
use crate::pipeline::row_loop::blocking;
use crate::pipeline::stream_threads::{self, Queue, StopOnPanic, worse};

/// The number of a stream that works after all others have ended.
pub const AFTER_ALL: usize = 0;

/// Loads pieces of work, with one stream for each gauge.
pub fn load(
    context: &RunContext<'_>,
    mut work: Vec<WorkItem>,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let watch = Watching::begin(*context)?;
    if let Some(order) = context.run.open.begin_streams()? {
        let turn = |flow| order.iter().position(|target| *target == flow);
        work.sort_by_key(|item| (turn(item.flow), item.unit));
    }
    let loaded = Notify::new();
    let (ended, watched) = std::thread::scope(|scope| {
        let watching = watch.map(|watch| {
            let loaded = &loaded;
            let watching = move || {
                let _stop_on_panic = StopOnPanic(context.stop);
                watch.until_loaded(loaded)
            };
            std::thread::Builder::new()
                .name("inrush-watch".to_owned())
                .spawn_scoped(scope, watching)
        });
        let watching = watching.transpose();
        let watching = watching.map_err(|source| Error::Threads { source })?;
        let ended = run_streams(context, work, gauges, gathering);
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

/// Finishes units whose splits are all committed, but that a killed process has left unfinished. All streams have ended.
pub fn finish_units(context: &RunContext<'_>, gathering: &mut Gathering) -> Result<(), Error> {
    let unfinished = context.run.unfinished();
    if unfinished.is_empty() {
        return Ok(());
    }
    let load_run = context.load_run();
    let gauge = Arc::default();
    let mut result = StreamResult::default();
    let note = |text| context.note(text);
    let setup = context.stream_setup(AFTER_ALL, &gauge, &note);
    let finishing = || {
        let mut stream = context.run.open.open_stream(&setup)?;
        let target = LoadStream::new(context, &gauge, stream.as_mut());
        blocking(load_run.finish_units(&target, &unfinished, &mut result))
    };
    let finished = context.cancelled_by_stop(finishing)?;
    gathering.loaded.add_all(result.loaded);
    gathering.rejected(result.rejects);
    finished
}

/// Runs a stream for each gauge to its end, each on a thread of its own.
fn run_streams(
    context: &RunContext<'_>,
    work: Vec<WorkItem>,
    gauges: &[Arc<Gauge>],
    gathering: &mut Gathering,
) -> Result<(), Error> {
    let streams = Streams {
        context,
        load_run: context.load_run(),
        queue: Queue::new(work.into()),
    };
    let subjects = context.subjects(gauges);
    let ended = stream_threads::run(
        context.runtime,
        context.stop,
        subjects,
        |number, gauge, result| streams.run_one(number, gauge, result),
    );
    match gathering.streams_ended(ended) {
        Some(error) => Err(error),
        None if context.stop.asked().is_some() => Err(Error::Interrupted),
        None => Ok(()),
    }
}

/// What all streams share.
struct Streams<'a> {
    context: &'a RunContext<'a>,
    load_run: LoadRun<'a>,
    queue: Queue<WorkItem>,
}

impl Streams<'_> {
    /// Loads pieces of work until none is left. The stream connects only if there is one for it.
    fn run_one(
        &self,
        number: usize,
        gauge: &Arc<Gauge>,
        result: &mut StreamResult,
    ) -> Result<(), Error> {
        let Some(first) = self.queue.next() else {
            return Ok(());
        };
        let context = self.context;
        let note = |text| context.note(text);
        let setup = context.stream_setup(number, gauge, &note);
        let mut connection = context.run.open.open_stream(&setup)?;
        let target = LoadStream::new(context, gauge, connection.as_mut());
        target.note_session();
        let Streams {
            load_run, queue, ..
        } = self;
        blocking(load_run.work_off(&target, number, first, queue, result))
    }
}
