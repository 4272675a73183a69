//! The figures that are sampled, and the series that they become.

use std::collections::BTreeMap;

use inrush_system::process::thread_cpu_us;
use inrush_verdict::{
    FeedSeries, MachineSeries, Measurements, PHASES, Phase, ServerMeasurements, StreamSeries,
    TableSeries, TcpSeries,
};

use super::machine_figures::MachineColumns;
use super::source_side::SourceSide;
use super::steps::{Figure, FigureKind, Look, Steps};
use super::{INTERVAL, Subjects};
use crate::gauge::Gauge;
use crate::meter::Meter;

/// The columns of all figures.
pub struct Columns {
    streams: Vec<StreamColumns>,
    feeds: Vec<[Figure; 3]>,
    flows: Vec<[Figure; 2]>,
    machine: MachineColumns,
}

struct StreamColumns {
    phases: [Figure; PHASES.len()],
    rows: Figure,
    text_bytes: Figure,
    sent_bytes: Figure,
    cpu: Figure,
    cpu_wait: Figure,
    backend_cpu: Figure,
    backend_cpu_wait: Figure,
    source_cpu: Figure,
    source_cpu_wait: Figure,
    tcp: TcpColumns,
}

struct TcpColumns {
    busy: Figure,
    receiver_limited: Figure,
    send_buffer_limited: Figure,
    sent_again: Figure,
    sent: Figure,
    round_trip: Figure,
    round_trip_min: Figure,
    window: Figure,
    rate: Figure,
}

impl Columns {
    /// Adds columns for all figures.
    pub fn new(subjects: &Subjects<'_>, steps: &mut Steps) -> Columns {
        Columns {
            streams: subjects
                .gauges
                .iter()
                .map(|_| StreamColumns::new(steps))
                .collect(),
            feeds: subjects
                .feeds
                .iter()
                .map(|_| std::array::from_fn(|_| steps.column(FigureKind::Sum)))
                .collect(),
            flows: subjects
                .flows
                .iter()
                .map(|_| std::array::from_fn(|_| steps.column(FigureKind::Sum)))
                .collect(),
            machine: MachineColumns::new(steps),
        }
    }

    /// Samples all figures that need no waiting.
    pub fn read(
        &mut self,
        subjects: &Subjects<'_>,
        source: Option<&SourceSide<'_>>,
        look: &mut Look,
    ) {
        for (index, (columns, gauge)) in self.streams.iter().zip(subjects.gauges).enumerate() {
            columns.read(gauge, look);
            let backends = subjects.backends.as_ref();
            let backend = backends.and_then(|backends| backends.cpu_us(index));
            look.set_if(columns.backend_cpu, backend.map(|(ran, _)| ran));
            look.set_if(columns.backend_cpu_wait, backend.map(|(_, waited)| waited));
            let session = source.and_then(|source| source.cpu_us(index));
            look.set_if(columns.source_cpu, session.map(|(ran, _)| ran));
            look.set_if(columns.source_cpu_wait, session.map(|(_, waited)| waited));
        }
        for (columns, (_, feed)) in self.feeds.iter().zip(&subjects.feeds) {
            let cost = feed.cost().unwrap_or_default();
            for (column, spent_ns) in
                columns
                    .iter()
                    .zip([cost.read_ns, cost.decompress_ns, cost.scan_ns])
            {
                look.set(*column, spent_ns / 1_000);
            }
        }
        for (columns, (_, count)) in self.flows.iter().zip(&subjects.flows) {
            let (rows, stored_bytes) = count.read();
            look.set(columns[0], rows);
            look.set(columns[1], stored_bytes);
        }
        self.machine.read(look);
    }

