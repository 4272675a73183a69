//! The context that all parts of a run share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use inrush_destination::StreamSetup;
use inrush_fault::Fault;
use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::PlanFacts;
use inrush_plan::reading::source_paces::source_paces;
use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::gathering::Gathering;
use super::prepared::PreparedRun;
use crate::error::Error;
use crate::event::{Event, Observer};
use crate::gauge::Gauge;
use crate::load::{LoadRun, StraightLock};
use crate::pipeline::RunOptions;
use crate::pipeline::event_sink::EventSink;
use crate::pipeline::metering::session_samples::SessionSamples;
use crate::pipeline::metering::source_side::samplers;
use crate::pipeline::metering::{Subjects, named_counts};

/// A running load and the things that its parts use.
pub struct RunContext<'a> {
    /// The run.
    pub run: &'a PreparedRun,
    /// The runtime, which waits for feeds, for the rate, and for servers.
    pub runtime: &'a Runtime,
    /// Asks the run to stop.
    pub stop: &'a Stop,
    /// Gets events and progress.
    pub observer: &'a dyn Observer,
    /// The fault to cause, for tests.
    pub fault: Option<&'a Fault>,
    /// Delays all streams before they send, if there is a rate limit.
    pub pace: &'a Arc<Pace>,
}

impl Clone for RunContext<'_> {
    fn clone(&self) -> Self {
        *self
    }
}

impl Copy for RunContext<'_> {}

impl<'a> RunContext<'a> {
    /// The context of a run.
    pub fn new(run: &'a PreparedRun, runtime: &'a Runtime, options: &'a RunOptions<'_>) -> Self {
        RunContext {
            run,
            runtime,
            stop: &options.stop,
            observer: options.observer,
            fault: options.fault.as_deref(),
            pace: &run.pace,
        }
    }

    /// The log and the observer.
    pub fn event_sink(&self) -> EventSink<'a> {
        EventSink {
            folder: &self.run.folder,
            observer: self.observer,
        }
    }

    /// Passes an event to the log and the observer.
    pub fn notice(&self, event: &Event) {
        self.event_sink().notice(event);
    }

    /// The parts of the run that the loader uses.
    pub fn load_run(&self) -> LoadRun<'a> {
        let run = self.run;
        let facts: &PlanFacts = &run.plan;
        LoadRun {
            flows: &run.plan.flows,
            stamp: run.stamp(),
            event_sink: self.event_sink(),
            stop: self.stop,
            fault: self.fault,
            fed_files: &run.fed_files,
            sharing: &run.sharing,
            rejects: &run.rejects,
            flow_counts: &run.flow_counts,
            chunk_bytes: facts.settings.chunk_bytes as usize,
            batch_rows: facts.batch_rows,
            fed_bytes: facts.fed_bytes,
            own_steps: run
                .plan
                .flows
                .iter()
                .map(|_| AtomicBool::default())
                .collect(),
            straight_lock: StraightLock::default(),
        }
    }

    /// The setup of the stream with this number. Its notes are passed to `note`, which calls
    /// [`note`](RunContext::note).
    pub fn stream_setup<'n>(
        &self,
        number: usize,
        gauge: &Arc<Gauge>,
        note: &'n (dyn Fn(String) + Sync),
    ) -> StreamSetup<'n> {
        StreamSetup {
            number,
            pace: Arc::clone(self.pace),
            meter: Arc::clone(gauge) as _,
            note,
        }
    }

    /// Passes a note to the log and the observer.
    pub fn note(&self, text: String) {
        self.notice(&Event::Note { text });
    }

    /// The parts of the run that are sampled.
    pub fn subjects(&self, gauges: &'a [Arc<Gauge>]) -> Subjects<'a> {
        let run = self.run;
        Subjects {
            gauges,
            flows: named_counts(&run.plan.flows, &run.flow_counts),
            feeds: run.fed_files.sources(&run.plan.flows),
            reads_database: are_snapshots(&run.plan.flows),
            samplers: samplers(&run.plan.flows),
            backends: SessionSamples::new(run.open.sampler(), gauges.len()),
        }
    }

    /// Makes a call of the destination that may take long, and cancels it when the run is asked to stop.
    pub fn cancelled_by_stop<T>(&self, call: impl FnOnce() -> T) -> Result<T, Error> {
        let cancel = self.run.open.cancel_handle();
        let done = Notify::new();
        std::thread::scope(|scope| {
            let watching = || {
                self.runtime.block_on(async {
                    tokio::select! {
                        biased;
                        () = done.notified() => {}
                        _ = self.stop.wait() => cancel.cancel(),
                    }
                });
            };
            std::thread::Builder::new()
                .name("inrush-stop".to_owned())
                .spawn_scoped(scope, watching)
                .map_err(|source| Error::Threads { source })?;
            let answer = call();
            done.notify_one();
            Ok(answer)
        })
    }

    /// Adds notes about how long rate limits have delayed the streams.
    pub fn tell_paces(&self, gathering: &mut Gathering) {
        gathering.paced(self.pace, self.run.plan.paced_by);
        for (_, pace) in source_paces(&self.run.plan.flows) {
            gathering.paced(&pace, "`rate_bytes_max` of the source asks");
        }
    }
}

/// True if the rows of all flows come from snapshots of databases.
fn are_snapshots(flows: &[Arc<LoadFlow>]) -> bool {
    let is_snapshot = |flow: &Arc<LoadFlow>| {
        let source = &flow.reading.source;
        source.input_count() > 0 && source.input(0).is_snapshot()
    };
    !flows.is_empty() && flows.iter().all(is_snapshot)
}
