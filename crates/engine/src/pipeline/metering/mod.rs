//! Samples all parts of a run ten times a second while its streams run: the phase of each thread, the state of its
//! connection and its backend, and the machine. Streams keep their own counts ([`Gauge`]); neither the sampling thread
//! nor the streams wait for each other. Why both sides of a connection are sampled together: `docs/design/meters.md`.

mod machine_figures;
mod series;
pub mod session_samples;
pub mod source_side;
mod steps;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use inrush_plan::load_flow::LoadFlow;
use inrush_source::{SessionSampler, SourceMeter};
use inrush_system::process::{thread_cpu_us, thread_id};
use inrush_verdict::Measurements;
use tokio::sync::Notify;
use tokio::time::Instant;

use self::series::Columns;
use self::session_samples::SessionSamples;
use self::source_side::SourceSide;
use self::steps::Steps;
use crate::gauge::Gauge;

/// The time between two samples.
const INTERVAL: Duration = Duration::from_millis(100);

/// The rows and bytes of one flow so far, over all streams.
#[derive(Debug, Default)]
pub struct FlowCount {
    rows: AtomicU64,
    stored_bytes: AtomicU64,
}

impl FlowCount {
    /// Adds rows that were read, and bytes of the files.
    pub fn add(&self, rows: u64, stored_bytes: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.stored_bytes.fetch_add(stored_bytes, Ordering::Relaxed);
    }

    fn read(&self) -> (u64, u64) {
        let rows = self.rows.load(Ordering::Relaxed);
        (rows, self.stored_bytes.load(Ordering::Relaxed))
    }
}

/// The counts of all flows of a plan, by their names.
pub fn named_counts<'a>(
    flows: &[Arc<LoadFlow>],
    counts: &'a [FlowCount],
) -> Vec<(String, &'a FlowCount)> {
    let names = flows.iter().map(|flow| flow.reading.name.clone());
    names.zip(counts).collect()
}

/// A file that one thread reads for several streams.
pub trait FedSource: Sync {
    /// The cost of reading so far; `None` before reading begins.
    fn cost(&self) -> Option<SourceMeter>;
}

/// The streams, feeds and flows that are sampled.
pub struct Subjects<'a> {
    /// The streams, in their order.
    pub gauges: &'a [Arc<Gauge>],
    /// The names of the flows, with their counts.
    pub flows: Vec<(String, &'a FlowCount)>,
    /// Files that one thread reads for several streams.
    pub feeds: Vec<(String, &'a dyn FedSource)>,
    /// The rows come from a database.
    pub reads_database: bool,
    /// Ask the source's servers about the sessions from which the streams read.
    pub samplers: Vec<Arc<dyn SessionSampler>>,
    /// The server's side, if the destination has a server.
    pub backends: Option<SessionSamples>,
}

/// Samples until the streams have ended, and returns the measurements. `source` is sampled by another thread.
pub async fn watch(
    mut subjects: Subjects<'_>,
    source: Option<&SourceSide<'_>>,
    ended: &Notify,
) -> Measurements {
    let mut steps = Steps::default();
    let mut columns = Columns::new(&subjects, &mut steps);
    let begun = Instant::now();
    let mut look = steps.look();
    columns.read(&subjects, source, &mut look);
    steps.begin(&look);
    // The number of intervals that are over and counted.
    let mut intervals = 0_u32;
    loop {
        let is_over = tokio::select! {
            biased;
            () = ended.notified() => true,
            () = tokio::time::sleep_until(begun + INTERVAL * (intervals + 1)) => false,
        };
        if !is_over && let Some(backends) = &mut subjects.backends {
            backends.look(subjects.gauges).await;
        }
        let mut look = steps.look();
        columns.read(&subjects, source, &mut look);
        // If this thread got no CPU in time, several intervals have passed.
        let passed = begun.elapsed().as_secs_f64() / INTERVAL.as_secs_f64();
        let passed = match is_over {
            true => passed.ceil(),
            false => passed.floor(),
        };
        let passed = (passed as u32).max(intervals + 1);
        steps.add(&look, (passed - intervals) as usize);
        intervals = passed;
        if is_over {
            break;
        }
    }
    let load_s = begun.elapsed().as_secs_f64();
    let server = match &mut subjects.backends {
        Some(backends) => backends.end().await,
        None => None,
    };
    let (server, asked_us) = server.unzip();
    let own = thread_cpu_us(thread_id()).map_or(0, |(ran, _)| ran);
    let sampled_us = source.map_or(0, SourceSide::cost_us);
    Measurements {
        metering_cpu_s: (own + asked_us.unwrap_or(0) + sampled_us) as f64 / 1e6,
        reads_database: subjects.reads_database,
        source_server: source.and_then(SourceSide::server),
        ..columns.measurements(&steps, &subjects, source, load_s, server)
    }
}
