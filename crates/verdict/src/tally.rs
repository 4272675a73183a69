//! Counts the samples of one backend while a run is measured.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::measurements::{BackendSamples, BackendSeries, BackendState, Phase};

/// The most holders of locks that are named.
const BLOCKERS_MAX: usize = 5;

/// What a session of a server was doing at a sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenSession {
    /// The server's process that serves the session, or the session's number.
    pub process_id: i32,
    /// The state of that process.
    pub state: BackendState,
    /// The wait event, such as `IO:DataFileRead`.
    pub event: Option<String>,
    /// The sessions whose lock it waits for, in words without a secret.
    pub blockers: Vec<String>,
}

/// The samples of one backend, or of the backends that served a stream one after the other.
#[derive(Clone, Debug, Default)]
pub struct BackendTally {
    samples: BTreeMap<(Option<Phase>, BackendState), u32>,
    events: BTreeMap<String, u32>,
    blockers: BTreeSet<String>,
    stopped: u32,
    disk_sleeps: u32,
}

impl BackendTally {
    /// Adds a sample: the phase of the stream (`None`: between phases), and the state of its backend at that moment
    /// with its wait event, such as `IO:WALWrite`.
    pub fn add(&mut self, phase: Option<Phase>, state: BackendState, event: Option<String>) {
        *self.samples.entry((phase, state)).or_default() += 1;
        if let Some(event) = event {
            *self.events.entry(event).or_default() += 1;
        }
    }

    /// Adds the state of the backend's process at a sample, by the system's letter: `T` is stopped, `D` sleeps on a
    /// device. Only for a server on this machine.
    pub fn add_process_state(&mut self, letter: Option<char>) {
        match letter {
            Some('T' | 't') => self.stopped += 1,
            Some('D') => self.disk_sleeps += 1,
            _ => {}
        }
    }

    /// Adds the holder of a lock that it waited for. Only the first few are kept.
    pub fn add_blocker(&mut self, holder: String) {
        if self.blockers.len() < BLOCKERS_MAX {
            self.blockers.insert(holder);
        }
    }

    /// The series without CPU times; `None` if there is no sample. `is_local`: the backend runs on this machine, so
    /// that its process could be observed.
    pub fn series(&self, process_id: i32, is_local: bool) -> Option<BackendSeries> {
        if self.samples.is_empty() {
            return None;
        }
        let mut events: Vec<(String, u32)> = self.events.clone().into_iter().collect();
        events.sort_by_key(|(_, samples)| Reverse(*samples));
        let samples = self.samples.iter();
        Some(BackendSeries {
            process_id,
            samples: samples
                .map(|(&(phase, state), &samples)| BackendSamples {
                    phase,
                    state,
                    samples,
                })
                .collect(),
            events,
            blockers: self.blockers.iter().cloned().collect(),
            cpu_us: None,
            cpu_wait_us: None,
            stopped_samples: is_local.then_some(self.stopped),
            disk_sleep_samples: is_local.then_some(self.disk_sleeps),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_by_phase_and_state() {
        let mut tally = BackendTally::default();
        assert_eq!(tally.series(7, true), None);
        let reading = Some(Phase::Read);
        for _ in 0..2 {
            tally.add(
                reading,
                BackendState::DataFile,
                Some("IO:DataFileRead".to_owned()),
            );
        }
        tally.add(None, BackendState::Lock, Some("Lock:relation".to_owned()));
        tally.add(reading, BackendState::Cpu, None);
        tally.add_process_state(Some('D'));
        tally.add_process_state(Some('S'));
        for holder in ["b", "a", "b", "c", "d", "e", "f"] {
            tally.add_blocker(holder.to_owned());
        }
        let series = tally.series(7, true).expect("samples");
        let found: Vec<_> = series
            .samples
            .iter()
            .map(|seen| (seen.phase, seen.state, seen.samples))
            .collect();
        let expected = [
            (None, BackendState::Lock, 1),
            (reading, BackendState::Cpu, 1),
            (reading, BackendState::DataFile, 2),
        ];
        assert_eq!(found, expected);
        assert_eq!(series.events[0], ("IO:DataFileRead".to_owned(), 2));
        assert_eq!(series.blockers, ["a", "b", "c", "d", "e"]);
        assert_eq!(
            (series.stopped_samples, series.disk_sleep_samples),
            (Some(0), Some(1))
        );
        let far = tally.series(7, false).expect("samples");
        assert_eq!((far.stopped_samples, far.disk_sleep_samples), (None, None));
    }
}
