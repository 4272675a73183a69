//! The evidence for each cause, in words and figures. The first clause of each is printed in the verdict's line.

use crate::cpu::{Cpu, Holder};
use crate::facts::Facts;
use crate::measurements::{BackendState, Phase, StoredUnits};
use crate::numbers::{bytes, milliseconds, percent, rate, seconds};
use crate::parts::Part;
use crate::samples::Group;
use crate::source_words;
use crate::timeline::seconds_of;
use crate::verdict::Cause;
use crate::wait_events::{is_internal, is_of_disk, is_other};
use inrush_rows::quantity::{count, counted};

/// A share below this is not worth a clause.
const WORTH: f64 = 0.02;
/// The number of wait events that are named.
const EVENTS_MAX: usize = 3;
/// The number of sessions with locks that are named.
const BLOCKERS_MAX: usize = 2;

/// Clauses for a cause, the most telling first.
pub(crate) fn evidence(facts: &Facts, cause: Cause) -> Vec<String> {
    match cause {
        Cause::SourceRead => source_read(facts),
        Cause::SourceDatabaseCpu => source_words::cpu(facts),
        Cause::SourceDatabaseDisk => source_words::disk(facts),
        Cause::SourceDatabaseNetwork => source_words::network(facts),
        Cause::Decompression => decompression(facts),
        Cause::ClientCpu => client_cpu(facts),
        Cause::TransformCpu => transform_cpu(facts),
        Cause::NetworkLatency => latency(facts),
        Cause::NetworkRate => link_rate(facts),
        Cause::NetworkLoss => loss(facts),
        Cause::DestinationCpu => destination_cpu(facts),
        Cause::DestinationDisk => destination_disk(facts),
        Cause::DestinationLocks => destination_locks(facts),
        Cause::Coordination => coordination(facts),
        Cause::Pace => vec![format!(
            "streams waited for {} in all because of the package's limits",
            seconds(facts.parts.of(Part::Pace))
        )],
        Cause::Undecided => undecided(facts),
    }
}

/// How units were stored and, if they went by COPY, the reason.
fn stored_by(stored: &StoredUnits) -> String {
    let units = counted(stored.units, "unit");
    match (&*stored.way, &stored.reason) {
        ("copy", Some(reason)) => format!("{units} used COPY: {reason}"),
        ("copy", None) => format!("{units} used COPY"),
        (way, _) => format!("{units} used the server's extension (way `{way}`)"),
    }
}

fn source_read(facts: &Facts) -> Vec<String> {
    let mut clauses = source_words::other(facts);
    let read_s = facts.parts.of(Part::FileRead);
    let fed_s = facts.parts.of(Part::FeedRead);
    if let Some(feed) = facts.busiest_feed().filter(|_| fed_s > read_s) {
        clauses.push(format!(
            "streams waited {} until {} was read, which kept its only reader busy for {} of {}",
            seconds(fed_s),
            feed.file,
            seconds(seconds_of(&feed.read_us)),
            seconds(facts.load_s)
        ));
    }
    if let Some(slow) = facts.alone(Cause::SourceRead) {
        clauses.push(format!(
            "stream {} alone spent {} of it, and read {} a second",
            slow.series.stream,
            seconds(slow.parts.of_cause(Cause::SourceRead)),
            bytes(rate_of(facts, slow.series.stream))
        ));
    } else if read_s > 0.0 && facts.text_bytes() > 0.0 {
        clauses.push(format!(
            "a stream in a read call got {} a second",
            bytes(facts.text_bytes() / facts.in_phase(Phase::Read).max(1e-6))
        ));
    }
    let stored = facts.stored_bytes();
    let disks_are_known = !facts.measurements.machine.disk_read_bytes.is_empty();
    if stored > 0.0 && disks_are_known && !facts.measurements.reads_database {
        let from_disks = facts.disk_read_bytes() / stored;
        clauses.push(if from_disks < 0.5 {
            format!(
                "this machine's disks read only {} for {} of files: the rest came from the cache, over a network or through \
                 a pipe",
                bytes(facts.disk_read_bytes()),
                bytes(stored)
            )
        } else {
            format!(
                "this machine's disks read {}, the busiest was busy {} of the time",
                rate(facts.disk_read_bytes() / facts.load_s.max(1e-6)),
                percent(facts.disk_busy())
            )
        });
    }
    clauses
}

