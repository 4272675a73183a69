//! Builds measurements for tests: each case gives the activities of its streams in shares of the time, and the observed
//! states of their backends and connections.
#![allow(dead_code, reason = "each test file uses some")]

use inrush_verdict::{
    Advice, BackendSamples, BackendSeries, BackendState, Cause, FeedSeries, MachineSeries,
    Measurements, Phase, ServerKind, SourceServerMeasurements, StoredUnits, StreamSeries,
    TableSeries, TcpSeries, Verdict,
};

pub const STEP_MS: u32 = 100;
const STEP_US: f64 = 100_000.0;

/// A series that is the same in each step.
pub fn steady(seconds: f64, share: f64) -> Vec<u32> {
    let steps = (seconds * 10.0).ceil() as usize;
    vec![(share * STEP_US) as u32; steps]
}

/// A run of this length on a machine of two cores, without other figures.
pub fn run(load_s: f64) -> Run {
    let steps = (load_s * 10.0).ceil() as usize;
    Run(Measurements {
        step_ms: STEP_MS,
        steps,
        load_s,
        machine: MachineSeries {
            cores: 2,
            cpu_us: steady(load_s, 0.5),
            cpu_stolen_us: vec![0; steps],
            loader_cpu_us: steady(load_s, 0.5),
            ..MachineSeries::default()
        },
        ..Measurements::default()
    })
}

pub struct Run(pub Measurements);

impl Run {
    pub fn stream(mut self, stream: Stream) -> Run {
        let number = self.0.streams.len() + 1;
        self.0.streams.push(stream.made(number, self.0.load_s));
        self
    }

    pub fn streams(mut self, count: usize, stream: &Stream) -> Run {
        for _ in 0..count {
            self = self.stream(stream.clone());
        }
        self
    }

    /// A server on the loader's machine.
    pub fn local(mut self) -> Run {
        self.0.server.get_or_insert_default().is_local = true;
        self
    }

    /// A server somewhere else.
    pub fn remote(mut self) -> Run {
        self.0.server.get_or_insert_default().is_local = false;
        self
    }

    /// A SQL Server somewhere else, whose files grew.
    pub fn sql_server(mut self, log_growth_bytes: u64) -> Run {
        let server = self.0.server.get_or_insert_default();
        server.kind = ServerKind::SqlServer;
        server.log_growth_bytes = Some(log_growth_bytes);
        self
    }

    /// WAL in bytes, and checkpoints because of it.
    pub fn wal(mut self, bytes: u64, checkpoints: u64) -> Run {
        let server = self.0.server.get_or_insert_default();
        server.wal_bytes = Some(bytes);
        server.checkpoints_requested = Some(checkpoints);
        self
    }

    /// The number of cores, and how many of them are busy in all, with the loader, and with the backends.
    pub fn cpu(mut self, cores: usize, all: f64, loader: f64, backends: Option<f64>) -> Run {
        let load_s = self.0.load_s;
        let machine = &mut self.0.machine;
        machine.cores = cores;
        machine.cpu_us = steady(load_s, all);
        machine.loader_cpu_us = steady(load_s, loader);
        machine.backends_cpu_us = backends.map(|cores| steady(load_s, cores));
        self
    }

    /// The busy share of the busiest disk, and the bytes that all disks read and wrote in a second.
    pub fn disk(mut self, busy: f64, read: f64, written: f64) -> Run {
        let steps = self.0.steps;
        let machine = &mut self.0.machine;
        machine.disk_busy_ms = vec![(busy * f64::from(STEP_MS)) as u32; steps];
        machine.disk_read_bytes = vec![(read / 10.0) as u64; steps];
        machine.disk_written_bytes = vec![(written / 10.0) as u64; steps];
        self
    }

    pub fn throttled(mut self, share: f64) -> Run {
        self.0.machine.cpu_throttled_us = Some(steady(self.0.load_s, share));
        self
    }

    pub fn stolen(mut self, cores: f64) -> Run {
        self.0.machine.cpu_stolen_us = steady(self.0.load_s, cores);
        self
    }

    /// Adds a flow; `rate` is the bytes of its files in a second.
    pub fn table(mut self, flow: &str, rate: f64) -> Run {
        self.0.tables.push(TableSeries {
            flow: flow.to_owned(),
            rows: vec![1_000; self.0.steps],
            stored_bytes: vec![(rate / 10.0) as u64; self.0.steps],
        });
        self
    }

    pub fn feed(mut self, file: &str, read: f64, decompress: f64, scan: f64) -> Run {
        let load_s = self.0.load_s;
        self.0.feeds.push(FeedSeries {
            file: file.to_owned(),
            read_us: steady(load_s, read),
            decompress_us: steady(load_s, decompress),
            scan_us: steady(load_s, scan),
        });
        self
    }

    /// Units that the destination stored by a way.
    pub fn stored(mut self, units: u64, way: &str, why_and_fix: Option<(&str, &str)>) -> Run {
        self.0.stored.push(StoredUnits {
            units,
            way: way.to_owned(),
            reason: why_and_fix.map(|(reason, _)| reason.to_owned()),
            fix: why_and_fix.map(|(_, fix)| fix.to_owned()),
        });
        self
    }