    /// The series of all figures.
    pub fn measurements(
        &self,
        steps: &Steps,
        subjects: &Subjects<'_>,
        source: Option<&SourceSide<'_>>,
        load_s: f64,
        server: Option<ServerMeasurements>,
    ) -> Measurements {
        let backends = subjects.backends.as_ref();
        let streams: Vec<StreamSeries> = self
            .streams
            .iter()
            .enumerate()
            .map(|(index, columns)| {
                let mut series = columns.series(index + 1, steps);
                if let Some(mut backend) = backends.and_then(|backends| backends.series(index)) {
                    backend.cpu_us = steps.series(columns.backend_cpu).map(narrow);
                    backend.cpu_wait_us = steps.series(columns.backend_cpu_wait).map(narrow);
                    series.backend = Some(backend);
                }
                if let Some(mut backend) = source.and_then(|source| source.series(index)) {
                    backend.cpu_us = steps.series(columns.source_cpu).map(narrow);
                    backend.cpu_wait_us = steps.series(columns.source_cpu_wait).map(narrow);
                    series.source_backend = Some(backend);
                }
                series.tcp = subjects.gauges[index]
                    .tcp()
                    .and_then(|tcp| columns.tcp.series(steps, tcp.is_loopback()));
                series
            })
            .collect();
        let backends_cpu_us = backends
            .is_some_and(|backends| backends.is_local())
            .then(|| {
                let of_streams = streams.iter().filter_map(|stream| {
                    let backend = stream.backend.as_ref()?;
                    backend.cpu_us.as_deref()
                });
                sum(of_streams, steps.count())
            });
        let step_ms = INTERVAL.as_millis() as u32;
        Measurements {
            step_ms: step_ms * steps.looks_per_step(),
            steps: steps.count(),
            load_s,
            streams,
            feeds: self
                .feeds
                .iter()
                .zip(&subjects.feeds)
                .map(|(columns, (file, _))| FeedSeries {
                    file: file.clone(),
                    read_us: narrow(steps.series_or_zero(columns[0])),
                    decompress_us: narrow(steps.series_or_zero(columns[1])),
                    scan_us: narrow(steps.series_or_zero(columns[2])),
                })
                .collect(),
            tables: self
                .flows
                .iter()
                .zip(&subjects.flows)
                .map(|(columns, (flow, _))| TableSeries {
                    flow: flow.clone(),
                    rows: narrow(steps.series_or_zero(columns[0])),
                    stored_bytes: steps.series_or_zero(columns[1]),
                })
                .collect(),
            server: server.map(|server| ServerMeasurements {
                sample_ms: step_ms,
                ..server
            }),
            // The report adds them, because the units are known only at the end.
            stored: Vec::new(),
            reads_database: false,
            source_server: None,
            machine: self.machine(steps, backends_cpu_us),
            metering_cpu_s: 0.0,
        }
    }

    fn machine(&self, steps: &Steps, backends_cpu_us: Option<Vec<u32>>) -> MachineSeries {
        let machine = &self.machine;
        MachineSeries {
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            cpu_us: narrow(steps.series_or_zero(machine.cpu)),
            cpu_stolen_us: narrow(steps.series_or_zero(machine.stolen)),
            loader_cpu_us: narrow(steps.series_or_zero(machine.loader)),
            backends_cpu_us,
            cpu_throttled_us: steps.series(machine.throttled).map(narrow),
            disk_read_bytes: steps.series_or_zero(machine.disk_read),
            disk_written_bytes: steps.series_or_zero(machine.disk_written),
            disk_busy_ms: narrow(steps.series_or_zero(machine.disk_busy)),
            loader_memory_bytes: steps.series_or_zero(machine.memory),
        }
    }
}

impl StreamColumns {
    fn new(steps: &mut Steps) -> StreamColumns {
        StreamColumns {
            phases: std::array::from_fn(|_| steps.column(FigureKind::Sum)),
            rows: steps.column(FigureKind::Sum),
            text_bytes: steps.column(FigureKind::Sum),
            sent_bytes: steps.column(FigureKind::Sum),
            cpu: steps.column(FigureKind::Sum),
            cpu_wait: steps.column(FigureKind::Sum),
            backend_cpu: steps.column(FigureKind::Sum),
            backend_cpu_wait: steps.column(FigureKind::Sum),
            source_cpu: steps.column(FigureKind::Sum),
            source_cpu_wait: steps.column(FigureKind::Sum),
            tcp: TcpColumns {
                busy: steps.column(FigureKind::Sum),
                receiver_limited: steps.column(FigureKind::Sum),
                send_buffer_limited: steps.column(FigureKind::Sum),
                sent_again: steps.column(FigureKind::Sum),
                sent: steps.column(FigureKind::Sum),
                round_trip: steps.column(FigureKind::State),
                round_trip_min: steps.column(FigureKind::State),
                window: steps.column(FigureKind::State),
                rate: steps.column(FigureKind::State),
            },
        }
    }