fn rate_of(facts: &Facts, stream: usize) -> f64 {
    let found = facts.streams.iter().find(|one| one.series.stream == stream);
    let step_s = f64::from(facts.measurements.step_ms) / 1e3;
    found.map_or(0.0, |one| one.text_rate(step_s, 0.0, one.ended_s()))
}

fn decompression(facts: &Facts) -> Vec<String> {
    let mut clauses = Vec::new();
    let fed_s = facts.parts.of(Part::FeedDecompress);
    let own_s = facts.parts.of(Part::FileDecompress);
    if let Some(feed) = facts.busiest_feed().filter(|_| fed_s > 0.0) {
        clauses.push(format!(
            "streams waited {} for {}, which one thread decompressed for {} of {}",
            seconds(fed_s),
            feed.file,
            seconds(seconds_of(&feed.decompress_us)),
            seconds(facts.load_s)
        ));
    }
    if own_s > 0.0 {
        clauses.push(format!("streams decompressed for {}", seconds(own_s)));
    }
    clauses
}

fn client_cpu(facts: &Facts) -> Vec<String> {
    let cpu = &facts.cpu;
    let mut clauses = Vec::new();
    match cpu.holder_for_loader() {
        Holder::Limit => clauses.push(format!(
            "its control group was throttled for {}",
            seconds(cpu.throttled_s)
        )),
        holder => clauses.extend(holder_of_cpus(cpu, holder, cpu.streams_wait)),
    }
    let phases = [
        (Phase::Scan, "scanning"),
        (Phase::Convert, "converting"),
        (Phase::Verify, "summing up"),
        (Phase::Encode, "encoding"),
    ];
    let mut spent: Vec<(f64, &str)> = phases
        .into_iter()
        .map(|(phase, verb)| (facts.in_phase(phase), verb))
        .collect();
    spent.push((facts.parts.of(Part::Between), "between these"));
    spent.push((
        facts.parts.of(Part::HandOver),
        "waiting until the loader's own threads handed blocks over",
    ));
    spent.push((
        facts.parts.of(Part::Receive),
        "receiving rows that the source had ready",
    ));
    spent.push((
        facts.parts.of(Part::FeedScan),
        "waiting for a feed that scanned",
    ));
    spent.retain(|&(spent_s, _)| facts.share(spent_s) >= WORTH);
    spent.sort_by(|one, other| other.0.total_cmp(&one.0));
    if !spent.is_empty() {
        let words: Vec<String> = spent
            .into_iter()
            .map(|(spent_s, verb)| format!("{verb} {}", percent(facts.share(spent_s))))
            .collect();
        clauses.push(format!("streams were {}", words.join(", ")));
    }
    if cpu.loader_s > 0.0 {
        clauses.push(format!(
            "the loader used {:.1} of {} cores",
            cpu.busy_cores(cpu.loader_s),
            cpu.cores
        ));
    }
    clauses
}

fn transform_cpu(facts: &Facts) -> Vec<String> {
    let cpu = &facts.cpu;
    let spent_s = facts.parts.of(Part::Transform);
    let mut clauses = vec![format!(
        "streams passed rows through their steps for {}",
        seconds(spent_s)
    )];
    clauses.extend(holder_of_cpus(
        cpu,
        cpu.holder_for_loader(),
        cpu.streams_wait,
    ));
    clauses
}

