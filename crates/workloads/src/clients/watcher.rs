//! Samples the server and the machine ten times a second while clients call, on a separate thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use inrush::BackendState;
use inrush::clients::{Seen, ServerLook};
use inrush_system::machine_cpu::MachineCpu;
use inrush_system::process;

use super::results::StateShare;

/// The time between two samples.
const INTERVAL: Duration = Duration::from_millis(100);

/// Samples per second.
const LOOKS_PER_S: u32 = 10;

/// The wall clock has jumped if it moved at least this much more or less than the monotonic clock.
const JUMP_MIN_S: f64 = 0.5;

/// The observations of a run.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// Samples that the server answered.
    pub looks: u64,
    /// The number of samples of sessions in each state.
    states: BTreeMap<BackendState, u64>,
    /// The number of samples of sessions at each wait event.
    events: BTreeMap<String, u64>,
    /// Each second.
    pub seconds: Vec<WatchedSecond>,
    /// CPU microseconds of the server's processes, if they are on this machine.
    pub server_cpu_us: Option<u64>,
    /// Context switches of the sessions' processes, if they are on this machine.
    pub server_switches: Option<u64>,
    /// Microseconds of CPU of the whole machine.
    pub machine_cpu_us: u64,
    /// Microseconds that the host gave to other machines.
    pub stolen_us: u64,
    /// Threads that ran or waited for a CPU, on average.
    pub running_mean: f64,
    /// Jumps of the wall clock: by how many seconds, and how many seconds after the start.
    pub clock_jumps: Vec<(f64, f64)>,
}

/// The observations of a second.
#[derive(Clone, Debug, Default)]
pub struct WatchedSecond {
    /// Microseconds of CPU of the clients' threads.
    pub client_cpu_us: u64,
    /// Microseconds of CPU of the server's processes.
    pub server_cpu_us: Option<u64>,
    /// Microseconds of CPU of all other processes.
    pub other_cpu_us: u64,
    /// Threads that ran or waited for a CPU at its end.
    pub running: u64,
    /// Bytes of WAL.
    pub wal_bytes: u64,
    /// Segments of WAL that were begun.
    pub wal_segments: u64,
    /// Bytes of WAL that were not flushed at its end.
    pub wal_unflushed_bytes: u64,
    /// Checkpoints that ended.
    pub checkpoints: u64,
    /// The most autovacuum workers at a time.
    pub vacuum_workers: u32,
    /// Bytes by which the table grew.
    pub extended_bytes: u64,
    /// Sessions seen in each state.
    pub states: BTreeMap<BackendState, u64>,
}

impl Watched {
    /// The share of each state in all samples of sessions, the largest first.
    pub fn states(&self) -> Vec<StateShare> {
        shares(self.states.iter().map(|(state, seen)| (*state, *seen)))
    }

    /// The share of each wait event in all samples of sessions, the largest first; a session without one counts as
    /// `CPU`.
    pub fn events(&self) -> Vec<(String, f64)> {
        let all: u64 = self.states.values().sum();
        let events = self.events.iter();
        let mut found: Vec<(String, f64)> = events
            .map(|(name, seen)| (name.clone(), *seen as f64 / all.max(1) as f64))
            .collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1));
        found
    }

    /// Sessions that were doing something for their clients, on average.
    pub fn active_mean(&self) -> Option<f64> {
        let waits = [BackendState::Idle, BackendState::Client];
        let active = self
            .states
            .iter()
            .filter(|(state, _)| !waits.contains(state));
        let active: u64 = active.map(|(_, seen)| seen).sum();
        (self.looks > 0).then(|| active as f64 / self.looks as f64)
    }
}

fn shares(states: impl Iterator<Item = (BackendState, u64)>) -> Vec<StateShare> {
    let states: Vec<_> = states.collect();
    let all: u64 = states.iter().map(|(_, seen)| seen).sum();
    let mut found: Vec<StateShare> = states
        .into_iter()
        .map(|(state, seen)| StateShare {
            state,
            share: seen as f64 / all.max(1) as f64,
        })
        .collect();
    found.sort_by(|one, other| other.share.total_cmp(&one.share));
    found
}

