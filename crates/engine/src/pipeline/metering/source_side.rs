//! Samples the sessions from which the streams read, on the source's servers, ten times a second. A source's calls may block,
//! so this has a thread of its own, which ends with the streams. Its results are part of the measurements.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use inrush_plan::load_flow::LoadFlow;
use inrush_source::{ReadingSession, SessionSampler};
use inrush_system::process;
use inrush_verdict::{BackendSeries, BackendTally, SourceServerMeasurements};

use super::INTERVAL;
use crate::gauge::Gauge;

/// A longer round trip means a network, whatever the address is: a proxy or a tunnel may begin on this machine.
const NETWORK_ROUND_TRIP_US: u32 = 1_000;

/// The samplers of a plan's sources, one for each server.
pub fn samplers(flows: &[Arc<LoadFlow>]) -> Vec<Arc<dyn SessionSampler>> {
    let mut found: Vec<Arc<dyn SessionSampler>> = Vec::new();
    for sampler in flows
        .iter()
        .filter_map(|flow| flow.reading.source.sampler())
    {
        if !found.iter().any(|known| known.server() == sampler.server()) {
            found.push(sampler);
        }
    }
    found
}

/// The sessions from which the streams read.
pub struct SourceSide<'a> {
    gauges: &'a [Arc<Gauge>],
    samplers: Vec<Arc<dyn SessionSampler>>,
    /// One for each stream.
    streams: Vec<Mutex<StreamSide>>,
    is_over: Mutex<bool>,
    over: Condvar,
    /// Microseconds of CPU that sampling took in this process.
    cost_us: AtomicU64,
}

/// The figures of the sessions from which one stream reads.
#[derive(Default)]
struct StreamSide {
    tally: BackendTally,
    current: Option<Followed>,
    /// The last session.
    process_id: i32,
    is_local: bool,
    is_over_network: bool,
    round_trip_us: Option<u32>,
    /// Microseconds for which the sessions of the stream ran on a CPU, and for which they waited for one, while they
    /// read for it.
    cpu_us: (u64, u64),
}

/// The session that reads for a stream now.
struct Followed {
    session: ReadingSession,
    /// The process's CPU figures when they were last added; `None` if it is on another machine.
    counted: Option<(u64, u64)>,
}