/// The holder of the CPUs, in figures.
pub(crate) fn holder_of_cpus(cpu: &Cpu, holder: Holder, waits: Option<f64>) -> Option<String> {
    let cores = |seconds: f64| format!("{:.1}", cpu.busy_cores(seconds));
    let waited = waits.map_or(String::new(), |share| {
        format!(
            ", and threads that needed one waited {} of the time",
            percent(share)
        )
    });
    match holder {
        Holder::Host => Some(format!(
            "the host took {} of {} cores away (steal){waited}",
            cores(cpu.stolen_s),
            cpu.cores
        )),
        // A process that is pinned has fewer cores than the machine.
        Holder::Others if cpu.busy_cores(cpu.others_s) > cpu.cores => Some(format!(
            "other processes of this machine had {} cores, and the loader may use {}{waited}",
            cores(cpu.others_s),
            cpu.cores
        )),
        Holder::Others => Some(format!(
            "other processes of this machine had {} of {} cores{waited}",
            cores(cpu.others_s),
            cpu.cores
        )),
        Holder::Both => {
            let servers = [
                (cpu.backends_s, "the server's backends"),
                (cpu.sources_s, "the source's backends"),
            ];
            let had: Vec<String> = servers
                .into_iter()
                .filter_map(|(used_s, who)| Some((used_s?, who)))
                .map(|(used_s, who)| format!("{who} had {}", cores(used_s)))
                .collect();
            Some(format!(
                "of this machine's {} cores {} and the loader {}",
                cpu.cores,
                had.join(", "),
                cores(cpu.loader_s)
            ))
        }
        Holder::Loader => Some(format!(
            "the loader had {} of {} cores, and none was free",
            cores(cpu.loader_s),
            cpu.cores
        )),
        Holder::Limit | Holder::Nobody => None,
    }
}

fn latency(facts: &Facts) -> Vec<String> {
    let mut clauses = Vec::new();
    let Some(link) = &facts.network else {
        return clauses;
    };
    let round_trip = milliseconds(link.round_trip_us);
    if facts.parts.of(Part::Window) > 0.0 {
        let sent = facts.sent_bytes() / facts.stream_s().max(1e-6);
        clauses.push(format!(
            "the round trip takes {round_trip} and each connection sent {}, so {} were under way",
            rate(sent),
            bytes(sent * link.round_trip_us / 1e6)
        ));
        clauses.push(format!(
            "the receiver's window was the limit {} of the time with data to deliver; congestion control would allow {} under way",
            percent(link.receiver_share),
            bytes(link.congestion_window_bytes)
        ));
    }
    let answers_s = facts.parts.of(Part::RoundTrips);
    if facts.share(answers_s) >= WORTH {
        clauses.push(format!(
            "streams waited {} for answers of a server that had nothing to do, at a round trip of {round_trip}",
            seconds(answers_s)
        ));
    }
    clauses
}

fn link_rate(facts: &Facts) -> Vec<String> {
    let sent = facts.sent_bytes() / facts.load_s.max(1e-6);
    let mut clauses = vec![format!(
        "all connections together carried only {}",
        rate(sent)
    )];
    let Some(link) = &facts.network else {
        return clauses;
    };
    if link.has_queue() {
        clauses.push(format!(
            "segments queued before the link: the round trip was {}, and the shortest one {}",
            milliseconds(link.round_trip_us),
            milliseconds(link.round_trip_min_us)
        ));
    }
    if link.is_loopback && link.shut_s > link.open_s {
        clauses.push(
            "the server waited for bytes that had been sent: a pooler, a proxy or a tunnel in between holds them"
                .to_owned(),
        );
    }
    if link.sent_again > 0 {
        clauses.push(lost(facts));
    }
    clauses
}

fn lost(facts: &Facts) -> String {
    let link = facts.network.clone().unwrap_or_default();
    format!(
        "{} of {} segments were sent again ({:.2} %)",
        count(link.sent_again),
        count(link.segments),
        link.loss_share() * 100.0
    )
}

fn loss(facts: &Facts) -> Vec<String> {
    let Some(link) = &facts.network else {
        return Vec::new();
    };
    vec![
        lost(facts),
        format!(
            "no queue explains it: the round trip was {}, and the shortest one {}",
            milliseconds(link.round_trip_us),
            milliseconds(link.round_trip_min_us)
        ),
        format!(
            "the congestion window was {}",
            bytes(link.congestion_window_bytes)
        ),
    ]
}

