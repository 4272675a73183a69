//! The time of a backend of the destination or of the source: its samples, in seconds, compared with the system's
//! figures of its process.

use crate::measurements::{BackendSeries, BackendState};
use crate::samples::{Joint, States};
use crate::timeline::seconds_of;
use crate::wait_events::is_other;

/// The system's figures of a backend's process, compared with the samples of its waits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Process {
    /// The share of the waits for the backend in which its process was stopped.
    pub stopped: f64,
    /// Share of its time in disk wait events in which it ran on a CPU, because the kernel copies pages.
    pub disk_on_cpu: f64,
    /// Share of its time without a wait event in which it slept at a disk.
    pub cpu_at_disk: f64,
}

/// A backend's samples, each with the seconds that it covers.
pub(crate) struct BackendTime<'a> {
    /// The backend; `None` if it was not sampled.
    pub backend: Option<&'a BackendSeries>,
    /// The number of its samples.
    pub samples: f64,
    /// Its states during each activity of the stream, and the seconds of that activity.
    pub groups: &'a [(Option<States>, f64)],
}

impl<'a> BackendTime<'a> {
    /// The time of a backend with these samples.
    pub(crate) fn of(
        backend: Option<&'a BackendSeries>,
        own: &Joint,
        groups: &'a [(Option<States>, f64)],
    ) -> BackendTime<'a> {
        BackendTime {
            backend,
            samples: own.all,
            groups,
        }
    }

    /// Seconds that the backend spent in these states, by its samples.
    fn spent_s(&self, states: &[BackendState]) -> f64 {
        let groups = self.groups.iter();
        groups
            .filter_map(|(group, seconds)| Some((group.as_ref()?, seconds)))
            .map(|(group, seconds)| {
                let share: f64 = states.iter().map(|&state| group.share(state)).sum();
                share * seconds
            })
            .sum()
    }

    /// Seconds of this number of samples.
    fn seen_s(&self, samples: Option<u32>) -> f64 {
        let share = f64::from(samples.unwrap_or(0)) / self.samples.max(1.0);
        let all_s: f64 = self.groups.iter().map(|(_, seconds)| seconds).sum();
        share.min(1.0) * all_s
    }

    /// Seconds that the backend was busy, group by group. If a group has no samples, the known CPU time of the backend
    /// is a lower bound. The CPU time covers the whole run, so the two are not added.
    pub(crate) fn busy_s(&self, known_cpu_s: Option<f64>) -> f64 {
        let groups = self.groups.iter();
        let seen_s: f64 = groups
            .filter_map(|(group, seconds)| Some((1.0 - group.as_ref()?.waits_for_us()) * seconds))
            .sum();
        seen_s.max(known_cpu_s.unwrap_or(0.0))
    }

    /// The part of the time without a wait event in which the process was neither awake nor stopped nor at a disk. A
    /// backend does not sleep without a wait event, so it was sampled at biased moments: if the loader does not get a
    /// CPU, the sampling thread does not either, and it then samples when the loader has just sent something.
    pub(crate) fn cpu_too_much(&self) -> f64 {
        let Some(backend) = self.backend else {
            return 0.0;
        };
        let cpu_s = self.spent_s(&[BackendState::Cpu]);
        let (Some(awake_s), true) = (awake_s(backend), cpu_s > 0.0) else {
            return 0.0;
        };
        let known_s = awake_s
            + self.seen_s(backend.stopped_samples)
            + self.seen_s(backend.disk_sleep_samples);
        ((cpu_s - known_s) / cpu_s).clamp(0.0, 1.0)
    }

    /// How a backend's process spent its time, apart from wait events; `waits_s` are the seconds that the stream waited
    /// for it.
    pub(crate) fn process(&self, waits_s: f64) -> Process {
        let Some(backend) = self.backend else {
            return Process::default();
        };
        // A stopped process accepts and sends nothing, so its stream soon waits.
        let stopped_s = self.seen_s(backend.stopped_samples).min(waits_s);
        let stopped = if waits_s > 0.0 {
            stopped_s / waits_s
        } else {
            0.0
        };
        let disk_s = self.spent_s(&[BackendState::Wal, BackendState::DataFile]);
        let cpu_s = self.spent_s(&[BackendState::Cpu]);
        let asleep_s = self.seen_s(backend.disk_sleep_samples);
        let (disk_on_cpu_s, cpu_at_disk_s) = match awake_s(backend) {
            Some(awake_s) => (
                (awake_s - cpu_s).max(0.0),
                (cpu_s - stopped_s - awake_s).clamp(0.0, asleep_s),
            ),
            None => (0.0, (asleep_s - disk_s).max(0.0)),
        };
        let share = |part: f64, whole: f64| {
            if whole > 0.0 {
                (part / whole).min(1.0)
            } else {
                0.0
            }
        };
        Process {
            stopped,
            disk_on_cpu: share(disk_on_cpu_s, disk_s),
            cpu_at_disk: share(cpu_at_disk_s, cpu_s),
        }
    }
}

/// Seconds that a backend ran or waited for a CPU.
pub(crate) fn awake_s(backend: &BackendSeries) -> Option<f64> {
    let ran_s = seconds_of(backend.cpu_us.as_ref()?);
    Some(ran_s + backend.cpu_wait_us.as_deref().map_or(0.0, seconds_of))
}

/// The share of waits for parallel workers among the waits without another cause.
pub(crate) fn share_of_workers(backend: Option<&BackendSeries>) -> f64 {
    let Some(backend) = backend else {
        return 0.0;
    };
    let count = |wanted: fn(&str) -> bool| -> f64 {
        let events = backend.events.iter();
        events
            .filter(|(name, _)| wanted(name))
            .map(|(_, samples)| f64::from(*samples))
            .sum()
    };
    let workers = count(waits_for_workers);
    if workers > 0.0 {
        workers / count(is_other)
    } else {
        0.0
    }
}

fn waits_for_workers(event: &str) -> bool {
    let Some(event) = event.strip_prefix("IPC:") else {
        return false;
    };
    ["Parallel", "ExecuteGather", "BgWorker", "Hash", "BtreePage"]
        .iter()
        .any(|workers| event.starts_with(workers))
}
