//! The facts of a run after its time is divided; evidence, advice and line are made of them.

use crate::attribute::Attributed;
use crate::cpu::{Cpu, Holder};
use crate::feeding::Feeding;
use crate::measurements::{
    BackendSeries, FeedSeries, Measurements, Phase, ServerKind, StreamSeries,
};
use crate::network::Link;
use crate::parts::{ByPart, Part};
use crate::samples::{Group, Joint, is_too_short};
use crate::tail::Tail;
use crate::timeline::{sane_seconds, seconds_of};
use crate::verdict::Cause;

/// If one stream has this share of a cause's seconds, the cause concerns it alone.
const ALONE: f64 = 0.7;

/// A run.
pub(crate) struct Facts<'a> {
    /// The measurements.
    pub measurements: &'a Measurements,
    /// Its streams.
    pub streams: &'a [Attributed<'a>],
    /// Seconds of all streams by part.
    pub parts: ByPart,
    /// The time of loading.
    pub load_s: f64,
    /// The time at the end in which most streams were done.
    pub tail: Option<Tail>,
    /// All connections combined.
    pub network: Option<Link>,
    /// The use of the CPUs.
    pub cpu: Cpu,
    /// Samples of all backends.
    pub samples: Joint,
    /// Samples of all backends of the source.
    pub source_samples: Joint,
}

