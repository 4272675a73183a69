//! Samples of a backend's activity while its stream waited for it, and while it did not wait.

use crate::measurements::{BackendSeries, BackendState, Phase, StreamSeries};
use crate::timeline::SERVER_WAITS;

/// All states of a backend, in their order.
pub(crate) const STATES: [BackendState; 8] = [
    BackendState::Cpu,
    BackendState::Client,
    BackendState::Wal,
    BackendState::DataFile,
    BackendState::Lock,
    BackendState::Internal,
    BackendState::Idle,
    BackendState::Other,
];

/// With fewer samples of all streams together, nothing is concluded.
const SAMPLES_MIN: f64 = 5.0;
/// Seconds between two samples of the backends; the first one is taken this long after the start.
const LOOK_S: f64 = 0.1;
/// The samples of all streams together count like this many samples of the stream itself, so a stream with few samples
/// is judged mostly by the samples of the other streams.
const POOLED_WEIGHT: f64 = 4.0;

/// The activity of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// It waited for a block to be taken.
    Send,
    /// It waited for other work of the server.
    Server,
    /// It read. Only samples of the source's backends have this activity.
    Read,
    /// It did not wait for the server.
    Work,
    /// It was between phases. This includes the idle backend of a stream that has ended.
    Between,
}

/// A load shorter than this ends before its backends are sampled often enough.
pub(crate) fn is_too_short(load_s: f64) -> bool {
    load_s < SAMPLES_MIN * LOOK_S
}

/// Samples by the activity of the stream and the state of the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Joint {
    counts: [[f64; STATES.len()]; 5],
    /// All samples.
    pub all: f64,
}

impl Joint {
    /// The samples of one backend of the destination.
    pub(crate) fn of(backend: &BackendSeries) -> Joint {
        Joint::grouped(backend, |phase| match phase {
            None => Group::Between,
            Some(Phase::SendWait) => Group::Send,
            Some(phase) if SERVER_WAITS.contains(&phase) => Group::Server,
            Some(_) => Group::Work,
        })
    }

    /// The samples of one stream's backends of the source.
    pub(crate) fn of_source(backend: &BackendSeries) -> Joint {
        Joint::grouped(backend, |phase| match phase {
            None => Group::Between,
            Some(Phase::Read) => Group::Read,
            Some(_) => Group::Work,
        })
    }

    fn grouped(backend: &BackendSeries, group_of: impl Fn(Option<Phase>) -> Group) -> Joint {
        let mut joint = Joint::default();
        for seen in &backend.samples {
            let count = f64::from(seen.samples);
            joint.all += count;
            joint.counts[group_of(seen.phase) as usize][seen.state as usize] += count;
        }
        joint
    }

    /// The samples of the backends of all streams.
    pub(crate) fn pooled(streams: &[StreamSeries]) -> Joint {
        let backends = streams.iter().filter_map(|stream| stream.backend.as_ref());
        Joint::sum(backends.map(Joint::of))
    }

    /// The samples of the source's backends of all streams.
    pub(crate) fn pooled_source(streams: &[StreamSeries]) -> Joint {
        let backends = streams
            .iter()
            .filter_map(|stream| stream.source_backend.as_ref());
        Joint::sum(backends.map(Joint::of_source))
    }

    fn sum(all: impl Iterator<Item = Joint>) -> Joint {
        let mut pooled = Joint::default();
        for own in all {
            pooled.all += own.all;
            for (group, own) in pooled.counts.iter_mut().zip(own.counts) {
                for (count, own) in group.iter_mut().zip(own) {
                    *count += own;
                }
            }
        }
        pooled
    }

    /// The number of samples with this activity of the stream.
    pub(crate) fn in_group(&self, group: Group) -> f64 {
        self.counts[group as usize].iter().sum()
    }

    /// The share that wrote WAL among the samples of busy backends that did not wait for each other.
    pub(crate) fn wal_of_busy(&self) -> f64 {
        let seen = |state| -> f64 {
            let groups = [Group::Send, Group::Server, Group::Work, Group::Between];
            groups.map(|group| self.count(group, state)).iter().sum()
        };
        let wal = seen(BackendState::Wal);
        let busy = wal + seen(BackendState::Cpu) + seen(BackendState::DataFile);
        if busy > 0.0 { wal / busy } else { 0.0 }
    }

    /// The number of samples with this activity of the stream and this state of the backend.
    pub(crate) fn count(&self, group: Group, state: BackendState) -> f64 {
        self.counts[group as usize][state as usize]
    }
}

/// The frequencies of the states of a backend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct States {
    shares: [f64; STATES.len()],
    /// The number of samples on which the frequencies are based.
    pub samples: f64,
}

impl States {
    /// The frequencies during an activity of the stream, from its own samples and the samples of all streams; `None` if
    /// there are too few.
    pub(crate) fn during(group: Group, own: &Joint, pooled: &Joint) -> Option<States> {
        let pooled_count = pooled.in_group(group);
        if pooled_count < SAMPLES_MIN {
            return None;
        }
        let own_count = own.in_group(group);
        let shares = STATES.map(|state| {
            let pooled_share = pooled.count(group, state) / pooled_count;
            (own.count(group, state) + POOLED_WEIGHT * pooled_share) / (own_count + POOLED_WEIGHT)
        });
        Some(States {
            shares,
            samples: own_count + POOLED_WEIGHT.min(pooled_count),
        })
    }

    /// The share of a state, 0 to 1.
    pub(crate) fn share(&self, state: BackendState) -> f64 {
        self.shares[state as usize]
    }

    /// The frequencies while the stream was between phases and the backend had something to do.
    pub(crate) fn busy_between(own: &Joint) -> Option<States> {
        let for_us = [BackendState::Client, BackendState::Idle];
        let busy = STATES.map(|state| match for_us.contains(&state) {
            true => 0.0,
            false => own.count(Group::Between, state),
        });
        let samples: f64 = busy.iter().sum();
        (samples > 0.0).then(|| States {
            shares: busy.map(|count| count / samples),
            samples,
        })
    }

    /// The same frequencies, with this share of the time without a wait event counted as waiting for us.
    pub(crate) fn with_less_cpu(mut self, less: f64) -> States {
        let moved = self.shares[BackendState::Cpu as usize] * less;
        self.shares[BackendState::Cpu as usize] -= moved;
        self.shares[BackendState::Client as usize] += moved;
        self
    }

    /// The share of the time in which the backend waited for us: for bytes, for a statement, or until its own bytes
    /// were taken.
    pub(crate) fn waits_for_us(&self) -> f64 {
        self.share(BackendState::Client) + self.share(BackendState::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_stand_at_their_own_places() {
        for (index, &state) in STATES.iter().enumerate() {
            assert_eq!(state as usize, index);
        }
    }
}
