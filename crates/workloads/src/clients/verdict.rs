//! The verdict about calls: the limit in a few words, its evidence, and a change that helps. It uses only the
//! measurements of a run: no clock, no I/O.
//!
//! A client's session either works or waits for its client. If most sessions work, their wait events show the limit. If
//! most wait for their clients, the limit is the clients, the network or the switches between processes. If the machine
//! has no free CPU, that explains both.

use inrush::BackendState;

use super::results::{PointResult, RunResult, VerdictResult, middle_run};

/// The share of CPU from which a machine, or the clients' threads, count as fully used.
const FULL: f64 = 0.85;
/// The share of a call from which the network counts as the limit.
const NETWORK_SHARE: f64 = 0.4;
/// The rate of an open loop is held if at most this share is missing.
const HELD: f64 = 0.01;
/// The curve bends at the point after which the gain is less than this share.
const BEND_SHARE: f64 = 0.05;
/// A state whose share of samples grew by this much explains a bend of the curve.
const GROWTH_MIN: f64 = 0.05;

/// The verdict of a run.
pub fn judge(run: &RunResult) -> VerdictResult {
    let facts = Facts::of(run);
    let (limit, change) = facts.limit(run);
    let evidence = facts.evidence(run);
    let line = format!(
        "{limit}: {}. {change}",
        evidence.first().map_or("no evidence", String::as_str)
    );
    VerdictResult {
        line,
        limit,
        evidence,
        change,
    }
}

/// The shares of time from which the verdict is derived.
struct Facts {
    waits_for_client: f64,
    machine_full: f64,
    clients_full: f64,
    network: f64,
}

impl Facts {
    fn of(run: &RunResult) -> Facts {
        let cpu = &run.cpu;
        let busy = cpu.clients + cpu.server.unwrap_or(0.0) + cpu.others + cpu.stolen;
        let call_us = run.round_trip.call_us.max(1e-9);
        Facts {
            waits_for_client: share(run, BackendState::Idle) + share(run, BackendState::Client),
            machine_full: busy / cpu.cores.max(1) as f64,
            clients_full: cpu.clients / cpu.threads.max(1) as f64,
            network: run.round_trip.tcp_us.unwrap_or(0.0) / call_us,
        }
    }

    /// The limit in a few words, and what to change.
    fn limit(&self, run: &RunResult) -> (String, String) {
        if let Some(open) = run.open_loop.filter(|open| open.behind_share <= HELD) {
            return (
                "the rate that was asked for".to_owned(),
                format!(
                    "The server took {:.0} calls/s without falling behind; raise --rate to find its limit",
                    open.rate_made
                ),
            );
        }
        let Some(largest) = run
            .states
            .iter()
            .filter(|state| !matches!(state.state, BackendState::Idle | BackendState::Client))
            .max_by(|one, other| one.share.total_cmp(&other.share))
            .filter(|largest| largest.share > self.waits_for_client)
        else {
            return self.beside_the_server(run);
        };
        let event = event_of(run, largest.state);
        let named = event.map_or(String::new(), |event| format!(" ({event})"));
        let (limit, change) = match largest.state {
            BackendState::Wal => (
                format!("the flush of the WAL at COMMIT{named}"),
                "Put the WAL on a faster disk; commit several statements at once (--commit-every); or set \
                 synchronous_commit = off, if the last moments before a crash may be lost",
            ),
            BackendState::DataFile => (
                format!("data files{named}"),
                "Raise shared_buffers so that the table and its index fit, or use a faster disk",
            ),
            BackendState::Lock => (
                format!("locks of other sessions{named}"),
                "Find the session that holds them, and keep other work away from the table",
            ),
            BackendState::Internal => (
                format!("locks within the server{named}"),
                internal_change(event.unwrap_or_default()),
            ),
            BackendState::Cpu if self.machine_full >= FULL => return machine_full(run),
            BackendState::Cpu => (
                "the time that the server computes for one call".to_owned(),
                "More clients use the free CPUs; fewer or prepared statements make a call cheaper",
            ),
            _ => (
                format!("waits within the server{named}"),
                "Look at the wait events of the run",
            ),
        };
        (limit, change.to_owned())
    }