impl<'a> Facts<'a> {
    /// The facts of a run whose time is divided.
    pub(crate) fn of(
        measurements: &'a Measurements,
        streams: &'a [Attributed<'a>],
        feeding: &Feeding,
    ) -> Facts<'a> {
        let load_s = sane_seconds(measurements.load_s);
        let mut parts = ByPart::default();
        for stream in streams {
            parts.add_all(&stream.parts, 1.0);
        }
        let step_s = f64::from(measurements.step_ms) / 1e3;
        Facts {
            measurements,
            streams,
            parts,
            load_s,
            tail: Tail::of(streams, feeding, step_s, load_s),
            network: Link::pooled(streams.iter().filter_map(|stream| stream.link.as_ref())),
            cpu: Cpu::of(measurements, streams, load_s),
            samples: Joint::pooled(&measurements.streams),
            source_samples: Joint::pooled_source(&measurements.streams),
        }
    }

    /// Seconds of all streams.
    pub(crate) fn stream_s(&self) -> f64 {
        self.load_s * self.streams.len() as f64
    }

    /// A share of all streams' time.
    pub(crate) fn share(&self, seconds: f64) -> f64 {
        if self.stream_s() > 0.0 {
            seconds / self.stream_s()
        } else {
            0.0
        }
    }

    /// The destination in one word: "server" if it is one.
    pub(crate) fn destination(&self) -> &'static str {
        let has_link = self.network.is_some();
        if self.has_backends() || has_link || self.measurements.server.is_some() {
            "server"
        } else {
            "destination"
        }
    }

    /// The server runs on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let server = self.measurements.server.as_ref();
        server.is_some_and(|server| server.is_local)
    }

    /// The destination is SQL Server.
    pub(crate) fn is_sql_server(&self) -> bool {
        let server = self.measurements.server.as_ref();
        server.is_some_and(|server| server.kind == ServerKind::SqlServer)
    }

    /// The fix that lets the server extension store rows, if most units went by COPY for a reason with a known fix.
    pub(crate) fn fix_of_copy(&self) -> Option<&'a str> {
        let stored = &self.measurements.stored;
        let units: u64 = stored
            .iter()
            .map(|it| it.units)
            .fold(0, u64::saturating_add);
        let most = stored
            .iter()
            .filter(|it| it.fix.is_some())
            .max_by_key(|it| it.units)?;
        (most.units > units / 2)
            .then_some(most.fix.as_deref())
            .flatten()
    }

    /// Seconds that the streams spent in a phase.
    pub(crate) fn in_phase(&self, phase: Phase) -> f64 {
        let streams = self.streams.iter();
        streams.map(|stream| stream.timeline.in_phase(phase)).sum()
    }

    /// Seconds that the streams waited for the destination.
    pub(crate) fn waits_s(&self) -> f64 {
        let streams = self.streams.iter();
        streams
            .map(|stream| {
                stream.timeline.in_phase(Phase::SendWait) + stream.timeline.server_waits_s()
            })
            .sum()
    }

    /// Bytes of text that were read.
    pub(crate) fn text_bytes(&self) -> f64 {
        let streams = self.streams.iter();
        sum(streams.flat_map(|stream| stream.series.text_bytes.iter().copied()))
    }

    /// Bytes that were sent.
    pub(crate) fn sent_bytes(&self) -> f64 {
        let streams = self.streams.iter();
        sum(streams.flat_map(|stream| stream.series.sent_bytes.iter().copied()))
    }

    /// Bytes of the files as stored.
    pub(crate) fn stored_bytes(&self) -> f64 {
        let tables = self.measurements.tables.iter();
        sum(tables.flat_map(|table| table.stored_bytes.iter().copied()))
    }

    /// Bytes that this machine's disks read.
    pub(crate) fn disk_read_bytes(&self) -> f64 {
        sum(self.measurements.machine.disk_read_bytes.iter().copied())
    }

    /// Share of the load in which the busiest disk of this machine was busy.
    pub(crate) fn disk_busy(&self) -> f64 {
        let busy_ms = &self.measurements.machine.disk_busy_ms;
        let busy_s = sum(busy_ms.iter().map(|&ms| u64::from(ms))) / 1e3;
        if self.load_s > 0.0 {
            (busy_s / self.load_s).min(1.0)
        } else {
            0.0
        }
    }

    /// The stream that has nearly all of a cause, if there are several streams.
    pub(crate) fn alone(&self, cause: Cause) -> Option<&Attributed<'a>> {
        let most = self.streams.iter().max_by(|one, other| {
            let seconds = |stream: &Attributed| stream.parts.of_cause(cause);
            seconds(one).total_cmp(&seconds(other))
        })?;
        let is_alone = most.parts.of_cause(cause) >= ALONE * self.parts.of_cause(cause);
        (self.streams.len() > 1 && is_alone).then_some(most)
    }

    /// The feed with the most work.
    pub(crate) fn busiest_feed(&self) -> Option<&'a FeedSeries> {
        let work_s = |feed: &FeedSeries| {
            [&feed.read_us, &feed.decompress_us, &feed.scan_us]
                .into_iter()
                .map(|us| seconds_of(us))
                .sum::<f64>()
        };
        let feeds = self.measurements.feeds.iter();
        feeds.max_by(|one, other| work_s(one).total_cmp(&work_s(other)))
    }

    /// The wanted wait events of all backends, the most frequent first, with their samples.
    pub(crate) fn events(&self, wanted: impl Fn(&str) -> bool) -> Vec<(&'a str, u64)> {
        self.events_of(|series| series.backend.as_ref(), wanted)
    }

    /// The wanted wait events of all backends of the source, the most frequent first, with their samples.
    pub(crate) fn source_events(&self, wanted: impl Fn(&str) -> bool) -> Vec<(&'a str, u64)> {
        self.events_of(|series| series.source_backend.as_ref(), wanted)
    }

    fn events_of(
        &self,
        backend_of: fn(&'a StreamSeries) -> Option<&'a BackendSeries>,
        wanted: impl Fn(&str) -> bool,
    ) -> Vec<(&'a str, u64)> {
        let mut events: Vec<(&str, u64)> = Vec::new();
        for (name, samples) in self
            .streams
            .iter()
            .filter_map(|stream| backend_of(stream.series))
            .flat_map(|backend| &backend.events)
            .filter(|(name, _)| wanted(name))
        {
            let samples = u64::from(*samples);
            match events.iter_mut().find(|(known, _)| known == name) {
                Some((_, sum)) => *sum += samples,
                None => events.push((name, samples)),
            }
        }
        events.sort_by(|(one, few), (other, many)| many.cmp(few).then(one.cmp(other)));
        events
    }

    /// The holders of the locks, each once.
    pub(crate) fn blockers(&self) -> Vec<&'a str> {
        self.blockers_of(|series| series.backend.as_ref())
    }

    /// The holders of the locks that the source's backends waited for, each once.
    pub(crate) fn source_blockers(&self) -> Vec<&'a str> {
        self.blockers_of(|series| series.source_backend.as_ref())
    }

    fn blockers_of(
        &self,
        backend_of: fn(&'a StreamSeries) -> Option<&'a BackendSeries>,
    ) -> Vec<&'a str> {
        let mut blockers: Vec<&str> = Vec::new();
        for blocker in self
            .streams
            .iter()
            .filter_map(|stream| backend_of(stream.series))
            .flat_map(|backend| &backend.blockers)
        {
            if !blockers.contains(&blocker.as_str()) {
                blockers.push(blocker);
            }
        }
        blockers
    }

    /// Samples at which a backend's process slept on a disk.
    pub(crate) fn disk_sleeps(&self) -> u64 {
        self.streams
            .iter()
            .filter_map(|stream| stream.series.backend.as_ref()?.disk_sleep_samples)
            .map(u64::from)
            .sum()
    }

    /// True if a backend was sampled.
    pub(crate) fn has_backends(&self) -> bool {
        let mut streams = self.streams.iter();
        streams.any(|stream| stream.series.backend.is_some())
    }

    /// The load ended before the server could be sampled often enough, and no answer came in time.
    pub(crate) fn was_over_too_soon(&self) -> bool {
        !self.has_backends() && is_too_short(self.load_s)
    }

    /// Samples that were taken while streams waited for the server.
    pub(crate) fn wait_samples(&self) -> f64 {
        self.samples.in_group(Group::Send) + self.samples.in_group(Group::Server)
    }

    /// The backends' processes were mostly stopped while they seemed to compute.
    pub(crate) fn is_stopped(&self) -> bool {
        self.parts.of(Part::Stopped) > self.parts.of(Part::Compute)
    }

    /// The processes of the source's backends were mostly stopped while they seemed to compute.
    pub(crate) fn is_source_stopped(&self) -> bool {
        self.parts.of(Part::SourceStopped) > self.parts.of(Part::SourceCompute)
    }

    /// The source's server runs on this machine.
    pub(crate) fn is_source_local(&self) -> bool {
        let server = self.measurements.source_server.as_ref();
        server.is_some_and(|server| server.is_local)
    }

    /// Samples of the source's backends that were taken while streams read.
    pub(crate) fn source_wait_samples(&self) -> f64 {
        self.source_samples.in_group(Group::Read)
    }

    /// The holder of this machine's CPUs, if the loader and the server both need them and neither has enough.
    pub(crate) fn shared_cpus(&self) -> Option<Holder> {
        let holder = self.cpu.holder_for_loader();
        let is_shared = [Holder::Both, Holder::Others, Holder::Host].contains(&holder)
            && self.cpu.holder_for_backends() == holder
            && !self.is_stopped();
        is_shared.then_some(holder)
    }

    /// True if others have the CPUs that a cause needs.
    pub(crate) fn others_have_cpus(&self, cause: Cause) -> bool {
        match cause {
            Cause::ClientCpu | Cause::TransformCpu => {
                self.cpu.holder_for_loader() == Holder::Others
            }
            Cause::DestinationCpu => {
                !self.is_stopped() && self.cpu.holder_for_backends() == Holder::Others
            }
            Cause::SourceDatabaseCpu => {
                !self.is_source_stopped() && self.cpu.holder_for_sources() == Holder::Others
            }
            _ => false,
        }
    }
}

fn sum(values: impl Iterator<Item = u64>) -> f64 {
    // The sum of no floats is minus zero, which would be printed as -0.
    values.fold(0.0, |sum, value| sum + value as f64)
}