    /// Rows from a database; `round_trip_ms` is the round trip of the network to it.
    pub fn reads_database(mut self, is_local: bool, round_trip_ms: Option<f64>) -> Run {
        self.0.reads_database = true;
        self.0.source_server = Some(SourceServerMeasurements {
            is_local,
            is_over_network: round_trip_ms.is_some(),
            round_trip_us: round_trip_ms.map(|ms| (ms * 1e3) as u32),
            sample_ms: STEP_MS,
        });
        self
    }

    pub fn verdict(&self) -> Verdict {
        inrush_verdict::verdict(&self.0)
    }
}

/// A stream by the shares of its time.
#[derive(Clone, Default)]
pub struct Stream {
    phases: Vec<(Phase, f64)>,
    begins_s: f64,
    ends_s: Option<f64>,
    read_rate: f64,
    sent_rate: f64,
    cpu: Option<(f64, f64)>,
    samples: Vec<(Option<Phase>, BackendState, u32)>,
    events: Vec<(String, u32)>,
    blockers: Vec<String>,
    backend_cpu: Option<(f64, f64)>,
    source: Option<Source>,
    stopped: Option<u32>,
    disk_sleep: Option<u32>,
    tcp: Option<Tcp>,
}

/// The backends of the source's server from which a stream read.
#[derive(Clone, Default)]
pub struct Source {
    samples: Vec<(Option<Phase>, BackendState, u32)>,
    events: Vec<(String, u32)>,
    blockers: Vec<String>,
    cpu: Option<(f64, f64)>,
    stopped: Option<u32>,
}

/// A source's backend without samples.
pub fn source() -> Source {
    Source::default()
}

impl Source {
    /// Samples while the stream was in a phase.
    pub fn seen(mut self, phase: Phase, states: &[(BackendState, u32)]) -> Source {
        let seen = states.iter().map(|&(state, n)| (Some(phase), state, n));
        self.samples.extend(seen);
        self
    }

    pub fn event(mut self, name: &str, samples: u32) -> Source {
        self.events.push((name.to_owned(), samples));
        self
    }

    pub fn blocker(mut self, who: &str) -> Source {
        self.blockers.push(who.to_owned());
        self
    }

    /// Shares of the time in which it ran and waited for a CPU.
    pub fn cpu(mut self, ran: f64, waited: f64) -> Source {
        self.cpu = Some((ran, waited));
        self
    }

    pub fn stopped(mut self, samples: u32) -> Source {
        self.stopped = Some(samples);
        self
    }

    fn made(&self, by_step: impl Fn(f64) -> Vec<u32>) -> BackendSeries {
        let samples = self.samples.iter();
        BackendSeries {
            process_id: 5_200,
            samples: samples
                .map(|&(phase, state, samples)| BackendSamples {
                    phase,
                    state,
                    samples,
                })
                .collect(),
            events: self.events.clone(),
            blockers: self.blockers.clone(),
            cpu_us: self.cpu.map(|(ran, _)| by_step(ran * STEP_US)),
            cpu_wait_us: self.cpu.map(|(_, waited)| by_step(waited * STEP_US)),
            stopped_samples: self.stopped,
            disk_sleep_samples: None,
        }
    }
}

/// Phases and their shares.
pub fn stream(phases: &[(Phase, f64)]) -> Stream {
    Stream {
        phases: phases.to_vec(),
        read_rate: 50e6,
        sent_rate: 45e6,
        ..Stream::default()
    }
}

impl Stream {
    pub fn begins(mut self, begins_s: f64) -> Stream {
        self.begins_s = begins_s;
        self
    }

    pub fn ends(mut self, ends_s: f64) -> Stream {
        self.ends_s = Some(ends_s);
        self
    }

    pub fn reads(mut self, rate: f64) -> Stream {
        self.read_rate = rate;
        self.sent_rate = 0.9 * rate;
        self
    }

    pub fn cpu(mut self, ran: f64, waited: f64) -> Stream {
        self.cpu = Some((ran, waited));
        self
    }

    /// Samples of its backend while it was in a phase.
    pub fn seen(mut self, phase: Phase, states: &[(BackendState, u32)]) -> Stream {
        let seen = states.iter().map(|&(state, n)| (Some(phase), state, n));
        self.samples.extend(seen);
        self
    }

    /// Samples of its backend between phases.
    pub fn between(mut self, states: &[(BackendState, u32)]) -> Stream {
        let seen = states.iter().map(|&(state, n)| (None, state, n));
        self.samples.extend(seen);
        self
    }

    pub fn event(mut self, name: &str, samples: u32) -> Stream {
        self.events.push((name.to_owned(), samples));
        self
    }

    pub fn blocker(mut self, who: &str) -> Stream {
        self.blockers.push(who.to_owned());
        self
    }

    pub fn backend_cpu(mut self, ran: f64, waited: f64) -> Stream {
        self.backend_cpu = Some((ran, waited));
        self
    }

    /// The source's backend that sends its rows.
    pub fn source(mut self, source: Source) -> Stream {
        self.source = Some(source);
        self
    }