impl<'a> SourceSide<'a> {
    /// A sampler for the streams of these gauges; `None` if no server can be asked.
    pub fn new(
        gauges: &'a [Arc<Gauge>],
        samplers: Vec<Arc<dyn SessionSampler>>,
    ) -> Option<SourceSide<'a>> {
        (!samplers.is_empty()).then(|| SourceSide {
            gauges,
            samplers,
            streams: gauges.iter().map(|_| Mutex::default()).collect(),
            is_over: Mutex::default(),
            over: Condvar::new(),
            cost_us: AtomicU64::new(0),
        })
    }

    /// Samples until [`end`](SourceSide::end). A server that fails to answer is not asked again.
    pub fn sample(&self) {
        let mut samplers: Vec<_> = self.samplers.iter().collect();
        let begun = Instant::now();
        let mut intervals = 1;
        while !samplers.is_empty() && !self.is_over_at(begun + INTERVAL * intervals) {
            samplers.retain(|sampler| self.look(&***sampler));
            let own = process::thread_cpu_us(process::thread_id());
            self.cost_us
                .store(own.map_or(0, |(ran, _)| ran), Ordering::Relaxed);
            // If an answer takes longer than an interval, the next sample is that of the next whole interval.
            let passed = begun.elapsed().as_secs_f64() / INTERVAL.as_secs_f64();
            intervals = passed as u32 + 1;
        }
    }

    /// Ends the sampling.
    pub fn end(&self) {
        *lock(&self.is_over) = true;
        self.over.notify_all();
    }

    /// Microseconds of CPU that sampling took so far.
    pub fn cost_us(&self) -> u64 {
        self.cost_us.load(Ordering::Relaxed)
    }

    /// Waits until this moment, or until sampling ends; true if it has ended.
    fn is_over_at(&self, moment: Instant) -> bool {
        let mut is_over = lock(&self.is_over);
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if *is_over || left == Duration::ZERO {
                return *is_over;
            }
            let waited = self.over.wait_timeout(is_over, left);
            is_over = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Samples the sessions of one server; false if it did not answer.
    fn look(&self, sampler: &dyn SessionSampler) -> bool {
        let process_ids: Vec<i32> = self
            .gauges
            .iter()
            .filter_map(|gauge| gauge.reading_session())
            .filter(|session| session.server == *sampler.server())
            .map(|session| session.process_id)
            .collect();
        if process_ids.is_empty() {
            return true;
        }
        let Ok(seen) = sampler.look(&process_ids) else {
            return false;
        };
        for (gauge, side) in self.gauges.iter().zip(&self.streams) {
            // A session may read for another stream now.
            let Some(session) = gauge.reading_session() else {
                continue;
            };
            let mut found = seen.iter();
            let found = found.find(|one| one.process_id == session.process_id);
            let (Some(found), true) = (found, session.server == *sampler.server()) else {
                continue;
            };
            let phase = gauge.doing();
            let mut side = lock(side);
            side.follow(Some(session), &self.samplers);
            side.tally.add(phase, found.state, found.event.clone());
            if side.is_local {
                side.tally
                    .add_process_state(process::state(found.process_id));
            }
            for blocker in &found.blockers {
                side.tally.add_blocker(blocker.clone());
            }
        }
        true
    }

    /// Microseconds that the sessions of a stream ran on a CPU so far, and waited for one; `None` if none was on this machine.
    pub fn cpu_us(&self, stream: usize) -> Option<(u64, u64)> {
        let session = self.gauges[stream].reading_session();
        let mut side = lock(&self.streams[stream]);
        side.follow(session, &self.samplers);
        side.count();
        side.is_local.then_some(side.cpu_us)
    }

    /// The samples of a stream's sessions; `None` if there is none.
    pub fn series(&self, stream: usize) -> Option<BackendSeries> {
        let side = lock(&self.streams[stream]);
        side.tally.series(side.process_id, side.is_local)
    }

    /// The facts about the servers; `None` if no session was sampled.
    pub fn server(&self) -> Option<SourceServerMeasurements> {
        let mut server: Option<SourceServerMeasurements> = None;
        for side in &self.streams {
            let side = lock(side);
            if side.process_id == 0 {
                continue;
            }
            let server = server.get_or_insert_default();
            server.is_local |= side.is_local;
            server.is_over_network |= side.is_over_network;
            server.round_trip_us = server.round_trip_us.max(side.round_trip_us);
            server.sample_ms = INTERVAL.as_millis() as u32;
        }
        server
    }
}

impl StreamSide {
    /// Notes which session reads for the stream now.
    fn follow(&mut self, session: Option<ReadingSession>, samplers: &[Arc<dyn SessionSampler>]) {
        let current = self.current.as_ref().map(|current| &current.session);
        let is_same = match (current, &session) {
            (Some(before), Some(now)) => {
                before.process_id == now.process_id && before.server == now.server
            }
            (None, None) => true,
            _ => false,
        };
        if is_same {
            return;
        }
        self.count();
        self.current = session.map(|session| {
            let mut of_server = samplers.iter();
            let sampler = of_server.find(|sampler| *sampler.server() == session.server);
            let is_here =
                sampler.is_some_and(|sampler| sampler.is_on_this_machine(session.process_id));
            let is_local = !session.is_remote && is_here;
            self.process_id = session.process_id;
            self.is_local |= is_local;
            let is_far = |us: u32| us >= NETWORK_ROUND_TRIP_US;
            self.is_over_network |= session.is_remote || session.round_trip_us.is_some_and(is_far);
            self.round_trip_us = self.round_trip_us.max(session.round_trip_us);
            Followed {
                counted: is_local
                    .then(|| process::cpu_us(session.process_id))
                    .flatten(),
                session,
            }
        });
    }

