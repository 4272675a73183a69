//! The change that helps most against a cause.

use crate::cpu::Holder;
use crate::facts::Facts;
use crate::gain::{gain_with_streams, gain_without};
use crate::numbers::{bytes, milliseconds, rate};
use crate::parts::Part;
use crate::source_words;
use crate::verdict::{Advice, Cause};
use inrush_rows::quantity::counted;

/// Reading faster than this is copying from the page cache: no disk is that fast for one reader.
const CACHE_RATE: f64 = 2e9;
/// If a disk is busy for this share of the time, reading waits for it.
const DISK_BUSY: f64 = 0.8;
/// If a server writes more bytes of WAL than this share of the bytes sent, it could write much less.
const WAL_MUCH: f64 = 0.3;
/// A checkpoint starts when WAL has grown to a bit more than half of `max_wal_size`.
const WAL_SIZE_TIMES: f64 = 2.0;

/// The advice about a cause; `None` if nothing is known to help.
pub(crate) fn advice(facts: &Facts, cause: Cause) -> Option<Advice> {
    if facts.load_s <= 0.0 {
        return None;
    }
    let all = |change: String| {
        Some(Advice {
            change,
            gain_s: gain_without(facts, cause),
        })
    };
    match cause {
        Cause::SourceRead if facts.measurements.reads_database => {
            source_words::advice(facts, cause)
        }
        Cause::SourceRead => source_read(facts),
        Cause::SourceDatabaseCpu | Cause::SourceDatabaseDisk | Cause::SourceDatabaseNetwork => {
            source_words::advice(facts, cause)
        }
        Cause::Decompression => all(decompression(facts)),
        Cause::ClientCpu => client_cpu(facts),
        Cause::TransformCpu => transform_cpu(facts),
        Cause::NetworkLatency => latency(facts),
        Cause::NetworkRate => all(link_rate(facts)),
        Cause::NetworkLoss => all(
            "Find where segments get lost (`ethtool -S` and the switches' counters on the way, a duplex mismatch, a policer); \
             until then `sysctl net.ipv4.tcp_congestion_control=bbr` on this machine keeps the rate up under loss"
                .to_owned(),
        ),
        Cause::DestinationCpu => destination_cpu(facts),
        Cause::DestinationDisk => all(destination_disk(facts)),
        Cause::DestinationLocks => all(destination_locks(facts)),
        Cause::Coordination => all(coordination(facts)),
        Cause::Pace => all(
            "Raise `rate_bytes_max` of the run (`--max-rate`) or of the source, or check the standby or slot whose lag makes the streams pause"
                .to_owned(),
        ),
        Cause::Undecided => None,
    }
}

/// Advice for more streams: as many as the cores suffice for, if that is known.
pub(crate) fn more_streams(facts: &Facts, cause: Cause, why: &str) -> Option<Advice> {
    let now = facts.streams.len();
    let are_cores_known = match cause {
        Cause::ClientCpu | Cause::TransformCpu => true,
        Cause::SourceDatabaseCpu => facts.is_source_local(),
        _ => facts.is_local(),
    };
    let more = if are_cores_known {
        facts.cpu.streams_max(now)
    } else {
        now * 2
    };
    (more > now).then(|| Advice {
        change: format!("Load with {more} streams instead of {now}: {why}"),
        gain_s: gain_with_streams(facts, cause, more),
    })
}

fn source_read(facts: &Facts) -> Option<Advice> {
    let cause = Cause::SourceRead;
    let all = |change: String| {
        Some(Advice {
            change,
            gain_s: gain_without(facts, cause),
        })
    };
    if facts.parts.of(Part::FeedRead) > facts.parts.of(Part::FileRead) {
        let file = facts.busiest_feed().map_or("the file", |feed| &feed.file);
        return all(format!(
            "Deliver {file} faster, or as several files: one thread reads it for all streams"
        ));
    }
    if let Some(slow) = facts.alone(cause) {
        return all(format!(
            "Look at the storage of the file that stream {} read, or put it where the others are",
            slow.series.stream
        ));
    }
    let reads_disks = facts.disk_read_bytes() >= 0.5 * facts.stored_bytes().max(1.0);
    if reads_disks && facts.disk_busy() >= DISK_BUSY {
        return all(
            "Put the files on a faster disk, or spread them over several: their disk is busy all the time"
                .to_owned(),
        );
    }
    let read_s = facts.in_phase(crate::measurements::Phase::Read);
    if facts.text_bytes() < CACHE_RATE * read_s {
        return all(
            "Put the files on faster storage: reading waits for a network file system, a pipe or a volume with a limit, \
             not for a disk that is busy"
                .to_owned(),
        );
    }
    more_streams(facts, cause, "each reads as fast as one reader can")
}