fn destination_cpu(facts: &Facts) -> Vec<String> {
    let cpu = &facts.cpu;
    let mut clauses = Vec::new();
    let stopped_s = facts.parts.of(Part::Stopped);
    if facts.share(stopped_s) >= WORTH {
        clauses.push(format!(
            "backends were stopped (state T) for {} of the {} that streams waited for them",
            seconds(stopped_s),
            seconds(facts.waits_s())
        ));
    }
    clauses.extend(holder_of_cpus(
        cpu,
        cpu.holder_for_backends(),
        cpu.backends_wait,
    ));
    let waits = facts.wait_samples();
    if waits > 0.0 {
        let computing = facts.samples.count(Group::Send, BackendState::Cpu)
            + facts.samples.count(Group::Server, BackendState::Cpu);
        clauses.push(format!(
            "backends computed in {} of {} samples taken while streams waited for them",
            percent(computing / waits),
            count(waits as u64)
        ));
    } else if let Some(backends_s) = cpu.backends_s {
        clauses.push(format!(
            "backends used {:.1} cores",
            cpu.busy_cores(backends_s)
        ));
    }
    let used_s: Option<f64> = facts
        .streams
        .iter()
        .map(|stream| {
            let cpu_us = stream.series.backend.as_ref()?.cpu_us.as_ref()?;
            Some(seconds_of(cpu_us))
        })
        .sum();
    let alive_s = facts.stream_s() - facts.parts.of(Part::Ended);
    if let Some(used_s) = used_s.filter(|_| alive_s > 0.0 && !facts.streams.is_empty()) {
        clauses.push(format!(
            "each backend used {} of a core",
            percent(used_s / alive_s)
        ));
    }
    clauses.extend(facts.measurements.stored.iter().map(stored_by));
    clauses
}

pub(crate) fn named(events: &[(&str, u64)], whole: f64) -> String {
    let words: Vec<String> = events
        .iter()
        .take(EVENTS_MAX)
        .map(|(name, samples)| format!("{name} {}", percent(*samples as f64 / whole.max(1.0))))
        .collect();
    words.join(", ")
}

fn destination_disk(facts: &Facts) -> Vec<String> {
    let mut clauses = Vec::new();
    let events = facts.events(is_of_disk);
    if !events.is_empty() {
        clauses.push(format!(
            "of all samples of the backends, {}",
            named(&events, facts.samples.all)
        ));
    }
    // A process may sleep on a disk without a wait event that says so.
    let asleep = facts.disk_sleeps();
    if asleep as f64 >= WORTH * facts.samples.all && asleep > 0 {
        let clause = format!(
            "backends slept on a disk (state D) in {} of {} samples",
            count(asleep),
            count(facts.samples.all as u64)
        );
        let named: u64 = events.iter().map(|(_, samples)| samples).sum();
        let place = if asleep > named { 0 } else { clauses.len() };
        clauses.insert(place, clause);
    }
    if let Some(server) = &facts.measurements.server {
        if let Some(wal) = server.wal_bytes.filter(|&wal| wal > 0) {
            let sent = facts.sent_bytes();
            let of_sent = if sent > 0.0 {
                format!(", {:.2} bytes for each that was sent", wal as f64 / sent)
            } else {
                String::new()
            };
            clauses.push(format!(
                "the server wrote {} of WAL{of_sent}",
                bytes(wal as f64)
            ));
        }
        if let Some(requested) = server.checkpoints_requested.filter(|&n| n > 0) {
            clauses.push(format!(
                "it took {} in {} because WAL had grown",
                counted(requested, "checkpoint"),
                seconds(facts.load_s)
            ));
        }
        for (grown, files) in [
            (server.log_growth_bytes, "the files of its log"),
            (server.data_growth_bytes, "its data files"),
        ] {
            if let Some(grown) = grown.filter(|&grown| grown > 0) {
                clauses.push(format!("{files} grew by {}", bytes(grown as f64)));
            }
        }
    }
    let disks_are_known = !facts.measurements.machine.disk_busy_ms.is_empty();
    if disks_are_known && (facts.is_local() || clauses.is_empty()) {
        clauses.push(format!(
            "the busiest disk of this machine was busy {} of the time",
            percent(facts.disk_busy())
        ));
    }
    clauses
}