/// CPU counters of processes, including processes that have ended: each keeps its last value.
#[derive(Default)]
struct Processes {
    last: BTreeMap<i32, u64>,
    sum_us: u64,
}

impl Processes {
    fn read(&mut self, processes: &[i32]) -> u64 {
        for process_id in processes {
            let Some((now, _)) = process::cpu_us(*process_id) else {
                continue;
            };
            let before = self.last.insert(*process_id, now).unwrap_or(now);
            self.sum_us += now.saturating_sub(before);
        }
        self.sum_us
    }
}

/// The observed processes and sessions.
pub struct Subjects<'a> {
    /// The server's processes of the clients' sessions.
    pub sessions: &'a [i32],
    /// The workers' threads.
    pub threads: &'a [i32],
    /// The moment at which the run began.
    pub start: Instant,
}

/// Takes samples until the run has ended.
pub fn watch(
    mut look: Box<dyn ServerLook + '_>,
    subjects: &Subjects<'_>,
    ended: &AtomicBool,
) -> Watched {
    let mut watched = Watched::default();
    let mut server = Processes::default();
    let local = local_processes(look.as_mut(), subjects);
    let is_local = !local.is_empty();
    let switches = |sessions: &[i32]| -> u64 {
        let known = sessions.iter().copied();
        known.filter_map(process::context_switches).sum()
    };
    let switches_before = switches(subjects.sessions);
    let looker = look.own_process();
    let read_server = |look: &mut dyn ServerLook, server: &mut Processes| {
        let mut processes = local_processes(look, subjects);
        processes.retain(|process_id| *process_id != looker);
        server.read(&processes)
    };
    let read_clients = || -> u64 {
        let threads = subjects.threads.iter();
        threads
            .filter_map(|thread| Some(process::thread_cpu_us(*thread)?.0))
            .sum()
    };
    let mut last = Last {
        client_us: read_clients(),
        server_us: if is_local {
            read_server(look.as_mut(), &mut server)
        } else {
            0
        },
        machine: MachineCpu::read().unwrap_or_default(),
        seen: None,
        wall: SystemTime::now(),
        at: Instant::now(),
    };
    let machine_before = last.machine;
    let (mut number, mut running) = (0_u32, 0_u64);
    let mut present = WatchedSecond::default();
    while !ended.load(Ordering::Acquire) {
        number += 1;
        let due = subjects.start + INTERVAL * number;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // If this thread gets no CPU in time, it skips samples.
        let passed = subjects.start.elapsed().as_millis() / INTERVAL.as_millis();
        number = number.max(u32::try_from(passed).unwrap_or(u32::MAX));
        if let Some(seen) = look.look() {
            watched.count(&seen, &mut present);
            last.note_seen(seen, &mut present);
        }
        note_jump(&mut watched, &mut last, subjects.start);
        if number / LOOKS_PER_S > watched.seconds.len() as u32 {
            let machine = MachineCpu::read().unwrap_or(last.machine);
            let client_us = read_clients();
            present.client_cpu_us = client_us.saturating_sub(last.client_us);
            let mut known = present.client_cpu_us;
            if is_local {
                let server_us = read_server(look.as_mut(), &mut server);
                present.server_cpu_us = Some(server_us - last.server_us);
                known += server_us - last.server_us;
                last.server_us = server_us;
            }
            let busy = machine.busy_us.saturating_sub(last.machine.busy_us);
            present.other_cpu_us = busy.saturating_sub(known);
            present.running = machine.running;
            running += machine.running;
            last.client_us = client_us.max(last.client_us);
            last.machine = machine;
            let seconds = (number / LOOKS_PER_S) as usize;
            // A second without any sample has no figures.
            while watched.seconds.len() + 1 < seconds {
                watched.seconds.push(WatchedSecond::default());
            }
            watched.seconds.push(std::mem::take(&mut present));
        }
    }
    let machine = MachineCpu::read().unwrap_or(last.machine);
    watched.machine_cpu_us = machine.busy_us.saturating_sub(machine_before.busy_us);
    watched.stolen_us = machine.stolen_us.saturating_sub(machine_before.stolen_us);
    watched.running_mean = running as f64 / watched.seconds.len().max(1) as f64;
    if is_local {
        watched.server_cpu_us = Some(read_server(look.as_mut(), &mut server));
        let after = switches(subjects.sessions);
        watched.server_switches = Some(after.saturating_sub(switches_before));
    }
    watched
}