    /// Adds the CPU time of the present session since the last call.
    fn count(&mut self) {
        let Some(current) = &mut self.current else {
            return;
        };
        let (Some(before), Some(now)) =
            (current.counted, process::cpu_us(current.session.process_id))
        else {
            return;
        };
        self.cpu_us.0 += now.0.saturating_sub(before.0);
        self.cpu_us.1 += now.1.saturating_sub(before.1);
        current.counted = Some(now);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use inrush_source::{SeenSession, SourceError};
    use inrush_verdict::{BackendState, Phase};

    /// A server whose sessions are processes of this machine, and read all the time.
    #[derive(Debug)]
    struct Server {
        name: Arc<str>,
        answers: bool,
        looks: AtomicU64,
    }

    impl Server {
        fn new(name: &str, answers: bool) -> Arc<Server> {
            Arc::new(Server {
                name: Arc::from(name),
                answers,
                looks: AtomicU64::new(0),
            })
        }

        fn session(&self, process_id: i32, is_remote: bool) -> ReadingSession {
            ReadingSession {
                server: Arc::clone(&self.name),
                process_id,
                is_remote,
                round_trip_us: is_remote.then_some(300),
            }
        }
    }

    impl SessionSampler for Server {
        fn server(&self) -> &Arc<str> {
            &self.name
        }

        fn look(&self, process_ids: &[i32]) -> Result<Vec<SeenSession>, SourceError> {
            self.looks.fetch_add(1, Ordering::Relaxed);
            if !self.answers {
                return Err(SourceError::Stopped {
                    path: "rows".into(),
                });
            }
            let seen = process_ids.iter().map(|&process_id| SeenSession {
                process_id,
                state: BackendState::DataFile,
                event: Some("IO:DataFileRead".to_owned()),
                blockers: vec!["psql".to_owned()],
            });
            Ok(seen.collect())
        }

        fn is_on_this_machine(&self, _: i32) -> bool {
            true
        }
    }

    fn own_process() -> i32 {
        i32::try_from(std::process::id()).expect("a process's number")
    }

    #[test]
    fn each_stream_gets_the_samples_of_its_session() {
        let (near, far) = (Server::new("near", true), Server::new("far", true));
        let gauges: Vec<Arc<Gauge>> = (0..3).map(|_| Arc::default()).collect();
        // Processes of two servers may have the same number.
        gauges[0].reads_from(Some(near.session(own_process(), false)));
        gauges[1].reads_from(Some(far.session(own_process(), true)));
        let samplers: Vec<Arc<dyn SessionSampler>> = vec![near.clone(), far];
        let side = SourceSide::new(&gauges, samplers).expect("samplers");
        let reading = gauges[0].enter(Phase::Read);
        for sampler in &side.samplers {
            assert!(side.look(&**sampler));
        }
        drop(reading);
        let first = side.series(0).expect("samples");
        assert_eq!(first.process_id, own_process());
        assert_eq!(first.samples.len(), 1);
        assert_eq!(first.samples[0].phase, Some(Phase::Read));
        assert_eq!(first.samples[0].state, BackendState::DataFile);
        assert_eq!(first.blockers, ["psql"]);
        assert!(first.stopped_samples.is_some());
        let second = side.series(1).expect("samples");
        assert_eq!(second.samples[0].phase, None);
        assert_eq!(second.stopped_samples, None);
        assert_eq!(side.series(2), None);
        assert!(side.cpu_us(0).is_some());
        assert_eq!(side.cpu_us(1), None);
        let server = side.server().expect("a server");
        assert!(server.is_local && server.is_over_network);
        assert_eq!(server.round_trip_us, Some(300));
        // Nothing is asked once no stream reads.
        gauges[0].reads_from(None);
        assert!(side.look(&*near));
        assert_eq!(near.looks.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_server_that_does_not_answer_is_asked_once() {
        let deaf = Server::new("deaf", false);
        let gauges: Vec<Arc<Gauge>> = vec![Arc::default()];
        gauges[0].reads_from(Some(deaf.session(own_process(), false)));
        let side = SourceSide::new(&gauges, vec![deaf.clone()]).expect("a sampler");
        // Ends by itself.
        side.sample();
        assert_eq!(deaf.looks.load(Ordering::Relaxed), 1);
        assert_eq!(side.series(0), None);
    }

    #[test]
    fn sampling_ends_when_it_is_asked_to() {
        let near = Server::new("near", true);
        let gauges: Vec<Arc<Gauge>> = vec![Arc::default()];
        let side = SourceSide::new(&gauges, vec![near]).expect("a sampler");
        std::thread::scope(|scope| {
            scope.spawn(|| side.sample());
            side.end();
        });
        assert!(SourceSide::new(&gauges, Vec::new()).is_none());
    }
}
