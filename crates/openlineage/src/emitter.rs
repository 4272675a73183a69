//! Sends the events of a run while it works.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use inrush_engine::error::Error;
use inrush_engine::event::{BegunRun, Event, Observer};
use inrush_engine::report::RunReport;
use inrush_package::Package;
use inrush_rows::plural::counted;
use serde_json::Value;

use crate::events::{Job, RunFacts};
use crate::transport::{Destination, Transport};

/// The time between two `RUNNING` events.
const INTERVAL: Duration = Duration::from_secs(60);

/// An observer that makes the events of a run. It also passes all that it receives to the caller's own observer.
pub struct Emitter<'a> {
    package: &'a Package,
    job: Job,
    folder: PathBuf,
    observer: &'a dyn Observer,
    events: Sender<Value>,
    sending: JoinHandle<Sent>,
    state: Mutex<State>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub enum End<'a> {
    /// The run ended with a report.
    Reported(&'a RunReport),
    /// The run ended with an error, before there was a report.
    Failed(&'a Error),
}

/// The facts about the run so far.
struct State {
    facts: Option<RunFacts>,
    rows_read: u64,
    told: Instant,
}

/// The outcome of sending the events.
#[derive(Default)]
struct Sent {
    events: u64,
    lost: u64,
    first_error: Option<String>,
}

impl<'a> Emitter<'a> {
    /// Begins to send. `folder` is the one where the package's relative paths begin.
    pub fn new(
        package: &'a Package,
        destination: Destination,
        namespace: &str,
        folder: PathBuf,
        observer: &'a dyn Observer,
    ) -> Emitter<'a> {
        let (events, waiting) = channel();
        Emitter {
            package,
            job: Job {
                namespace: namespace.to_owned(),
                name: package.name.clone(),
            },
            folder,
            observer,
            events,
            sending: std::thread::spawn(move || send_all(Transport::new(destination), &waiting)),
            state: Mutex::new(State {
                facts: None,
                rows_read: 0,
                told: Instant::now(),
            }),
        }
    }

    /// Sends the last event, unless the files were loaded already, and waits until all are sent. Returns a sentence for the
    /// user if some could not be sent.
    pub fn end(self, ended: End<'_>) -> Option<String> {
        let Emitter {
            job,
            events,
            sending,
            state,
            ..
        } = self;
        let state = state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let last = match (&state.facts, ended) {
            (Some(facts), End::Reported(report)) => Some(facts.end(report)),
            (Some(facts), End::Failed(error)) => Some(facts.end_without_report(error)),
            (None, End::Failed(error)) => Some(job.refused(error)),
            (None, End::Reported(report)) => job.refused_with_report(report),
        };
        if let Some(last) = last {
            // The thread ends only when this sender is gone.
            let _ = events.send(last);
        }
        drop(events);
        let sent = sending.join().unwrap_or_default();
        let error = sent.first_error?;
        let of = counted(sent.events, "event");
        Some(format!(
            "{} of {of} of OpenLineage could not be sent: {error}; the load does not depend on them",
            sent.lost
        ))
    }

    fn say(&self, event: Value) {
        // If the thread has ended, `end` says so.
        let _ = self.events.send(event);
    }
}

impl Observer for Emitter<'_> {
    fn notice(&self, event: &Event) {
        self.observer.notice(event);
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = match event {
            Event::Progress { rows, .. } => {
                state.rows_read += rows;
                state.told.elapsed() >= INTERVAL
            }
            Event::Switching { .. } => true,
            _ => false,
        };
        if is_due {
            state.told = Instant::now();
            if let Some(facts) = &state.facts {
                self.say(facts.running(state.rows_read));
            }
        }
    }

    fn begun(&self, run: &BegunRun<'_>) {
        self.observer.begun(run);
        let folder = self.folder.clone();
        let facts = RunFacts::new(self.package, &self.job, run.name, run.lineage, folder);
        self.say(facts.start());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.facts = Some(facts);
        state.told = Instant::now();
    }
}

/// Sends events until no more can come. If an event could not be sent, later `RUNNING` events are not tried, so that
/// the end of a run waits for two events at most. The last event is always tried, because the server may be back.
fn send_all(mut transport: Transport, events: &Receiver<Value>) -> Sent {
    let mut sent = Sent::default();
    let mut is_reached = true;
    for event in events {
        sent.events += 1;
        if !is_reached && event["eventType"] == "RUNNING" {
            sent.lost += 1;
            continue;
        }
        let result = transport.send(&event);
        is_reached = result.is_ok();
        if let Err(error) = result {
            sent.lost += 1;
            sent.first_error.get_or_insert(error);
        }
    }
    sent
}