/// The figures of the last sample.
struct Last {
    client_us: u64,
    server_us: u64,
    machine: MachineCpu,
    seen: Option<Seen>,
    wall: SystemTime,
    at: Instant,
}

impl Last {
    fn note_seen(&mut self, seen: Seen, second: &mut WatchedSecond) {
        if let Some(before) = &self.seen {
            second.wal_bytes += seen.wal_inserted.saturating_sub(before.wal_inserted);
            let segment = |at: u64| at / seen.wal_segment_bytes.max(1);
            second.wal_segments +=
                segment(seen.wal_inserted).saturating_sub(segment(before.wal_inserted));
            second.checkpoints += seen.checkpoints.saturating_sub(before.checkpoints);
            second.extended_bytes += seen.table_bytes.saturating_sub(before.table_bytes);
        }
        second.wal_unflushed_bytes = seen.wal_inserted.saturating_sub(seen.wal_flushed);
        second.vacuum_workers = second.vacuum_workers.max(seen.vacuum_workers);
        self.seen = Some(seen);
    }
}

impl Watched {
    fn count(&mut self, seen: &Seen, second: &mut WatchedSecond) {
        self.looks += 1;
        for (state, event, sessions) in &seen.sessions {
            let sessions = u64::from(*sessions);
            *self.states.entry(*state).or_default() += sessions;
            *second.states.entry(*state).or_default() += sessions;
            let event = match (event.is_empty(), state) {
                (true, BackendState::Cpu) => "CPU",
                _ => event,
            };
            if !event.is_empty() {
                *self.events.entry(event.to_owned()).or_default() += sessions;
            }
        }
    }
}

fn local_processes(look: &mut dyn ServerLook, subjects: &Subjects<'_>) -> Vec<i32> {
    let first = subjects.sessions.first();
    first.map_or_else(Vec::new, |process_id| look.processes(*process_id))
}

/// Notes a jump of the wall clock. Times are measured with the monotonic clock, which cannot be set.
fn note_jump(watched: &mut Watched, last: &mut Last, start: Instant) {
    let (wall, at) = (SystemTime::now(), Instant::now());
    let passed = at.saturating_duration_since(last.at);
    if let Some(jump_s) = jump_s(last.wall, wall, passed) {
        let after_s = start.elapsed().as_secs_f64();
        watched.clock_jumps.push((jump_s, after_s));
    }
    (last.wall, last.at) = (wall, at);
}

/// The number of seconds by which the wall clock jumped; `None` if it did not.
fn jump_s(before: SystemTime, after: SystemTime, passed: Duration) -> Option<f64> {
    let moved_s = match after.duration_since(before) {
        Ok(forward) => forward.as_secs_f64(),
        Err(back) => -back.duration().as_secs_f64(),
    };
    let jump_s = moved_s - passed.as_secs_f64();
    (jump_s.abs() >= JUMP_MIN_S).then_some(jump_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_is_noticed() {
        let second = Duration::from_secs(1);
        let now = SystemTime::now();
        assert_eq!(jump_s(now, now + second, second), None);
        assert_eq!(jump_s(now, now + 3600 * second, second), Some(3599.0));
        assert_eq!(jump_s(now + 60 * second, now, second), Some(-61.0));
    }

    #[test]
    fn samples_become_shares() {
        let mut watched = Watched::default();
        let mut second = WatchedSecond::default();
        let seen = Seen {
            sessions: vec![
                (BackendState::Wal, "IO:WALSync".to_owned(), 6),
                (BackendState::Cpu, String::new(), 2),
                (BackendState::Idle, "Client:ClientRead".to_owned(), 2),
            ],
            ..Seen::default()
        };
        watched.count(&seen, &mut second);
        watched.count(&seen, &mut second);
        assert_eq!(watched.states()[0].state, BackendState::Wal);
        assert!((watched.states()[0].share - 0.6).abs() < 1e-12);
        assert_eq!(watched.active_mean(), Some(8.0));
        assert_eq!(watched.events()[0].0, "IO:WALSync");
        assert_eq!(second.states[&BackendState::Wal], 12);
    }
}