    /// The limit if most sessions wait for their clients.
    fn beside_the_server(&self, run: &RunResult) -> (String, String) {
        if run.looks == 0 {
            return (
                "unknown: the server was not seen".to_owned(),
                "Let the run take some seconds, and let the role see its own sessions".to_owned(),
            );
        }
        if self.machine_full >= FULL {
            return machine_full(run);
        }
        if self.clients_full >= FULL {
            return (
                "the clients' threads".to_owned(),
                "Give the clients more threads (--threads) or another machine".to_owned(),
            );
        }
        if self.network >= NETWORK_SHARE {
            return (
                "the round trip of the network".to_owned(),
                "Use more clients, several calls under way (--pipeline), or several statements in one call"
                    .to_owned(),
            );
        }
        (
            "the change from client to server and back".to_owned(),
            "More clients, or several calls under way (--pipeline), keep both sides at work"
                .to_owned(),
        )
    }

    fn evidence(&self, run: &RunResult) -> Vec<String> {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let mut found = Vec::new();
        if run.looks > 0 {
            let events: Vec<String> = run
                .events
                .iter()
                .filter(|(_, share)| *share >= 0.01)
                .take(4)
                .map(|(name, share)| format!("{name} {}", percent(*share)))
                .collect();
            found.push(format!(
                "sessions were seen in {}, and waited for their clients in {} of the samples",
                events.join(", "),
                percent(self.waits_for_client)
            ));
        }
        let cpu = &run.cpu;
        found.push(match cpu.server {
            Some(server) => format!(
                "of {} cores the clients used {:.2}, the server {server:.2}, others {:.2}",
                cpu.cores, cpu.clients, cpu.others
            ),
            None => format!(
                "of {} cores here the clients used {:.2}, others {:.2}; the server is on another machine",
                cpu.cores, cpu.clients, cpu.others
            ),
        });
        if let Some(server_us) = run.round_trip.server_us {
            found.push(format!(
                "a call takes {:.0} us, of which it is at the server for {server_us:.0} us{}",
                run.round_trip.call_us,
                run.round_trip
                    .tcp_us
                    .map_or(String::new(), |tcp_us| format!(
                        " and TCP's round trip takes {tcp_us:.0} us"
                    ))
            ));
        }
        if let Some(commits) = run.wal.commits_per_flush {
            found.push(format!(
                "one flush of the WAL commits {commits:.1} transactions"
            ));
        }
        if run.cpu.running > run.cpu.cores as f64 {
            found.push(format!(
                "{:.1} threads wanted one of {} cores",
                run.cpu.running, run.cpu.cores
            ));
        }
        if let Some(open) = run.open_loop {
            found.push(format!(
                "{:.0} calls/s of {:.0} were made, {} behind",
                open.rate_made,
                open.rate_asked,
                percent(open.behind_share)
            ));
        }
        found
    }
}

fn machine_full(run: &RunResult) -> (String, String) {
    let cpu = &run.cpu;
    let whole = (cpu.clients + cpu.server.unwrap_or(0.0) + cpu.others).max(1e-9);
    let others = (cpu.others + cpu.stolen) / whole;
    let change = match cpu.server {
        _ if others >= 0.3 => "Other work takes much of this machine: measure when it is quiet",
        None => "Give the clients more cores, or another machine",
        Some(server) if server > cpu.clients => {
            "Give the server more cores, move the clients to another machine, or make a call cheaper \
             (--protocol prepared)"
        }
        Some(_) => "Move the clients to another machine",
    };
    (
        format!("this machine's {} CPUs", cpu.cores),
        change.to_owned(),
    )
}