fn destination_locks(facts: &Facts) -> Vec<String> {
    let mut clauses = Vec::new();
    let blockers = facts.blockers();
    let lock_s = facts.parts.of(Part::Lock);
    let internal_s = facts.parts.of(Part::Internal);
    if facts.share(lock_s) >= WORTH {
        let who = if blockers.is_empty() {
            "other sessions".to_owned()
        } else {
            blockers[..blockers.len().min(BLOCKERS_MAX)].join("; ")
        };
        clauses.push(format!(
            "streams waited {} for locks that {who} held",
            seconds(lock_s)
        ));
    }
    if facts.share(internal_s) >= WORTH {
        let events = facts.events(is_internal);
        let words = if events.is_empty() {
            String::new()
        } else {
            format!(": {} of all samples", named(&events, facts.samples.all))
        };
        clauses.push(format!(
            "backends waited {} for each other inside the server{words}",
            seconds(internal_s)
        ));
    }
    if internal_s > lock_s {
        clauses.reverse();
    }
    clauses
}

fn coordination(facts: &Facts) -> Vec<String> {
    let mut clauses = Vec::new();
    let ended_s = facts.parts.of(Part::Ended);
    if let Some(tail) = facts.tail.as_ref().filter(|_| ended_s > 0.0) {
        let others = if tail.running > 1 {
            format!(" and {}", counted(tail.running as u64 - 1, "other"))
        } else {
            " alone".to_owned()
        };
        clauses.push(format!(
            "stream {}{others} ran on for the last {} of {}, mostly {} ({})",
            tail.stream,
            seconds(tail.length_s),
            seconds(facts.load_s),
            crate::line::doing(tail.cause),
            percent(tail.share)
        ));
        if tail.is_slow() {
            clauses.push(format!(
                "it read {} there, the others {}",
                rate(tail.rate),
                rate(tail.others_rate)
            ));
        }
        clauses.push(format!(
            "streams that had finished were idle for {} in all",
            seconds(ended_s)
        ));
    }
    let never = facts
        .streams
        .iter()
        .filter(|stream| never_worked(stream.series.rows.as_slice(), &stream.parts))
        .count();
    if never > 0 {
        clauses.push(format!(
            "{} never had any work",
            counted(never as u64, "stream")
        ));
    }
    for (part, what) in [
        (Part::NotBegun, "waited for their first piece of work"),
        (Part::Idle, "were idle between two pieces of work"),
    ] {
        let spent_s = facts.parts.of(part);
        if facts.share(spent_s) >= WORTH {
            clauses.push(format!("streams {what} for {} in all", seconds(spent_s)));
        }
    }
    clauses
}

/// A stream that sent nothing and did nothing.
pub(crate) fn never_worked(rows: &[u32], parts: &crate::parts::ByPart) -> bool {
    let nothing_s = parts.of(Part::Ended) + parts.of(Part::NotBegun);
    rows.iter().all(|&rows| rows == 0) && parts.total() - nothing_s <= 1e-6 * parts.total()
}

fn undecided(facts: &Facts) -> Vec<String> {
    let mut clauses = Vec::new();
    let unsampled_s = facts.parts.of(Part::Unsampled);
    if unsampled_s > 0.0 {
        clauses.push(if facts.has_backends() {
            format!(
                "only {} of the backends were taken in the {} that streams waited for them",
                counted(facts.wait_samples() as u64, "sample"),
                seconds(unsampled_s)
            )
        } else if facts.was_over_too_soon() {
            format!(
                "streams waited {} for the {}, and the load was over before it could be asked what it was doing",
                seconds(unsampled_s),
                facts.destination()
            )
        } else {
            let server = facts.measurements.server.as_ref();
            let reason = server.and_then(|server| server.not_sampled.as_deref());
            format!(
                "streams waited {} for the {}, which did not report what it was doing{}",
                seconds(unsampled_s),
                facts.destination(),
                reason.map_or_else(String::new, |reason| format!(": {reason}"))
            )
        });
    }
    let other_s = facts.parts.of(Part::OtherWait);
    if facts.share(other_s) >= WORTH {
        let events = facts.events(is_other);
        clauses.push(format!(
            "backends waited {} for events that belong to no cause: {}",
            seconds(other_s),
            named(&events, facts.samples.all)
        ));
    }
    let unmeasured_s = facts.parts.of(Part::Unmeasured);
    if facts.share(unmeasured_s) >= WORTH {
        clauses.push(format!(
            "{} of the streams' time were not measured",
            seconds(unmeasured_s)
        ));
    }
    clauses
}