fn decompression(facts: &Facts) -> String {
    if facts.parts.of(Part::FeedDecompress) > facts.parts.of(Part::FileDecompress) {
        let file = facts.busiest_feed().map_or("the file", |feed| &feed.file);
        format!(
            "Deliver {file} as several compressed files, one for each stream: a stream of compressed bytes has one reader"
        )
    } else {
        "Deliver the files as zstd instead of gzip, bzip2 or xz, or uncompressed: reading them takes several times \
         less CPU"
            .to_owned()
    }
}

fn client_cpu(facts: &Facts) -> Option<Advice> {
    let cause = Cause::ClientCpu;
    let all = |change: &str| {
        Some(Advice {
            change: change.to_owned(),
            gain_s: gain_without(facts, cause),
        })
    };
    match facts.cpu.holder_for_loader() {
        Holder::Limit => all(
            "Raise the CPU limit of the loader's control group (`cpu.max`, a container's `--cpus`, a pod's limit)",
        ),
        Holder::Host => all("Move the loader to a machine whose host is not overcommitted"),
        Holder::Others => {
            all("Stop the other processes that compute on this machine, or load from another one")
        }
        Holder::Both => {
            all("Load from another machine than the server's, or give this one more cores")
        }
        Holder::Loader => all("Give the loader more cores"),
        Holder::Nobody => more_streams(facts, cause, "each has one thread, and cores are free")
            .or_else(|| all("Give the loader faster cores, or more of them with more streams")),
    }
}

fn transform_cpu(facts: &Facts) -> Option<Advice> {
    let cause = Cause::TransformCpu;
    let streams = match facts.cpu.holder_for_loader() {
        Holder::Nobody => more_streams(
            facts,
            cause,
            "each evaluates the steps on its own thread, and cores are free",
        ),
        _ => None,
    };
    streams.or_else(|| {
        Some(Advice {
            change: "Give the loader more cores, or the steps less to do: filter rows by a `where` as early as possible, leave \
                     regular expressions out, and correct the rows for which an expression fails, because their batches are \
                     evaluated twice"
                .to_owned(),
            gain_s: gain_without(facts, cause),
        })
    })
}

fn latency(facts: &Facts) -> Option<Advice> {
    let cause = Cause::NetworkLatency;
    let link = facts.network.as_ref()?;
    let under_way = facts.sent_bytes() / facts.stream_s().max(1e-6) * link.round_trip_us / 1e6;
    // Four times the bytes that are in flight now: enough to see whether it helps, and enough for most links.
    let window = bytes((4.0 * under_way).max(4e6));
    let all = |change: String| {
        Some(Advice {
            change,
            gain_s: gain_without(facts, cause),
        })
    };
    if facts.parts.of(Part::RoundTrips) > facts.parts.of(Part::Window) {
        return all(format!(
            "Load from a machine nearer to the server, or in fewer and larger units: each unit costs several round \
             trips of {}",
            milliseconds(link.round_trip_us)
        ));
    }
    if link.is_limited_by_receiver() {
        return all(format!(
            "Raise the receive window on the server: the last number of `sysctl net.ipv4.tcp_rmem` to at least \
             {window}; or load with more streams: each stream has its own window"
        ));
    }
    if link.is_limited_by_send_buffer() {
        return all(format!(
            "Raise the send buffer on this machine: the last number of `sysctl net.ipv4.tcp_wmem` to at least \
             {window}; or load with more streams: each stream has its own buffer"
        ));
    }
    more_streams(facts, cause, "each connection has a window of its own")
}

fn link_rate(facts: &Facts) -> String {
    let sent = rate(facts.sent_bytes() / facts.load_s.max(1e-6));
    let is_relay = facts
        .network
        .as_ref()
        .is_some_and(|link| link.is_loopback && !link.has_queue());
    if is_relay {
        format!(
            "Connect to the server itself: the pooler, proxy or tunnel in between passes on no more than {sent}"
        )
    } else {
        format!(
            "Load over a faster link, or from a machine nearer to the server: this one carries {sent}"
        )
    }
}

