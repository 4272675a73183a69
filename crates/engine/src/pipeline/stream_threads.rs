//! The threads of the streams, and the thread that samples them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use inrush_rows::cancel::{Stop, StopReason};
use inrush_source::SourceError;
use inrush_verdict::Measurements;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

use super::metering::source_side::SourceSide;
use super::metering::{self, Subjects};
use super::results::StreamResult;
use crate::error::Error;
use crate::gauge::Gauge;

/// The result of all streams.
pub struct StreamsOutcome {
    /// The result of each stream, without its error.
    pub results: Vec<StreamResult>,
    /// The measurements of the run.
    pub measurements: Measurements,
    /// The first error that names a cause.
    pub error: Option<Error>,
}

/// Pieces of work that streams take in order.
pub struct Queue<T>(Mutex<VecDeque<T>>);

impl<T> Queue<T> {
    /// A queue of these pieces, in their order.
    pub fn new(pieces: VecDeque<T>) -> Queue<T> {
        Queue(Mutex::new(pieces))
    }

    /// The next one; nothing once all are taken.
    pub fn next(&self) -> Option<T> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pieces.pop_front()
    }
}

/// Makes one gauge for each stream.
pub fn gauges(streams: usize) -> Vec<Arc<Gauge>> {
    (0..streams).map(|_| Arc::default()).collect()
}

/// Runs a stream for each gauge to its end: `work` gets its number, counted from 1, and its gauge. The first error
/// stops the other streams; their errors are returned only if there is no other.
pub fn run(
    runtime: &Runtime,
    stop: &Stop,
    mut subjects: Subjects<'_>,
    work: impl Fn(usize, &Arc<Gauge>, &mut StreamResult) -> Result<(), Error> + Sync,
) -> StreamsOutcome {
    let gauges = subjects.gauges;
    let started = Instant::now();
    let ended = Notify::new();
    let source = SourceSide::new(gauges, std::mem::take(&mut subjects.samplers));
    let (mut results, watched) = std::thread::scope(|scope| {
        let (work, ended, source) = (&work, &ended, source.as_ref());
        let mut threads = Vec::new();
        let mut results: Vec<StreamResult> = Vec::new();
        let mut failed = |source| {
            stop.ask(StopReason::Failed);
            results.push(StreamResult {
                error: Some(Error::Threads { source }),
                ..StreamResult::default()
            });
        };
        let watching = std::thread::Builder::new()
            .name("inrush-meter".to_owned())
            .spawn_scoped(scope, move || {
                runtime.block_on(metering::watch(subjects, source, ended))
            });
        if let Some(source) = source {
            let thread = std::thread::Builder::new().name("inrush-source-meter".to_owned());
            // Without this thread, the load goes on without samples of the source.
            let _ = thread.spawn_scoped(scope, move || source.sample());
        }
        for (index, gauge) in gauges.iter().enumerate() {
            if watching.is_err() {
                break;
            }
            let spawned = std::thread::Builder::new()
                .name(format!("inrush-stream-{}", index + 1))
                .spawn_scoped(scope, move || {
                    let _stop_on_panic = StopOnPanic(stop);
                    stream(stop, index + 1, gauge, started, work)
                });
            match spawned {
                Ok(thread) => threads.push(thread),
                Err(source) => {
                    failed(source);
                    break;
                }
            }
        }
        let watching = match watching {
            Ok(watching) => Some(watching),
            Err(source) => {
                failed(source);
                None
            }
        };
        let joined: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
        // The meters are stopped before a panic is resumed, because the scope waits for the meters.
        if let Some(source) = source {
            source.end();
        }
        ended.notify_one();
        for ended in joined {
            results.push(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        let watched = watching.map(|thread| {
            thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        (results, watched.unwrap_or_default())
    });
    let mut measurements = watched;
    for (series, result) in measurements.streams.iter_mut().zip(&results) {
        series.ended_s = result.ended_s;
    }
    let errors = results.iter_mut().map(|result| result.error.take());
    let error = errors.fold(None, worse);
    StreamsOutcome {
        results,
        measurements,
        error,
    }
}

fn stream(
    stop: &Stop,
    number: usize,
    gauge: &Arc<Gauge>,
    started: Instant,
    work: &(impl Fn(usize, &Arc<Gauge>, &mut StreamResult) -> Result<(), Error> + Sync),
) -> StreamResult {
    let mut result = StreamResult::default();
    gauge.is_mine();
    if let Err(error) = work(number, gauge, &mut result) {
        stop.ask(StopReason::Failed);
        result.error = Some(error);
    }
    result.meter.add(&gauge.meter());
    result.ended_s = started.elapsed().as_secs_f64();
    result
}

/// Asks all streams to stop if the thread that holds this panics, because they may wait for that thread.
pub struct StopOnPanic<'a>(pub &'a Stop);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.ask(StopReason::Failed);
        }
    }
}

