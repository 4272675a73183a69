//! A stream's phases step by step, made consistent: the phases of a step add up to its length.

use crate::measurements::{Measurements, PHASES, Phase, StreamSeries};

/// The longest plausible time (more than 30 years): larger figures are errors.
const SECONDS_MAX: f64 = 1e9;
/// The resolution of all times: microseconds.
const SECONDS_MIN: f64 = 1e-6;

/// A plausible number of seconds, because reports may come from anywhere.
pub(crate) fn sane_seconds(seconds: f64) -> f64 {
    // A comparison with NaN is false.
    if seconds >= SECONDS_MIN {
        seconds.min(SECONDS_MAX)
    } else {
        0.0
    }
}

/// Microseconds of a step as seconds; 0 for an unmeasured step.
pub(crate) fn seconds_at(series: &[u32], step: usize) -> f64 {
    series.get(step).map_or(0.0, |&us| f64::from(us) / 1e6)
}

/// Microseconds of all steps as seconds.
pub(crate) fn seconds_of(series: &[u32]) -> f64 {
    series.iter().fold(0.0, |sum, &us| sum + f64::from(us)) / 1e6
}

/// The phases in which a stream waits for work of the server other than taking its bytes.
pub(crate) const SERVER_WAITS: [Phase; 2] = [Phase::VerifyWait, Phase::ServerWait];

/// The phases in which a stream needs a CPU.
pub(crate) const CPU_PHASES: [Phase; 6] = [
    Phase::Decompress,
    Phase::Scan,
    Phase::Convert,
    Phase::Transform,
    Phase::Verify,
    Phase::Encode,
];

/// One step of a stream that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Seconds from the start of loading.
    pub start_s: f64,
    /// Its length, shorter if the stream ended within it.
    pub length_s: f64,
    phases_s: [f64; PHASES.len()],
    /// Seconds between phases in which the thread had something to do.
    pub between_s: f64,
    /// Seconds between phases, in the middle of the work, in which the thread neither ran nor waited for a CPU.
    pub idle_s: f64,
    /// The time before its first piece of work.
    pub not_begun_s: f64,
}

impl Step {
    /// Seconds in a phase.
    pub(crate) fn in_phase(&self, phase: Phase) -> f64 {
        self.phases_s[phase as usize]
    }
}

/// A stream's time until it ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timeline {
    /// Steps until the stream ended, as far as they were measured.
    pub steps: Vec<Step>,
    /// Seconds from the start of loading until the stream ended.
    pub ended_s: f64,
    /// Seconds before its end that no step covers.
    pub unmeasured_s: f64,
}

impl Timeline {
    /// The timeline of one stream.
    pub(crate) fn of(series: &StreamSeries, measurements: &Measurements) -> Timeline {
        let load_s = sane_seconds(measurements.load_s);
        let ended_s = sane_seconds(series.ended_s).min(load_s);
        let count = series.phases_us.values().map(Vec::len).max().unwrap_or(0);
        let has_worked = series.phases_us.values().flatten().any(|&us| us > 0)
            || series.rows.iter().any(|&rows| rows > 0)
            || series.text_bytes.iter().any(|&bytes| bytes > 0);
        if !has_worked {
            return Timeline::without_work(ended_s);
        }
        let lengths = step_lengths(count, measurements.step_ms, ended_s);
        let mut phases: Vec<[f64; PHASES.len()]> = (0..count)
            .map(|step| {
                PHASES.map(|phase| {
                    let us = series.phases_us.get(&phase);
                    us.map_or(0.0, |us| seconds_at(us, step))
                })
            })
            .collect();
        spread(&mut phases, &lengths);

        let first = phases
            .iter()
            .position(|phases| phases.iter().any(|&seconds| seconds > 0.0))
            .unwrap_or(count);
        let mut start_s = 0.0;
        let mut steps = Vec::new();
        for (index, (&length_s, phases_s)) in lengths.iter().zip(phases).enumerate() {
            if length_s <= 0.0 {
                break;
            }
            let rest_s = (length_s - phases_s.iter().sum::<f64>()).max(0.0);
            let (mut between_s, mut idle_s, mut not_begun_s) = (0.0, 0.0, 0.0);
            if index < first {
                not_begun_s = rest_s;
            } else {
                let work_s: f64 = CPU_PHASES
                    .iter()
                    .map(|&phase| phases_s[phase as usize])
                    .sum();
                idle_s = idle(series, measurements, index, rest_s, work_s);
                between_s = rest_s - idle_s;
            }
            steps.push(Step {
                start_s,
                length_s,
                phases_s,
                between_s,
                idle_s,
                not_begun_s,
            });
            start_s += length_s;
        }
        Timeline {
            steps,
            ended_s,
            unmeasured_s: sane_seconds(ended_s - start_s),
        }
    }

    /// The timeline of a stream that never had work: its whole time, in one step.
    fn without_work(ended_s: f64) -> Timeline {
        let step = Step {
            start_s: 0.0,
            length_s: ended_s,
            phases_s: [0.0; PHASES.len()],
            between_s: 0.0,
            idle_s: 0.0,
            not_begun_s: ended_s,
        };
        Timeline {
            steps: vec![step],
            ended_s,
            unmeasured_s: 0.0,
        }
    }

    /// Seconds in a phase, all in all.
    pub(crate) fn in_phase(&self, phase: Phase) -> f64 {
        self.steps.iter().map(|step| step.in_phase(phase)).sum()
    }

