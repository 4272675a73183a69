//! Divides each stream's time completely: its own work is attributed to the step that did it, and each wait to the work
//! of the other side at that time.

use crate::feeding::Feeding;
use crate::measurements::{Measurements, Phase, StreamSeries};
use crate::network::Link;
use crate::parts::{ByPart, Part};
use crate::samples::Joint;
use crate::source_waits::SourceWaits;
use crate::stepping::stepping;
use crate::timeline::{SERVER_WAITS, Step, Timeline, sane_seconds};
use crate::waits::{Waits, Witness};

/// The phases of the loader's own work on rows, without the steps of flows.
const WORK: [Phase; 4] = [Phase::Scan, Phase::Convert, Phase::Verify, Phase::Encode];

/// One stream, with its time divided into parts.
pub(crate) struct Attributed<'a> {
    /// The measurements.
    pub series: &'a StreamSeries,
    /// Its steps.
    pub timeline: Timeline,
    /// Its connection, if it uses TCP.
    pub link: Option<Link>,
    /// The causes of its waits.
    pub waits: Waits,
    /// The causes of its reading.
    pub source_waits: SourceWaits,
    /// How a second in the steps of a flow is divided into parts.
    pub stepping: ByPart,
    /// Seconds by part; they add up to the time that loading took.
    pub parts: ByPart,
}

/// All streams of a run.
pub(crate) fn attribute<'a>(
    measurements: &'a Measurements,
    feeding: &Feeding,
) -> Vec<Attributed<'a>> {
    let load_s = sane_seconds(measurements.load_s);
    let timelines: Vec<Timeline> = measurements
        .streams
        .iter()
        .map(|series| Timeline::of(series, measurements))
        .collect();
    let links: Vec<Option<Link>> = measurements
        .streams
        .iter()
        .zip(&timelines)
        .map(|(series, timeline)| {
            let tcp = series.tcp.as_ref()?;
            Some(Link::of(tcp, &series.sent_bytes, timeline))
        })
        .collect();
    let witness = Witness {
        measurements,
        pooled: Joint::pooled(&measurements.streams),
        network: Link::pooled(links.iter().flatten()),
    };
    let pooled_source = Joint::pooled_source(&measurements.streams);
    measurements
        .streams
        .iter()
        .zip(timelines)
        .zip(links)
        .map(|((series, timeline), link)| {
            let waits = Waits::of(series, &timeline, link.as_ref(), &witness);
            let source_waits = SourceWaits::of(series, &timeline, measurements, &pooled_source);
            let mut stream = Attributed {
                series,
                stepping: stepping(series, &timeline),
                timeline,
                link,
                waits,
                source_waits,
                parts: ByPart::default(),
            };
            let mut parts = stream.within(feeding, 0.0, load_s);
            parts.add(Part::Unmeasured, stream.timeline.unmeasured_s);
            parts.add(Part::Ended, load_s - stream.timeline.ended_s);
            // The parts add up, except for rounding.
            stream.parts = parts.scaled_to(load_s);
            stream
        })
        .collect()
}

impl Attributed<'_> {
    /// Its time by part between two moments, until it ended.
    pub(crate) fn within(&self, feeding: &Feeding, from_s: f64, to_s: f64) -> ByPart {
        let mut parts = ByPart::default();
        for (index, step) in self.timeline.steps.iter().enumerate() {
            let end_s = (step.start_s + step.length_s).min(to_s);
            let inside_s = end_s - step.start_s.max(from_s);
            if inside_s > 0.0 && step.length_s > 0.0 {
                parts.add_all(
                    &self.of_step(step, index, feeding),
                    inside_s / step.length_s,
                );
            }
        }
        parts
    }

    fn of_step(&self, step: &Step, index: usize, feeding: &Feeding) -> ByPart {
        let mut parts = ByPart::default();
        parts.add_all(&self.source_waits.read, step.in_phase(Phase::Read));
        parts.add(Part::FileDecompress, step.in_phase(Phase::Decompress));
        for phase in WORK {
            parts.add(Part::Work, step.in_phase(phase));
        }
        parts.add_all(&self.stepping, step.in_phase(Phase::Transform));
        parts.add(Part::Between, step.between_s);
        parts.add_all(&self.waits.asleep, step.idle_s);
        parts.add(Part::NotBegun, step.not_begun_s);
        parts.add(Part::Pace, step.in_phase(Phase::PaceWait));
        parts.add_all(&feeding.at(index), step.in_phase(Phase::FeedWait));
        parts.add_all(&self.waits.send, step.in_phase(Phase::SendWait));
        for phase in SERVER_WAITS {
            parts.add_all(&self.waits.server, step.in_phase(phase));
        }
        parts
    }

    /// Seconds from the start of loading until it had no work any more.
    pub(crate) fn ended_s(&self) -> f64 {
        self.timeline.ended_s
    }

    /// Bytes of text per second between two moments.
    pub(crate) fn text_rate(&self, step_s: f64, from_s: f64, to_s: f64) -> f64 {
        if to_s <= from_s || step_s <= 0.0 {
            return 0.0;
        }
        let bytes: f64 = self
            .series
            .text_bytes
            .iter()
            .enumerate()
            .map(|(step, &bytes)| {
                let start_s = step as f64 * step_s;
                let inside_s = (start_s + step_s).min(to_s) - start_s.max(from_s);
                bytes as f64 * (inside_s / step_s).clamp(0.0, 1.0)
            })
            .sum();
        bytes / (to_s - from_s)
    }
}