fn destination_cpu(facts: &Facts) -> Option<Advice> {
    let cause = Cause::DestinationCpu;
    let all = |change: String| {
        Some(Advice {
            change,
            gain_s: gain_without(facts, cause),
        })
    };
    if facts.is_stopped() {
        return all(
            "Find out who stops the server's processes (SIGSTOP, a debugger, a frozen control group or container) and let \
             them run"
                .to_owned(),
        );
    }
    match facts.cpu.holder_for_backends() {
        Holder::Host => {
            return all("Move the server to a machine whose host is not overcommitted".to_owned());
        }
        Holder::Others => {
            return all(
                "Stop the other processes that compute on the server's machine, or move them away"
                    .to_owned(),
            );
        }
        Holder::Both if facts.fix_of_copy().is_none() => {
            return all(
                "Load from another machine than the server's, or give this one more cores"
                    .to_owned(),
            );
        }
        Holder::Both | Holder::Limit | Holder::Loader | Holder::Nobody => {}
    }
    // Reducing the work for each row helps more than adding cores.
    if let Some(fix) = facts.fix_of_copy() {
        return all(format!(
            "Let the server's extension store the rows, which takes less CPU than COPY: {fix}"
        ));
    }
    let word = facts.destination();
    let why = if facts.is_local() {
        "a backend uses one core, and cores are free"
    } else {
        "a backend uses one core, so this helps as long as the server has cores that are free"
    };
    let has_backends = facts.wait_samples() > 0.0;
    has_backends
        .then(|| more_streams(facts, cause, why))
        .flatten()
        .or_else(|| {
            all(format!(
                "Give the {word} more or faster cores, or less to do for each row: fewer indexes, no triggers"
            ))
        })
}

fn destination_disk(facts: &Facts) -> String {
    let wal_s = facts.parts.of(Part::Wal);
    let data_s = facts.parts.of(Part::DataFile);
    let server = facts.measurements.server.as_ref();
    if facts.is_sql_server() {
        return match wal_s >= data_s {
            true => "Put the files of the log on a faster disk of their own, and give them their size before the load; under the \
                     recovery model FULL all rows are logged, under BULK_LOGGED only pages"
                .to_owned(),
            false => "Put the data files on faster disks, several files to a filegroup, and give them their size before the load"
                .to_owned(),
        };
    }
    let wal_bytes = server.and_then(|server| server.wal_bytes).unwrap_or(0) as f64;
    let requested = server
        .and_then(|server| server.checkpoints_requested)
        .unwrap_or(0);
    if requested >= 2 && wal_bytes > 0.0 {
        return format!(
            "Raise `max_wal_size` to at least {} GB: the server took {} in {}",
            (WAL_SIZE_TIMES * wal_bytes / 1e9).ceil().max(1.0),
            counted(requested, "checkpoint"),
            crate::numbers::seconds(facts.load_s)
        );
    }
    if wal_s >= data_s {
        if wal_bytes >= WAL_MUCH * facts.sent_bytes() && wal_bytes > 0.0 {
            return "Let the load write no WAL: `wal_level = minimal` with `max_wal_senders = 0` while it runs, if the server \
                    has no standbys and the flows make private units; else put `pg_wal` on a faster disk of its own"
                .to_owned();
        }
        return "Put `pg_wal` on a faster disk of its own, or wait for fewer standbys (`synchronous_commit`)"
            .to_owned();
    }
    if facts.destination() == "server" {
        "Put the server's data directory, or a tablespace for the tables that are loaded, on a faster disk".to_owned()
    } else {
        "Put the destination's files on a faster disk".to_owned()
    }
}

fn destination_locks(facts: &Facts) -> String {
    if facts.parts.of(Part::Internal) > facts.parts.of(Part::Lock) && facts.is_sql_server() {
        return format!(
            "Load with fewer streams than {}, or put several data files into the filegroup: too many sessions wait for the same \
             pages",
            facts.streams.len()
        );
    }
    if facts.parts.of(Part::Internal) > facts.parts.of(Part::Lock) {
        return format!(
            "Load with fewer streams than {}, or cut the table into more partitions: too many backends fill the same table at \
             once",
            facts.streams.len()
        );
    }
    match facts.blockers().first() {
        Some(blocker) => format!(
            "End the session that held the lock, or load while it does not run: {blocker}"
        ),
        // Sessions of the run itself are not among the blockers.
        None => "Give each stream a table or a partition of its own (`bounds`): no other session was seen with a lock, so the \
                 load's own sessions waited for each other"
            .to_owned(),
    }
}

fn coordination(facts: &Facts) -> String {
    let never = facts
        .streams
        .iter()
        .filter(|stream| {
            crate::evidence::never_worked(stream.series.rows.as_slice(), &stream.parts)
        })
        .count();
    let ended_s = facts.parts.of(Part::Ended);
    let streams = facts.streams.len();
    match &facts.tail {
        Some(tail) if tail.is_slow() && ended_s > 0.0 => format!(
            "Find out why the last work of stream {} was slow: {} at {}, and the other streams at {}",
            tail.stream,
            crate::line::doing(tail.cause),
            rate(tail.rate),
            rate(tail.others_rate)
        ),
        _ if never > 0 && streams > never => format!(
            "Cut the files into more pieces (`bounds = {{ parts = {streams} }}`, or more files), or load with {}: there was \
             work for no more",
            counted((streams - never) as u64, "stream")
        ),
        _ => "Cut the largest files into smaller pieces (`bounds = { parts = N }`, or more files), so that the last stream \
              ends with the others"
            .to_owned(),
    }
}
