//! The streams of a run, for any destination: threads that take pieces of work, the largest first, until none is left.

use std::sync::Arc;

use inrush_destination::SessionSampler;

use super::context::RunContext;
use super::gathering::Gathering;
use super::plan::RunPlan;
use super::prepared::{DriverRun, FlowOf};
use crate::error::Error;
use crate::gauge::Gauge;
use crate::load::{LoadRun, LoadStream};
use crate::pipeline::results::StreamResult;
use crate::pipeline::stream_threads::{self, Queue};
use crate::pipeline::work_items::WorkItem;
use crate::plan::PlannedFlow;

/// A stream, with the work that all streams share.
pub struct Stream<'a, F> {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its gauge.
    pub gauge: &'a Arc<Gauge>,
    /// The data that all streams share.
    pub load_run: &'a LoadRun<'a, F>,
    queue: &'a Queue<WorkItem>,
}

impl<F: PlannedFlow> Stream<'_, F> {
    /// The next piece of work; nothing once all are taken.
    pub fn next(&self) -> Option<WorkItem> {
        self.queue.next()
    }

    /// Loads `first`, and then the pieces that are left, through a connection ([`LoadRun::work_off`]).
    pub async fn work_off<R>(
        &self,
        target: &LoadStream<'_, R>,
        first: WorkItem,
        result: &mut StreamResult,
    ) -> Result<(), Error>
    where
        R: DriverRun,
        R::Plan: RunPlan<Flow = F>,
    {
        self.load_run
            .work_off(target, self.number, first, self.queue, result)
            .await
    }
}

impl<R: DriverRun> RunContext<'_, R> {
    /// Runs a stream for each gauge to its end. `load` gets each of them, on a thread of its own. `sampler` asks the
    /// destination's server what the streams wait for, if there is one.
    pub fn run_streams(
        &self,
        work: Vec<WorkItem>,
        gauges: &[Arc<Gauge>],
        sampler: Option<Box<dyn SessionSampler>>,
        gathering: &mut Gathering,
        load: impl Fn(&Stream<'_, FlowOf<R>>, &mut StreamResult) -> Result<(), Error> + Sync,
    ) -> Result<(), Error>
    where
        FlowOf<R>: Sync,
    {
        let queue = Queue::new(work.into());
        let load_run = self.load_run();
        let subjects = self.subjects(gauges, sampler);
        let ended = stream_threads::run(
            self.runtime,
            self.stop,
            subjects,
            |number, gauge, result| {
                let stream = Stream {
                    number,
                    gauge,
                    load_run: &load_run,
                    queue: &queue,
                };
                load(&stream, result)
            },
        );
        match gathering.streams_ended(ended) {
            Some(error) => Err(error),
            None if self.stop.asked().is_some() => Err(Error::Interrupted),
            None => Ok(()),
        }
    }
}
