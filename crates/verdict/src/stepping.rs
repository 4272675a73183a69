//! Divides the time in which a stream passes rows through the steps of its flow: into the time that the steps need, and
//! the time in which the thread waits for a CPU that others have or that a limit withholds.

use crate::measurements::StreamSeries;
use crate::parts::{ByPart, Part};
use crate::timeline::{CPU_PHASES, Timeline, seconds_of};

/// How a second in the steps is divided into parts.
pub(crate) fn stepping(series: &StreamSeries, timeline: &Timeline) -> ByPart {
    let mut parts = ByPart::default();
    let ran = ran_share(series, timeline);
    parts.add(Part::Transform, ran);
    parts.add(Part::Work, 1.0 - ran);
    parts
}

/// The share of its computing in which the thread had a CPU; 1 if that was not measured.
fn ran_share(series: &StreamSeries, timeline: &Timeline) -> f64 {
    let Some(ran_s) = series.cpu_us.as_deref().map(seconds_of) else {
        return 1.0;
    };
    let work_s: f64 = CPU_PHASES
        .iter()
        .map(|&phase| timeline.in_phase(phase))
        .sum();
    let waited_s = series.cpu_wait_us.as_deref().map_or(0.0, seconds_of);
    // A thread that a control group holds back neither runs nor counts as waiting.
    let needed_s = work_s.max(ran_s + waited_s);
    match needed_s > 0.0 {
        true => (ran_s / needed_s).min(1.0),
        false => 1.0,
    }
}