/// The change that helps against an internal lock of the server.
fn internal_change(event: &str) -> &'static str {
    if event.contains("extend") {
        "Extending the table holds all clients up: PostgreSQL 16 and later extend it by several pages at a time; use \
         fewer clients, or several tables"
    } else if event.contains("BufferContent") || event.contains("BufferMapping") {
        "Clients meet at the same pages: use a random key (--key random), fewer clients, or several tables"
    } else {
        "Clients meet within the server: use fewer clients, or larger statements (--batch)"
    }
}

fn share(run: &RunResult, state: BackendState) -> f64 {
    let of = run.states.iter().find(|share| share.state == state);
    of.map_or(0.0, |share| share.share)
}

/// The most frequent wait event of a state.
fn event_of(run: &RunResult, state: BackendState) -> Option<&str> {
    let belongs = |event: &str| match state {
        BackendState::Wal => {
            event.to_ascii_lowercase().contains("wal") || event.contains("SyncRep")
        }
        BackendState::DataFile => event.contains("DataFile") || event.contains("BufferIO"),
        BackendState::Lock => event.starts_with("Lock:") && !event.ends_with("extend"),
        BackendState::Internal => ["Lock:extend", "LWLock:", "Buffer"]
            .iter()
            .any(|start| event.starts_with(start)),
        _ => event != "CPU" && !event.starts_with("Client:"),
    };
    let mut events = run.events.iter();
    events
        .find(|(event, _)| belongs(event))
        .map(|(event, _)| event.as_str())
}

/// The verdict over a curve: the best point, its limit, and why the rate grows no further.
pub fn over_all(curve: &[PointResult], runs: &[RunResult], counted: &str) -> Option<VerdictResult> {
    let at = curve.iter().position(|point| point.is_best)?;
    let best = &curve[at];
    let run = middle_run(runs, best.clients)?;
    let verdict = &run.verdict;
    let mut evidence = verdict.evidence.clone();
    let bend = bend(curve, runs, at);
    evidence.extend(bend.clone());
    let clients = match best.clients {
        1 => "1 client".to_owned(),
        clients => format!("{clients} clients"),
    };
    let first = format!(
        "{clients} made the most, {} {counted}/s; the limit there is {}.",
        grouped(best.calls_per_s),
        verdict.limit
    );
    let bend = bend.map_or(String::new(), |bend| format!(" {}.", upper(&bend)));
    Some(VerdictResult {
        line: format!("{first}{bend} {}.", verdict.change.trim_end_matches('.')),
        limit: verdict.limit.clone(),
        evidence,
        change: verdict.change.clone(),
    })
}

/// Why the curve bends: the state whose share of samples grew most from the best point to the next one.
fn bend(curve: &[PointResult], runs: &[RunResult], at: usize) -> Option<String> {
    let (best, next) = (&curve[at], curve.get(at + 1)?);
    if next.calls_per_s > best.calls_per_s * (1.0 + BEND_SHARE) {
        return None;
    }
    let (before, after) = (
        middle_run(runs, best.clients)?,
        middle_run(runs, next.clients)?,
    );
    let grew = |event: &str, share: f64| {
        let known = before.events.iter().find(|(known, _)| known == event);
        share - known.map_or(0.0, |(_, share)| *share)
    };
    let most = after
        .events
        .iter()
        .map(|(event, share)| (event, grew(event, *share), *share))
        .max_by(|one, other| one.1.total_cmp(&other.1))
        .filter(|(_, growth, _)| *growth >= GROWTH_MIN);
    let lost = (1.0 - next.calls_per_s / best.calls_per_s.max(1e-9)) * 100.0;
    let words = match lost {
        lost if lost >= 1.0 => format!("{lost:.0} % fewer"),
        _ => "no more".to_owned(),
    };
    Some(match most {
        Some((event, growth, share)) => format!(
            "{} clients made {words}: {event} grew from {:.0} % to {:.0} % of the samples",
            next.clients,
            (share - growth) * 100.0,
            share * 100.0
        ),
        None => format!(
            "{} clients made {words}, with the same waits: {}",
            next.clients, next.limit
        ),
    })
}