    pub fn stopped(mut self, samples: u32) -> Stream {
        self.stopped = Some(samples);
        self
    }

    pub fn disk_sleep(mut self, samples: u32) -> Stream {
        self.disk_sleep = Some(samples);
        self
    }

    pub fn tcp(mut self, tcp: Tcp) -> Stream {
        self.tcp = Some(tcp);
        self
    }

    fn made(self, number: usize, load_s: f64) -> StreamSeries {
        let ended_s = self.ends_s.unwrap_or(load_s);
        let steps = (load_s * 10.0).ceil() as usize;
        let begins = (self.begins_s * 10.0) as usize;
        let ends = (ended_s * 10.0).ceil() as usize;
        let is_there = |step: usize| (begins..ends).contains(&step);
        let by_step = |per_step: f64| -> Vec<u32> {
            (0..steps)
                .map(|step| if is_there(step) { per_step as u32 } else { 0 })
                .collect()
        };
        let wide = |per_step: f64| by_step(per_step).into_iter().map(u64::from).collect();
        let has_backend = !self.samples.is_empty() || self.backend_cpu.is_some();
        StreamSeries {
            stream: number,
            ended_s,
            phases_us: self
                .phases
                .iter()
                .map(|&(phase, share)| (phase, by_step(share * STEP_US)))
                .collect(),
            rows: by_step(1_000.0 * f64::from(u8::from(!self.phases.is_empty()))),
            text_bytes: wide(self.read_rate / 10.0),
            sent_bytes: wide(self.sent_rate / 10.0),
            cpu_us: self.cpu.map(|(ran, _)| by_step(ran * STEP_US)),
            cpu_wait_us: self.cpu.map(|(_, waited)| by_step(waited * STEP_US)),
            backend: has_backend.then(|| BackendSeries {
                process_id: 4_200 + number as i32,
                samples: self
                    .samples
                    .iter()
                    .map(|&(phase, state, samples)| BackendSamples {
                        phase,
                        state,
                        samples,
                    })
                    .collect(),
                events: self.events.clone(),
                blockers: self.blockers.clone(),
                cpu_us: self.backend_cpu.map(|(ran, _)| by_step(ran * STEP_US)),
                cpu_wait_us: self.backend_cpu.map(|(_, w)| by_step(w * STEP_US)),
                stopped_samples: self.stopped,
                disk_sleep_samples: self.disk_sleep,
            }),
            source_backend: self.source.map(|source| source.made(by_step)),
            tcp: self.tcp.map(|tcp| TcpSeries {
                busy_us: by_step(tcp.busy * STEP_US),
                receiver_limited_us: by_step(tcp.receiver * STEP_US),
                send_buffer_limited_us: by_step(tcp.send_buffer * STEP_US),
                segments_sent_again: by_step(tcp.segments * tcp.loss),
                segments_sent: by_step(tcp.segments),
                round_trip_us: by_step(tcp.round_trip_ms * 1e3),
                round_trip_min_us: (tcp.round_trip_min_ms * 1e3) as u32,
                congestion_window_bytes: by_step(tcp.window),
                delivery_rate: wide(self.sent_rate * tcp.bursts),
                is_loopback: tcp.is_loopback,
            }),
        }
    }
}

/// A connection, in shares of the time and figures of each step.
#[derive(Clone, Copy)]
pub struct Tcp {
    pub busy: f64,
    pub receiver: f64,
    pub send_buffer: f64,
    pub segments: f64,
    pub loss: f64,
    pub round_trip_ms: f64,
    pub round_trip_min_ms: f64,
    pub window: f64,
    /// The factor by which bytes arrive, at times, faster than they are sent on average.
    pub bursts: f64,
    pub is_loopback: bool,
}

/// A healthy connection in a rack, faster than its receiver.
pub const RACK: Tcp = Tcp {
    busy: 0.9,
    receiver: 0.8,
    send_buffer: 0.0,
    segments: 3_000.0,
    loss: 0.0,
    round_trip_ms: 0.3,
    round_trip_min_ms: 0.1,
    window: 900_000.0,
    bursts: 1.0,
    is_loopback: false,
};

/// The seconds of a cause in all streams.
pub fn seconds(verdict: &Verdict, cause: Cause) -> f64 {
    let found = verdict.causes.iter().find(|share| share.cause == cause);
    found.map_or(0.0, |share| share.seconds)
}

/// The share of a cause.
pub fn share(verdict: &Verdict, cause: Cause) -> f64 {
    let found = verdict.causes.iter().find(|share| share.cause == cause);
    found.map_or(0.0, |share| share.share)
}

/// Fails unless that cause comes first, and the evidence distinguishes it.
#[track_caller]
pub fn expect(run: &Run, cause: Cause) -> Verdict {
    let verdict = run.verdict();
    assert_eq!(verdict.causes[0].cause, cause, "{verdict:#?}");
    assert!(verdict.is_decided, "{verdict:#?}");
    verdict
}

/// The advice for the first cause.
#[track_caller]
pub fn advice(verdict: &Verdict) -> &Advice {
    verdict.advice.as_ref().expect("something helps")
}
