//! The evidence for the causes of a source database, and the change that helps most against each.

use crate::advice::more_streams;
use crate::cpu::Holder;
use crate::evidence::{holder_of_cpus, named};
use crate::facts::Facts;
use crate::gain::gain_without;
use crate::measurements::BackendState;
use crate::numbers::{milliseconds, percent, rate, seconds};
use crate::parts::Part;
use crate::samples::Group;
use crate::verdict::{Advice, Cause};
use crate::wait_events::{is_of_client, is_of_disk};
use inrush_rows::quantity::count;

/// A share below this is not worth a clause.
const WORTH: f64 = 0.02;
/// A longer round trip than this, in microseconds, is one between distant machines.
const ROUND_TRIP_LONG_US: u32 = 1_000;

/// Clauses for the CPU of the source's server, the most telling first.
pub(crate) fn cpu(facts: &Facts) -> Vec<String> {
    let cpu = &facts.cpu;
    let mut clauses = Vec::new();
    let stopped_s = facts.parts.of(Part::SourceStopped);
    if facts.share(stopped_s) >= WORTH {
        clauses.push(format!(
            "the source's backends were stopped (state T) for {} while streams waited for rows",
            seconds(stopped_s)
        ));
    }
    clauses.extend(holder_of_cpus(
        cpu,
        cpu.holder_for_sources(),
        cpu.sources_wait,
    ));
    clauses.extend(share_of_samples(facts, "computed", &[BackendState::Cpu]));
    if let Some(sources_s) = cpu.sources_s {
        clauses.push(format!(
            "they used {:.1} of this machine's {} cores",
            cpu.busy_cores(sources_s),
            cpu.cores
        ));
    }
    clauses
}

/// Clauses for the disk of the source's server.
pub(crate) fn disk(facts: &Facts) -> Vec<String> {
    let files = [BackendState::DataFile, BackendState::Wal];
    let mut clauses: Vec<String> = share_of_samples(facts, "read or wrote files", &files)
        .into_iter()
        .collect();
    let events = facts.source_events(is_of_disk);
    if !events.is_empty() {
        clauses.push(format!(
            "of all their samples, {}",
            named(&events, facts.source_samples.all)
        ));
    }
    let disks_are_known = !facts.measurements.machine.disk_busy_ms.is_empty();
    if disks_are_known && facts.is_source_local() {
        clauses.push(format!(
            "the busiest disk of this machine was busy {} of the time",
            percent(facts.disk_busy())
        ));
    }
    clauses
}

/// Clauses for the network from the source's server.
pub(crate) fn network(facts: &Facts) -> Vec<String> {
    let client = [BackendState::Client];
    let mut clauses: Vec<String> = share_of_samples(facts, "waited to send them", &client)
        .into_iter()
        .collect();
    let round_trip = match round_trip_us(facts) {
        Some(us) => format!(", at a round trip of {}", milliseconds(f64::from(us))),
        None => String::new(),
    };
    clauses.push(format!("it carried {}{round_trip}", carried(facts)));
    clauses
}

/// Clauses for waits of no other kind: locks, and events without a cause.
pub(crate) fn other(facts: &Facts) -> Vec<String> {
    let is_told = |event: &str| !is_of_disk(event) && !is_of_client(event);
    let events = facts.source_events(is_told);
    if events.is_empty() {
        return Vec::new();
    }
    let mut clauses = vec![format!(
        "of all samples of the source's backends, {}",
        named(&events, facts.source_samples.all)
    )];
    let blockers = facts.source_blockers();
    if !blockers.is_empty() {
        clauses.push(format!("they waited for locks of {}", blockers.join("; ")));
    }
    clauses
}

/// Of the samples that were taken while streams waited for rows, the share in these states.
fn share_of_samples(facts: &Facts, verb: &str, states: &[BackendState]) -> Option<String> {
    let waits = facts.source_wait_samples();
    let seen: f64 = states
        .iter()
        .map(|&state| facts.source_samples.count(Group::Read, state))
        .sum();
    (waits > 0.0).then(|| {
        format!(
            "the source's backends {verb} in {} of {} samples taken while streams waited for rows",
            percent(seen / waits),
            count(waits as u64)
        )
    })
}