fn grouped(number: f64) -> String {
    inrush::quantity::count(number.round() as u64)
}

fn upper(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::results::{OpenLoopResult, curve, tests::run};

    fn limit(change: impl FnOnce(&mut RunResult), states: &[(BackendState, f64)]) -> String {
        let mut run = run(1, 16, 1000.0, states);
        change(&mut run);
        judge(&run).limit
    }

    #[test]
    fn each_cause_is_told_by_its_evidence() {
        use BackendState::{Cpu, Idle, Internal, Lock, Wal};
        let told = limit(
            |run| run.events = vec![("IO:WALSync".to_owned(), 0.7)],
            &[(Wal, 0.7), (Idle, 0.2), (Cpu, 0.1)],
        );
        assert_eq!(told, "the flush of the WAL at COMMIT (IO:WALSync)");
        let told = limit(|_| {}, &[(Cpu, 0.8), (Idle, 0.2)]);
        assert_eq!(told, "the time that the server computes for one call");
        let told = limit(|run| run.cpu.server = Some(6.0), &[(Cpu, 0.8), (Idle, 0.2)]);
        assert_eq!(told, "this machine's 8 CPUs");
        let told = limit(|run| run.cpu.clients = 3.9, &[(Idle, 0.9), (Cpu, 0.1)]);
        assert_eq!(told, "the clients' threads");
        let told = limit(
            |run| run.round_trip.tcp_us = Some(run.round_trip.call_us * 0.8),
            &[(Idle, 0.9), (Cpu, 0.1)],
        );
        assert_eq!(told, "the round trip of the network");
        let told = limit(|_| {}, &[(Idle, 0.9), (Cpu, 0.1)]);
        assert_eq!(told, "the change from client to server and back");
        let told = limit(
            |run| run.events = vec![("Lock:extend".to_owned(), 0.6)],
            &[(Internal, 0.6), (Lock, 0.1), (Cpu, 0.3)],
        );
        assert_eq!(told, "locks within the server (Lock:extend)");
        let told = limit(
            |run| {
                run.open_loop = Some(OpenLoopResult {
                    rate_asked: 1000.0,
                    rate_made: 999.0,
                    behind_share: 0.001,
                    not_begun: 0,
                    late_s: 0.0,
                });
            },
            &[(Cpu, 0.8)],
        );
        assert_eq!(told, "the rate that was asked for");
        assert!(limit(|run| run.looks = 0, &[]).starts_with("unknown"));
    }

    #[test]
    fn a_bend_is_explained_by_the_wait_that_grew() {
        let states = [(BackendState::Cpu, 0.9)];
        let mut best = run(1, 16, 1000.0, &states);
        best.events = vec![
            ("CPU".to_owned(), 0.9),
            ("LWLock:WALInsert".to_owned(), 0.05),
        ];
        best.verdict = judge(&best);
        let mut worse = run(1, 128, 800.0, &[(BackendState::Wal, 0.6)]);
        worse.events = vec![
            ("LWLock:WALInsert".to_owned(), 0.6),
            ("CPU".to_owned(), 0.4),
        ];
        worse.verdict = judge(&worse);
        let runs = [best, worse];
        let told = over_all(&curve(&runs), &runs, "inserts").expect("there is a best point");
        assert!(
            told.line
                .starts_with("16 clients made the most, 1,000 inserts/s"),
            "{}",
            told.line
        );
        assert!(
            told.line.contains(
                "128 clients made 20 % fewer: LWLock:WALInsert grew from 5 % to 60 % of the samples"
            ),
            "{}",
            told.line
        );
        assert!(over_all(&[], &[], "calls").is_none());
    }
}