/// Returns the error that names a cause. The error of a stream that was asked to stop names none.
pub fn worse(first: Option<Error>, second: Option<Error>) -> Option<Error> {
    match (first, second) {
        (Some(first), Some(second)) if is_consequence(&first) => Some(second),
        (Some(first), _) => Some(first),
        (None, second) => second,
    }
}

/// The error of a stream that stopped because another one had failed.
fn is_consequence(error: &Error) -> bool {
    matches!(
        error,
        Error::Interrupted | Error::Source(SourceError::FeedFailed { .. })
    )
}

#[cfg(test)]
mod tests {
    use inrush_source::{SeenSession, SessionSampler};

    use super::*;

    #[test]
    fn a_thread_that_falls_stops_the_others() {
        let stop = Stop::default();
        let fallen = std::thread::scope(|scope| {
            let falling = || {
                let _stop_on_panic = StopOnPanic(&stop);
                panic!("a bug");
            };
            let ended = || drop(StopOnPanic(&stop));
            scope.spawn(ended).join().expect("no panic");
            assert_eq!(stop.asked(), None);
            scope.spawn(falling).join()
        });
        assert!(fallen.is_err());
        assert_eq!(stop.asked(), Some(StopReason::Failed));
    }

    fn a_runtime() -> Runtime {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    }

    fn subjects(gauges: &[Arc<Gauge>]) -> Subjects<'_> {
        Subjects {
            gauges,
            flows: Vec::new(),
            feeds: Vec::new(),
            reads_database: false,
            samplers: Vec::new(),
            backends: None,
        }
    }

    /// A server that is never asked, because no stream reads from it.
    #[derive(Debug)]
    struct Idle(Arc<str>);

    impl SessionSampler for Idle {
        fn server(&self) -> &Arc<str> {
            &self.0
        }

        fn look(&self, _: &[i32]) -> Result<Vec<SeenSession>, SourceError> {
            Ok(Vec::new())
        }

        fn is_on_this_machine(&self, _: i32) -> bool {
            false
        }
    }

    #[test]
    fn a_panic_of_a_stream_ends_the_meters() {
        let runtime = a_runtime();
        let stop = Stop::default();
        let gauges = gauges(2);
        let subjects = Subjects {
            samplers: vec![Arc::new(Idle(Arc::from("a server")))],
            ..subjects(&gauges)
        };
        let run = std::panic::AssertUnwindSafe(|| {
            run(&runtime, &stop, subjects, |number, _, _| match number {
                1 => panic!("a bug"),
                _ => {
                    runtime.block_on(stop.wait());
                    Err(Error::Interrupted)
                }
            })
        });
        // `run` returns only when all meters have stopped.
        let panic = std::panic::catch_unwind(run).err().expect("a panic");
        assert_eq!(panic.downcast_ref(), Some(&"a bug"));
        assert_eq!(stop.asked(), Some(StopReason::Failed));
    }

    #[test]
    fn the_error_that_tells_the_cause_comes_back() {
        let runtime = a_runtime();
        let stop = Stop::default();
        let gauges = gauges(3);
        let subjects = subjects(&gauges);
        let ended = run(&runtime, &stop, subjects, |number, _, _| match number {
            2 => Err(Error::Header {
                file: "a".to_owned(),
                found: "b".to_owned(),
                expected: "c".to_owned(),
            }),
            _ => {
                runtime.block_on(stop.wait());
                Err(Error::Interrupted)
            }
        });
        assert!(matches!(ended.error, Some(Error::Header { .. })));
        assert_eq!(ended.results.len(), 3);
        assert_eq!(ended.measurements.streams.len(), 3);
        assert!(ended.measurements.steps > 0);
    }
}