    /// Seconds that the stream waited for other work of the server.
    pub(crate) fn server_waits_s(&self) -> f64 {
        SERVER_WAITS.iter().map(|&phase| self.in_phase(phase)).sum()
    }

    /// Seconds in which the stream had something to do, in any phase except this one or between phases.
    pub(crate) fn elsewhere_s(&self, phase: Phase) -> f64 {
        PHASES
            .iter()
            .filter(|other| **other != phase)
            .map(|&other| self.in_phase(other))
            .sum::<f64>()
            + self.steps.iter().map(|step| step.between_s).sum::<f64>()
    }

    /// Seconds that the stream had something to do and did not wait for the destination.
    pub(crate) fn working_s(&self) -> f64 {
        PHASES
            .iter()
            .filter(|phase| **phase != Phase::SendWait && !SERVER_WAITS.contains(phase))
            .map(|&phase| self.in_phase(phase))
            .sum::<f64>()
            + self.steps.iter().map(|step| step.between_s).sum::<f64>()
    }
}

/// The length of each step: all are equal, until the stream ends.
fn step_lengths(count: usize, step_ms: u32, ended_s: f64) -> Vec<f64> {
    let step_s = if step_ms > 0 {
        f64::from(step_ms) / 1e3
    } else {
        ended_s / count.max(1) as f64
    };
    let mut lengths: Vec<f64> = (0..count)
        .map(|step| (ended_s - step as f64 * step_s).clamp(0.0, step_s))
        .collect();
    // If less than one step is missing at the end, that is rounding.
    let missing_s = ended_s - step_s * count as f64;
    if let Some(last) = lengths.last_mut()
        && missing_s > 0.0
        && missing_s <= step_s
    {
        *last += missing_s;
    }
    lengths
}

/// Moves the time that exceeds a step to the steps before it, because a wait is recorded when it ends.
pub(crate) fn spread<const N: usize>(steps: &mut [[f64; N]], lengths: &[f64]) {
    let mut carried = [0.0; N];
    for (step, &length_s) in steps.iter_mut().zip(lengths).rev() {
        for (seconds, carried) in step.iter_mut().zip(&mut carried) {
            *seconds += *carried;
            *carried = 0.0;
        }
        let total: f64 = step.iter().sum();
        if total > length_s {
            let kept = length_s.max(0.0) / total;
            for (seconds, carried) in step.iter_mut().zip(&mut carried) {
                *carried = *seconds * (1.0 - kept);
                *seconds *= kept;
            }
        }
    }
}

/// The part of the time between phases in which a thread slept. The time in which it ran or waited for a CPU is first
/// counted for the phases that need a CPU. A thread that sleeps because of a limit of the control group does not lack
/// work.
fn idle(
    series: &StreamSeries,
    measurements: &Measurements,
    step: usize,
    between_s: f64,
    work_s: f64,
) -> f64 {
    let Some(cpu_us) = series.cpu_us.as_ref().filter(|cpu| cpu.len() > step) else {
        return 0.0;
    };
    let throttled = measurements.machine.cpu_throttled_us.as_deref();
    if throttled.is_some_and(|throttled| seconds_at(throttled, step) > 0.0) {
        return 0.0;
    }
    let waited_us = series.cpu_wait_us.as_deref().unwrap_or_default();
    let awake_s = seconds_at(cpu_us, step) + seconds_at(waited_us, step);
    (between_s - (awake_s - work_s).max(0.0)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn measured(phases: &[(Phase, Vec<u32>)], ended_s: f64, load_s: f64) -> Timeline {
        let series = StreamSeries {
            ended_s,
            phases_us: phases.iter().cloned().collect::<BTreeMap<_, _>>(),
            ..StreamSeries::default()
        };
        let measurements = Measurements {
            step_ms: 100,
            load_s,
            ..Measurements::default()
        };
        Timeline::of(&series, &measurements)
    }

    #[test]
    fn a_wait_that_is_noted_at_its_end_is_spread() {
        let found = measured(&[(Phase::ServerWait, vec![0, 0, 300_000])], 0.3, 0.3);
        let steps: Vec<f64> = found
            .steps
            .iter()
            .map(|step| step.in_phase(Phase::ServerWait))
            .collect();
        for seconds in steps {
            assert!((seconds - 0.1).abs() < 1e-9);
        }
    }

    #[test]
    fn what_comes_before_the_first_work_is_told_apart() {
        let found = measured(&[(Phase::Read, vec![0, 0, 50_000, 0])], 0.35, 0.4);
        let not_begun: f64 = found.steps.iter().map(|step| step.not_begun_s).sum();
        assert!((not_begun - 0.2).abs() < 1e-9);
        let between: f64 = found.steps.iter().map(|step| step.between_s).sum();
        assert!((between - 0.1).abs() < 1e-9);
        assert!((found.working_s() - 0.15).abs() < 1e-9);
    }

    #[test]
    fn series_that_are_too_short_leave_time_unmeasured() {
        let found = measured(&[(Phase::Read, vec![100_000; 3])], 5.0, 5.0);
        assert!((found.unmeasured_s - 4.7).abs() < 1e-9);
        let rounded = measured(&[(Phase::Read, vec![100_000; 3])], 0.33, 0.33);
        assert_eq!(rounded.unmeasured_s, 0.0);
    }
}