    fn read(&self, gauge: &Gauge, look: &mut Look) {
        let meter = gauge.meter();
        for (column, phase) in self.phases.iter().zip(PHASES) {
            look.set(*column, phase_ns(&meter, phase) / 1_000);
        }
        look.set(self.rows, meter.rows);
        look.set(self.text_bytes, meter.text_bytes);
        look.set(self.sent_bytes, meter.sent_bytes);
        let thread = Some(gauge.thread_id()).filter(|thread_id| *thread_id != 0);
        let cpu = thread.and_then(thread_cpu_us);
        look.set_if(self.cpu, cpu.map(|(ran, _)| ran));
        look.set_if(self.cpu_wait, cpu.map(|(_, waited)| waited));
        if let Some(facts) = gauge.tcp().and_then(|tcp| tcp.facts()) {
            let tcp = &self.tcp;
            look.set(tcp.busy, facts.busy_us);
            look.set(tcp.receiver_limited, facts.receiver_limited_us);
            look.set(tcp.send_buffer_limited, facts.send_buffer_limited_us);
            look.set(tcp.sent_again, facts.segments_sent_again);
            look.set(tcp.sent, facts.segments_sent);
            look.set(tcp.round_trip, u64::from(facts.round_trip_us));
            look.set(tcp.round_trip_min, u64::from(facts.round_trip_min_us));
            look.set(tcp.window, facts.congestion_window_bytes);
            look.set(tcp.rate, facts.delivery_rate);
        }
    }

    fn series(&self, stream: usize, steps: &Steps) -> StreamSeries {
        let phases = self.phases.iter().zip(PHASES);
        let phases_us: BTreeMap<Phase, Vec<u32>> = phases
            .map(|(column, phase)| (phase, narrow(steps.series_or_zero(*column))))
            .filter(|(_, series)| series.iter().any(|spent| *spent > 0))
            .collect();
        StreamSeries {
            stream,
            ended_s: 0.0,
            phases_us,
            rows: narrow(steps.series_or_zero(self.rows)),
            text_bytes: steps.series_or_zero(self.text_bytes),
            sent_bytes: steps.series_or_zero(self.sent_bytes),
            cpu_us: steps.series(self.cpu).map(narrow),
            cpu_wait_us: steps.series(self.cpu_wait).map(narrow),
            backend: None,
            source_backend: None,
            tcp: None,
        }
    }
}

impl TcpColumns {
    fn series(&self, steps: &Steps, is_loopback: bool) -> Option<TcpSeries> {
        Some(TcpSeries {
            busy_us: narrow(steps.series(self.busy)?),
            receiver_limited_us: narrow(steps.series(self.receiver_limited)?),
            send_buffer_limited_us: narrow(steps.series(self.send_buffer_limited)?),
            segments_sent_again: narrow(steps.series(self.sent_again)?),
            segments_sent: narrow(steps.series(self.sent)?),
            round_trip_us: narrow(steps.series(self.round_trip)?),
            round_trip_min_us: narrow(steps.series(self.round_trip_min)?)
                .into_iter()
                .filter(|round_trip| *round_trip > 0)
                .min()
                .unwrap_or(0),
            congestion_window_bytes: narrow(steps.series(self.window)?),
            delivery_rate: steps.series(self.rate)?,
            is_loopback,
        })
    }
}

fn phase_ns(meter: &Meter, phase: Phase) -> u64 {
    match phase {
        Phase::Read => meter.read_ns,
        Phase::Decompress => meter.decompress_ns,
        Phase::Scan => meter.scan_ns,
        Phase::Convert => meter.convert_ns,
        Phase::Transform => meter.transform_ns,
        Phase::Verify => meter.verify_ns,
        Phase::Encode => meter.encode_ns,
        Phase::FeedWait => meter.feed_wait_ns,
        Phase::PaceWait => meter.pace_wait_ns,
        Phase::SendWait => meter.send_wait_ns,
        Phase::VerifyWait => meter.verify_wait_ns,
        Phase::ServerWait => meter.server_wait_ns,
    }
}

/// The figures of all steps, as smaller numbers. A larger value becomes the largest that fits; no real step has one.
fn narrow(series: Vec<u64>) -> Vec<u32> {
    let narrow = |figure| u32::try_from(figure).unwrap_or(u32::MAX);
    series.into_iter().map(narrow).collect()
}

fn sum<'a>(series: impl Iterator<Item = &'a [u32]>, count: usize) -> Vec<u32> {
    let mut sum = vec![0_u32; count];
    for one in series {
        for (sum, figure) in sum.iter_mut().zip(one) {
            *sum = sum.saturating_add(*figure);
        }
    }
    sum
}
