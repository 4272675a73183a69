//! Divides a stream's waits for the destination by their cause.
//!
//! A stream that waits for a block to be taken, and a backend that waits for bytes, may both wait for the connection
//! between them, or may take turns. Their samples are taken a moment apart, and a block is sent within milliseconds. So
//! by chance some pairs of samples show both waiting although they never waited at the same time. Arithmetic gives
//! bounds. Let W be the seconds that the stream waits, A the seconds that it works, and C the seconds that the backend
//! waits for us. Then both wait for at least C - A seconds, and for at most the smaller of W and C. If the connection
//! cannot hold data back, only the lower bound counts, plus the common waits that are seen more often than by chance.
//! If it is a network, the time with data in flight counts, within both bounds.
//!
//! The usual rule gives the same result: the step that is never idle is the limit, so a backend that hardly ever waits
//! is the limit, whatever the figures of the network.

use crate::backend_time::{BackendTime, Process, awake_s, share_of_workers};
use crate::measurements::{BackendState, Measurements, Phase, StreamSeries};
use crate::network::Link;
use crate::parts::{ByPart, CAUSES, Part};
use crate::samples::{Group, Joint, States};
use crate::timeline::{SERVER_WAITS, Timeline, seconds_of};

/// A smaller share of pairs that show both waiting may be chance, because their samples are taken a moment apart.
pub(crate) const PAIRS_CHANCE: f64 = 0.1;
/// From this share on the pairs are real, if the connection has data in flight.
pub(crate) const PAIRS_SURE: f64 = 0.3;
/// If busy backends write WAL for this share of the time, locks inside the server are attributed to it.
const WAL_MOST: f64 = 0.5;
/// A disk that is busy for this share of a step is full.
const DISK_FULL: f64 = 0.95;

/// The causes of one stream's waits, in shares that add up to 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Waits {
    /// The part while the stream waited until a block was taken.
    pub send: ByPart,
    /// The part while it waited for other work of the server.
    pub server: ByPart,
    /// The part while it slept between its phases.
    pub asleep: ByPart,
    /// The variance of each cause, in square seconds, because of sampling.
    pub variance: [f64; CAUSES.len()],
    /// Seconds that the backend was busy, as far as known: the stream cannot be faster.
    pub backend_busy_s: f64,
}

/// The data for judging waits.
pub(crate) struct Witness<'a> {
    /// The run.
    pub measurements: &'a Measurements,
    /// Samples of all its backends.
    pub pooled: Joint,
    /// All its connections combined.
    pub network: Option<Link>,
}

impl Waits {
    /// The waits of one stream.
    pub(crate) fn of(
        series: &StreamSeries,
        timeline: &Timeline,
        link: Option<&Link>,
        witness: &Witness,
    ) -> Waits {
        let own = series.backend.as_ref().map(Joint::of).unwrap_or_default();
        let during = |group| States::during(group, &own, &witness.pooled);
        let judge = Judge {
            series,
            timeline,
            link,
            witness,
            send_s: timeline.in_phase(Phase::SendWait),
            server_s: timeline.server_waits_s(),
            work_s: timeline.working_s(),
        };
        let seen = [Group::Send, Group::Server, Group::Work].map(during);
        let backend_series = series.backend.as_ref();
        let groups = judge.groups(seen);
        let less_cpu = BackendTime::of(backend_series, &own, &groups).cpu_too_much();
        let [send, server, seen_working] =
            seen.map(|states| states.map(|states| states.with_less_cpu(less_cpu)));
        let work = seen_working.or(send);
        let groups = judge.groups([send, server, work]);
        let waits_s = judge.send_s + judge.server_s;
        let backend = BackendTime::of(backend_series, &own, &groups).process(waits_s);
        let known = judge.groups([send, server, seen_working]);
        let known = BackendTime::of(backend_series, &own, &known);

        let mut waits = Waits {
            send: judge.unsampled(),
            server: judge.unsampled(),
            asleep: judge.asleep(&own, &backend),
            variance: [0.0; CAUSES.len()],
            backend_busy_s: known.busy_s(judge.known_backend_cpu_s()),
        };
        if let (Some(send), Some(work)) = (send, work) {
            let both_s = judge.both_wait_s(&send, &work);
            waits.send = judge.sends(&send, &backend, both_s);
            waits.note_variance(&waits.send.clone(), judge.send_s, send.samples);
        }
        if let Some(server) = server {
            waits.server = judge.other_work(&server, &backend);
            waits.note_variance(&waits.server.clone(), judge.server_s, server.samples);
        }
        waits
    }

    fn note_variance(&mut self, shares: &ByPart, seconds: f64, samples: f64) {
        for (variance, cause) in self.variance.iter_mut().zip(CAUSES) {
            let share = shares.of_cause(cause).clamp(0.0, 1.0);
            *variance += seconds * seconds * share * (1.0 - share) / samples.max(1.0);
        }
    }
}

