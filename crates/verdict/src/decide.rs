//! From measurements to a verdict.

use crate::advice::advice;
use crate::attribute::{Attributed, attribute};
use crate::evidence::evidence;
use crate::facts::Facts;
use crate::feeding::Feeding;
use crate::gain::gain_with_cpus;
use crate::line::{both_cpus, line};
use crate::measurements::Measurements;
use crate::parts::CAUSES;
use crate::verdict::{Advice, Cause, CauseShare, StreamAttribution, Verdict};

/// Two shares are considered equal if their difference is at most this many standard errors of the samples.
const STANDARD_ERRORS: f64 = 1.6;

/// The verdict of a run. It depends only on the measurements, and it accepts any measurements: a series that is missing
/// or too short leaves its time undecided.
pub fn verdict(measurements: &Measurements) -> Verdict {
    let feeding = Feeding::of(measurements);
    let streams = attribute(measurements, &feeding);
    let facts = Facts::of(measurements, &streams, &feeding);
    let causes = causes(&facts);
    let is_decided = is_decided(&causes, &streams);
    let advice = causes.first().and_then(|first| {
        let own = advice(&facts, first.cause)?;
        // If both lack CPUs, the change gives CPUs to both the loader and the server.
        let joint_s = both_cpus(&facts, &causes).and_then(|holder| gain_with_cpus(&facts, holder));
        Some(Advice {
            gain_s: joint_s.unwrap_or(own.gain_s),
            ..own
        })
    });
    Verdict {
        line: line(&facts, &causes, is_decided, advice.as_ref()),
        is_decided,
        streams: streams.iter().map(of_stream).collect(),
        advice,
        causes,
    }
}

/// All causes that took any time, the largest first. A run without any time is undecided.
fn causes(facts: &Facts) -> Vec<CauseShare> {
    let total_s = facts.parts.total();
    let mut causes: Vec<CauseShare> = CAUSES
        .into_iter()
        .map(|cause| (cause, facts.parts.of_cause(cause)))
        .filter(|&(_, seconds)| seconds > 0.0)
        .map(|(cause, seconds)| CauseShare {
            cause,
            share: seconds / total_s,
            seconds,
            evidence: evidence(facts, cause),
        })
        .collect();
    causes.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    if causes.is_empty() {
        causes.push(CauseShare {
            cause: Cause::Undecided,
            share: 1.0,
            seconds: 0.0,
            evidence: Vec::new(),
        });
    }
    causes
}

/// True if the first cause stays first for any distribution of the undecided time and any error of the samples.
fn is_decided(causes: &[CauseShare], streams: &[Attributed]) -> bool {
    let first = &causes[0];
    if first.cause == Cause::Undecided {
        return false;
    }
    let variance = |cause: Cause| -> f64 {
        let index = cause as usize;
        streams
            .iter()
            .map(|stream| stream.waits.variance[index] + stream.source_waits.variance[index])
            .sum()
    };
    let undecided_s = causes
        .iter()
        .find(|share| share.cause == Cause::Undecided)
        .map_or(0.0, |share| share.seconds);
    causes[1..]
        .iter()
        .filter(|other| other.cause != Cause::Undecided)
        .map(|other| {
            let error_s = (variance(first.cause) + variance(other.cause)).sqrt();
            other.seconds + STANDARD_ERRORS * error_s
        })
        .fold(0.0, f64::max)
        + undecided_s
        < first.seconds
}

fn of_stream(stream: &Attributed) -> StreamAttribution {
    StreamAttribution {
        stream: stream.series.stream,
        seconds: CAUSES
            .into_iter()
            .map(|cause| (cause, stream.parts.of_cause(cause)))
            .filter(|&(_, seconds)| seconds > 0.0)
            .collect(),
    }
}