fn round_trip_us(facts: &Facts) -> Option<u32> {
    facts.measurements.source_server.as_ref()?.round_trip_us
}

/// The rate of all rows read, as the source's server sent them.
fn carried(facts: &Facts) -> String {
    rate(facts.text_bytes() / facts.load_s.max(1e-6))
}

/// The change that helps most against a cause of the source database.
pub(crate) fn advice(facts: &Facts, cause: Cause) -> Option<Advice> {
    let all = |change: String| {
        Some(Advice {
            change,
            gain_s: gain_without(facts, cause),
        })
    };
    if cause == Cause::SourceDatabaseCpu && facts.is_source_stopped() {
        return all(
            "Find out who stops the processes of the source's server (SIGSTOP, a debugger, a frozen control group or \
             container) and let them run"
                .to_owned(),
        );
    }
    if let Some(slow) = facts.alone(cause) {
        return all(format!(
            "Cut the rows of stream {} into more pieces (`split_by`, with an index on that column), so that several streams \
             read them",
            slow.series.stream
        ));
    }
    match cause {
        Cause::SourceDatabaseCpu => cpu_advice(facts),
        Cause::SourceDatabaseDisk => all(
            "Give the source's server a faster disk or more memory (`shared_buffers`), or read from a standby with both; an \
             index for the condition saves reading the rest of the table"
                .to_owned(),
        ),
        Cause::SourceDatabaseNetwork => network_advice(facts),
        _ => match facts.source_blockers().first() {
            Some(blocker) => all(format!(
                "End the session that held the lock in the source, or load while it does not run: {blocker}"
            )),
            None if facts.source_wait_samples() > 0.0 => all(
                "The names of the wait events tell a DBA what the source's server waits for".to_owned(),
            ),
            None => all(
                "Look at the CPU and the disk of the source's server, and at the network to it: the streams waited for its \
                 rows. More streams read a table in parallel, up to `max_connections` of the source"
                    .to_owned(),
            ),
        },
    }
}

fn cpu_advice(facts: &Facts) -> Option<Advice> {
    let cause = Cause::SourceDatabaseCpu;
    let all = |change: &str| {
        Some(Advice {
            change: change.to_owned(),
            gain_s: gain_without(facts, cause),
        })
    };
    match facts.cpu.holder_for_sources() {
        Holder::Host => {
            all("Move the source's server to a machine whose host is not overcommitted")
        }
        Holder::Others => all(
            "Stop the other processes that compute on the machine of the source's server, or move them away",
        ),
        Holder::Both => all(
            "Load from another machine than that of the source's server, or give this one more cores",
        ),
        Holder::Limit | Holder::Loader | Holder::Nobody => {
            let why = match facts.is_source_local() {
                true => "a backend of the source uses one core, and cores are free",
                false => {
                    "a backend of the source uses one core, so this helps as long as its server has cores that are free \
                     (`max_connections` of the source limits them)"
                }
            };
            more_streams(facts, cause, why).or_else(|| {
                all(
                    "Give the source's server more or faster cores, or less to do for each row: fewer columns, a table \
                     instead of a view, an index for the condition",
                )
            })
        }
    }
}

fn network_advice(facts: &Facts) -> Option<Advice> {
    let cause = Cause::SourceDatabaseNetwork;
    let is_far = round_trip_us(facts).is_some_and(|us| us >= ROUND_TRIP_LONG_US);
    let more = match is_far {
        true => more_streams(
            facts,
            cause,
            "each connection to the source has a window of its own",
        ),
        false => None,
    };
    more.or_else(|| {
        Some(Advice {
            change: format!(
                "Run the load nearer to the source's server, or over a faster link, or read fewer columns: this link carries {}",
                carried(facts)
            ),
            gain_s: gain_without(facts, cause),
        })
    })
}