struct Judge<'a> {
    series: &'a StreamSeries,
    timeline: &'a Timeline,
    link: Option<&'a Link>,
    witness: &'a Witness<'a>,
    send_s: f64,
    server_s: f64,
    work_s: f64,
}

impl Judge<'_> {
    /// States during each activity of the stream, with its seconds.
    fn groups(&self, states: [Option<States>; 3]) -> [(Option<States>, f64); 3] {
        let [send, server, work] = states;
        [
            (send, self.send_s),
            (server, self.server_s),
            (work, self.work_s),
        ]
    }

    /// Seconds that stream and backend waited for each other.
    fn both_wait_s(&self, send: &States, work: &States) -> f64 {
        let backend_s = self.work_s * work.waits_for_us() + self.send_s * send.waits_for_us();
        let least_s = (backend_s - self.work_s).max(0.0);
        let most_s = self.send_s.min(backend_s);
        let seen = send.waits_for_us();
        let likely_s = match self.link {
            None => self.send_s * (seen - work.waits_for_us()),
            Some(link) => {
                let sure = (seen - PAIRS_CHANCE) / (PAIRS_SURE - PAIRS_CHANCE);
                let seen_s = self.send_s * seen * sure.clamp(0.0, 1.0);
                if link.is_a_network() {
                    seen_s.max(link.open_s)
                } else {
                    seen_s
                }
            }
        };
        likely_s.max(least_s).min(most_s)
    }

    /// The causes of waits for a block to be taken.
    fn sends(&self, states: &States, process: &Process, both_s: f64) -> ByPart {
        let mut shares = self.of_backend(states, process);
        let both = if self.send_s > 0.0 {
            (both_s / self.send_s).min(1.0)
        } else {
            0.0
        };
        shares = shares.scaled_to(1.0 - both);
        let between = both + (1.0 - both - shares.total()).max(0.0);
        self.add_between(&mut shares, between);
        self.with_stopped(shares, process)
    }

    /// Divides the time that neither the stream nor the backend explains. The network gets the time with data in
    /// flight. For an address of this machine, only a shut window while the backend waits counts: something between the
    /// two ends has received the bytes and does not forward them.
    fn add_between(&self, shares: &mut ByPart, between: f64) {
        let Some(link) = self.link else {
            shares.add(Part::HandOver, between);
            return;
        };
        let under_way_s = if link.is_a_network() {
            link.busy_s
        } else {
            link.shut_s
        };
        let network = if self.send_s > 0.0 {
            between.min(under_way_s / self.send_s)
        } else {
            0.0
        };
        shares.add(self.limit(link), network);
        shares.add(Part::HandOver, between - network);
    }

    /// What limits a connection; a connection that sent little is judged by all connections combined.
    fn limit(&self, link: &Link) -> Part {
        let own = link.limit();
        match &self.witness.network {
            Some(all) if own != Part::Loss && all.is_lossy() && !link.has_queue() => Part::Loss,
            _ => own,
        }
    }

    /// The causes of waits for other work of the server.
    fn other_work(&self, states: &States, process: &Process) -> ByPart {
        let idle = states.waits_for_us();
        let mut shares = self.of_backend(states, process).scaled_to(1.0 - idle);
        // If only these states were seen, nothing can be scaled.
        let idle = idle + (1.0 - idle - shares.total()).max(0.0);
        let travels = self
            .link
            .is_some_and(|link| !link.is_loopback || link.is_long());
        shares.add(
            if travels {
                Part::RoundTrips
            } else {
                Part::HandOver
            },
            idle,
        );
        self.with_stopped(shares, process)
    }

    /// The cause of a sleep between two phases of a stream: its backend if the backend was busy; an answer in transit
    /// if answers take long; otherwise other streams.
    fn asleep(&self, own: &Joint, process: &Process) -> ByPart {
        let asleep_s: f64 = self.timeline.steps.iter().map(|step| step.idle_s).sum();
        let mut shares = ByPart::default();
        let mut left = 1.0;
        if let Some(states) = States::busy_between(own) {
            let seen_s = states.samples / own.all.max(1.0) * self.timeline.ended_s;
            let busy = if asleep_s > 0.0 {
                (seen_s / asleep_s).min(1.0)
            } else {
                1.0
            };
            shares = self.of_backend(&states, process).scaled_to(busy);
            left -= busy;
        }
        let is_long = self.link.is_some_and(Link::is_long);
        let part = if is_long {
            Part::RoundTrips
        } else {
            Part::Idle
        };
        shares.add(part, left);
        shares.scaled_to(1.0)
    }

    /// The work of the backend while it did not wait for us.
    fn of_backend(&self, states: &States, process: &Process) -> ByPart {
        let mut shares = ByPart::default();
        let cpu = states.share(BackendState::Cpu);
        shares.add(Part::Compute, cpu * (1.0 - process.cpu_at_disk));
        shares.add(Part::DataFile, cpu * process.cpu_at_disk);
        for (state, part) in [
            (BackendState::Wal, Part::Wal),
            (BackendState::DataFile, Part::DataFile),
        ] {
            let share = states.share(state);
            shares.add(part, share * (1.0 - process.disk_on_cpu));
            shares.add(Part::Compute, share * process.disk_on_cpu);
        }
        shares.add(Part::Lock, states.share(BackendState::Lock));
        // A backend that changes a page writes its WAL under the page's lock. So if most holders of locks write WAL, a
        // backend that waits for them waits for the WAL.
        let internal = states.share(BackendState::Internal);
        let wal = self.witness.pooled.wal_of_busy();
        let wal = if wal >= WAL_MOST { wal } else { 0.0 };
        shares.add(Part::Internal, internal * (1.0 - wal));
        shares.add(Part::Wal, internal * wal);
        // Waits for parallel workers count as computing, because the workers compute.
        let other = states.share(BackendState::Other);
        let workers = share_of_workers(self.series.backend.as_ref());
        shares.add(Part::Compute, other * workers);
        shares.add(Part::OtherWait, other * (1.0 - workers));
        shares
    }

    fn with_stopped(&self, shares: ByPart, process: &Process) -> ByPart {
        let mut shares = shares.scaled_to(1.0 - process.stopped);
        shares.add(Part::Stopped, process.stopped);
        shares.scaled_to(1.0)
    }

    /// The causes of waits without samples of a backend: only the causes that follow from other figures. If the
    /// destination used more CPU than the stream worked, it must have used it while the stream waited. If a disk is
    /// full while the stream waits, the stream waits for it. The same holds for a network with data in flight, if
    /// nothing shows that the receiver is slow.
    fn unsampled(&self) -> ByPart {
        let waits_s = self.send_s + self.server_s;
        let mut shares = ByPart::default();
        if waits_s <= 0.0 {
            shares.add(Part::Unsampled, 1.0);
            return shares;
        }
        let cpu_s = self.known_backend_cpu_s().unwrap_or(0.0);
        let compute = ((cpu_s - self.work_s) / waits_s).clamp(0.0, 1.0);
        shares.add(Part::Compute, compute);
        let mut left = 1.0 - compute;
        if let Some(link) = self.link.filter(|link| link.is_a_network()) {
            let network = left.min(link.open_s / waits_s);
            shares.add(self.limit(link), network);
            left -= network;
        } else {
            let disk = left.min(self.disk_full_s() / waits_s);
            shares.add(Part::DataFile, disk);
            left -= disk;
        }
        shares.add(Part::Unsampled, left.max(0.0));
        shares.scaled_to(1.0)
    }

    /// CPU seconds that the destination spent on this stream, if known: the CPU seconds of its backend; otherwise an
    /// equal share of the CPU seconds of all backends, or of the loader's other threads if the destination is part of
    /// the loader.
    fn known_backend_cpu_s(&self) -> Option<f64> {
        let backend = self.series.backend.as_ref();
        if let Some(seconds) = backend.and_then(awake_s) {
            return Some(seconds);
        }
        let measurements = self.witness.measurements;
        let streams = measurements.streams.len().max(1) as f64;
        if let Some(backends) = &measurements.machine.backends_cpu_us {
            return Some(seconds_of(backends) / streams);
        }
        if measurements.server.is_some() || self.link.is_some() || backend.is_some() {
            return None;
        }
        let threads_s: Option<f64> = measurements
            .streams
            .iter()
            .map(|stream| stream.cpu_us.as_deref().map(seconds_of))
            .sum();
        let process_s = seconds_of(&measurements.machine.loader_cpu_us);
        threads_s.map(|threads_s| (process_s - threads_s).max(0.0) / streams)
    }

    /// Seconds that the stream waited while a disk of this machine was full and written to.
    fn disk_full_s(&self) -> f64 {
        let machine = &self.witness.measurements.machine;
        let steps = self.timeline.steps.iter().enumerate();
        steps
            .filter(|(index, step)| {
                let busy_ms = machine.disk_busy_ms.get(*index).copied().unwrap_or(0);
                let written = machine.disk_written_bytes.get(*index).copied().unwrap_or(0);
                written > 0 && f64::from(busy_ms) / 1e3 >= DISK_FULL * step.length_s
            })
            .map(|(_, step)| {
                let server_s = SERVER_WAITS.iter().map(|&phase| step.in_phase(phase));
                step.in_phase(Phase::SendWait) + server_s.sum::<f64>()
            })
            .sum()
    }
}
