//! Calculates the time of a run from the measurements. It does no I/O.
//!
//! Speeds are used as they were measured, with one stream and with all of them at once, and never multiplied by a
//! number of streams that was not tried, because streams share cores, disks and the server. Three things are
//! calculated: how the pieces of work are assigned to the streams, the largest first; the time that each piece needs
//! beside its rows (creating its table, counting, indexes, COMMIT); and the limits that all streams share (the source's
//! disk, the one reader of a compressed file, a rate limit of the package), if they take longer than that. A source
//! database is the limit if reading alone takes about as long as all steps together, or if the streams wait mostly for
//! its rows.

use inrush_verdict::Cause;

use super::source_read::SourceLimit;

/// If one step takes this share of the streams' time, it is the cause.
const LARGE_SHARE: f64 = 0.5;
/// A machine whose cores are busy for this share has no free core.
const CORES_BUSY_SHARE: f64 = 0.8;
/// Streams that are idle for this share of their time are a long tail.
const IDLE_SHARE: f64 = 0.25;
/// A shared resource is the limit if its seconds are more than this share of the load's. (If the package has a rate limit, the
/// streams were measured under it.)
const BOUND_SHARE: f64 = 0.9;
/// The network is the limit if its rate is less than this factor times the rate of the destination.
const NETWORK_FACTOR: f64 = 1.25;

/// The speed of a flow's rows, in bytes of text a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// The rate with one stream.
    pub one: f64,
    /// The speed of all streams together, when all of them load at once.
    pub all: f64,
}

impl Speed {
    /// The speed of one stream while this number of streams is busy. Between one stream and all streams nothing was
    /// measured: streams are assumed not to slow each other down until they reach the measured speed of all together.
    fn of_each(&self, busy: usize, streams: usize) -> f64 {
        let busy = busy.max(1);
        let together = if self.all >= self.one {
            (self.one * busy as f64).min(self.all)
        } else {
            let share = (busy - 1) as f64 / (streams.max(2) - 1) as f64;
            self.one + (self.all - self.one) * share
        };
        together / busy as f64
    }
}

/// A piece of work of a stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkPiece {
    /// The index of the flow whose speed it has.
    pub flow: usize,
    /// Its text.
    pub text_bytes: f64,
    /// Seconds beside its rows, by kind.
    pub beside: Beside,
}

impl WorkPiece {
    fn is_flushed_now(&self) -> bool {
        self.text_bytes <= 0.0 && self.beside.server_s <= 0.0
    }

    fn is_over(&self) -> bool {
        self.text_bytes <= 0.0 && self.beside.total() <= 0.0
    }
}

/// Seconds of a piece of work beside its rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Beside {
    /// Creating the table, counting, indexes, statistics, and their round trips.
    pub server_s: f64,
    /// Seconds until the server has flushed its writes, at COMMIT, if nothing else is flushed at that time.
    pub flush_s: f64,
}

impl Beside {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.server_s + self.flush_s
    }
}

/// The distribution of the pieces over the streams.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    /// Seconds until the last stream ends.
    pub load_s: f64,
    /// Seconds that each stream is busy.
    pub busy_s: Vec<f64>,
    /// Seconds that all streams spend on rows.
    pub rows_s: f64,
    /// Seconds that all streams spend beside rows.
    pub beside: Beside,
}

impl Schedule {
    /// The share of the streams' time in which they are idle.
    pub fn idle_share(&self) -> f64 {
        let whole = self.load_s * self.busy_s.len() as f64;
        let busy: f64 = self.busy_s.iter().sum();
        match whole > 0.0 {
            true => (1.0 - busy / whole).max(0.0),
            false => 0.0,
        }
    }
}

/// Gives each stream the next piece when it has finished one. Flushes at the same time share the disk.
pub fn schedule(pieces: &[WorkPiece], speeds: &[Speed], streams: usize) -> Schedule {
    let streams = streams.max(1);
    let mut next = pieces.iter().copied();
    let mut hands: Vec<Option<WorkPiece>> = (0..streams).map(|_| next.next()).collect();
    let mut found = Schedule {
        busy_s: vec![0.0; streams],
        ..Schedule::default()
    };
    loop {
        let busy = hands.iter().flatten().count();
        if busy == 0 {
            return found;
        }
        let flushing = hands
            .iter()
            .flatten()
            .filter(|piece| piece.is_flushed_now());
        let flushing = flushing.count();
        // A stream that waits for the disk leaves the others its cores.
        let at_work = busy - flushing;
        let flushing = flushing.max(1) as f64;
        // The remainder of the present phase of a piece, and the part of it that is completed in a second.
        let phase = |piece: &WorkPiece| {
            if piece.text_bytes > 0.0 {
                let speed = speeds[piece.flow].of_each(at_work, streams).max(1.0);
                (piece.text_bytes, speed)
            } else if piece.beside.server_s > 0.0 {
                (piece.beside.server_s, 1.0)
            } else {
                (piece.beside.flush_s, 1.0 / flushing)
            }
        };
        let left_s = |piece: &WorkPiece| {
            let (left, in_a_second) = phase(piece);
            left / in_a_second
        };
        let step_s = hands.iter().flatten().map(left_s).fold(f64::MAX, f64::min);
        found.load_s += step_s;
        let steps: Vec<Option<(f64, bool)>> = hands
            .iter()
            .map(|hand| {
                let (left, in_a_second) = phase(hand.as_ref()?);
                let is_done = left / in_a_second <= step_s * (1.0 + 1e-9);
                Some(match is_done {
                    true => (0.0, true),
                    false => (left - in_a_second * step_s, false),
                })
            })
            .collect();
        for ((hand, busy_s), step) in hands.iter_mut().zip(&mut found.busy_s).zip(steps) {
            let (Some(piece), Some((left, is_done))) = (hand.as_mut(), step) else {
                continue;
            };
            *busy_s += step_s;
            if piece.text_bytes > 0.0 {
                found.rows_s += step_s;
                piece.text_bytes = left;
            } else if piece.beside.server_s > 0.0 {
                found.beside.server_s += step_s;
                piece.beside.server_s = left;
            } else {
                found.beside.flush_s += step_s;
                piece.beside.flush_s = left;
            }
            if is_done && piece.is_over() {
                *hand = next.next();
            }
        }
    }
}

/// Seconds of each shared resource for the whole load; zero if there is no such resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedSeconds {
    /// Seconds of reading data that is not in the page cache.
    pub disk_s: f64,
    /// The one reader that feeds the streams from files that cannot be cut.
    pub feed_s: f64,
    /// The server's log, written to its disk.
    pub log_s: f64,
    /// The rate that the package asks for, of sending or of reading a database.
    pub pace_s: f64,
    /// Reading the rows of databases by all streams, without any later step.
    pub source_s: f64,
}

/// The observations while all streams loaded at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObservedLoad<'a> {
    /// The share of a stream's time in the loader's own steps; the rest it waits.
    pub client_share: f64,
    /// The share of a stream's time in the steps of its flow, which is a part of the loader's own.
    pub transform_share: f64,
    /// The share of a stream's time in waits for the rows of a source database; the rest of the waits are for the destination.
    pub source_share: f64,
    /// What limits reading from that database.
    pub source: Option<&'a SourceLimit>,
    /// The number of cores that the backends of that database kept busy, if they are on this machine.
    pub source_cores: Option<f64>,
    /// Cores that the loader kept busy.
    pub client_cores: f64,
    /// The number of cores that the destination's backends kept busy, if they are on this machine.
    pub server_cores: Option<f64>,
    /// Cores of this machine.
    pub cores: f64,
    /// Bytes of text in a second that the network carries for all streams.
    pub network: Option<f64>,
    /// Bytes of text in a second that the destination takes alone.
    pub destination: Option<f64>,
    /// Streams.
    pub streams: usize,
}

/// The predicted time of a load, and its cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Seconds.
    pub load_s: f64,
    /// The limiting cause.
    pub limiting: Cause,
    /// The evidence for that cause, in words and figures.
    pub because: String,
}

/// Combines all measurements into the answer.
pub fn answer(schedule: &Schedule, shared: &SharedSeconds, seen: &ObservedLoad<'_>) -> Answer {
    let bounds = [
        (shared.disk_s, Cause::SourceRead, "reading from the disk"),
        (
            shared.feed_s,
            Cause::Decompression,
            "the one reader that feeds all streams",
        ),
        (
            shared.log_s,
            Cause::DestinationDisk,
            "writing the server's log to its disk",
        ),
        (shared.pace_s, Cause::Pace, "the package's rate limit"),
    ];
    let bound = bounds.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((seconds, cause, what)) = bound
        && seconds > BOUND_SHARE * schedule.load_s
    {
        return Answer {
            load_s: seconds.max(schedule.load_s),
            limiting: cause,
            because: format!(
                "{what} takes {seconds:.1} s, and everything else takes {:.1} s at the same time",
                schedule.load_s
            ),
        };
    }
    let source_s = shared.source_s;
    if let Some(limit) = seen.source
        && source_s > BOUND_SHARE * schedule.load_s
    {
        return Answer {
            load_s: schedule.load_s,
            limiting: limit.cause,
            because: format!(
                "reading from the database alone takes {source_s:.1} s, and all steps together {:.1} s; {}",
                schedule.load_s, limit.because
            ),
        };
    }
    let (limiting, because) = cause(schedule, seen);
    Answer {
        load_s: schedule.load_s,
        limiting,
        because,
    }
}

fn cause(schedule: &Schedule, seen: &ObservedLoad<'_>) -> (Cause, String) {
    let whole = (schedule.rows_s + schedule.beside.total()).max(f64::MIN_POSITIVE);
    let idle = schedule.idle_share();
    if idle >= IDLE_SHARE {
        let because = format!(
            "streams have no work for {:.0} % of their time: the pieces of work do not divide evenly",
            idle * 100.0
        );
        return (Cause::Coordination, because);
    }
    if schedule.beside.total() / whole >= LARGE_SHARE {
        let share = schedule.beside.total() / whole * 100.0;
        return match schedule.beside.flush_s > schedule.beside.server_s {
            true => (
                Cause::DestinationDisk,
                format!("{share:.0} % of the streams' time is waiting until a COMMIT is flushed"),
            ),
            false => (
                Cause::DestinationCpu,
                format!(
                    "{share:.0} % of the streams' time is counting, indexes, statistics and COMMIT"
                ),
            ),
        };
    }
    if let Some(full) = full_cores(seen) {
        return full;
    }
    let client = seen.client_share * 100.0;
    if seen.client_share >= LARGE_SHARE {
        let stepping = seen.transform_share;
        if stepping > seen.client_share - stepping {
            let because = format!(
                "{:.0} % of the streams' time is passing rows through the steps of the flow",
                stepping * 100.0
            );
            return (Cause::TransformCpu, because);
        }
        let because = format!("{client:.0} % of the streams' time is the loader's own work");
        return (Cause::ClientCpu, because);
    }
    let sent_share = 1.0 - seen.client_share - seen.source_share;
    if seen.source_share > seen.client_share.max(sent_share) {
        let because = format!(
            "streams wait for rows of the database for {:.0} % of their time",
            seen.source_share * 100.0
        );
        return match seen.source {
            Some(limit) => (limit.cause, format!("{because}; {}", limit.because)),
            None => (Cause::SourceRead, because),
        };
    }
    let waits = format!("streams wait for {:.0} % of their time", sent_share * 100.0);
    if let (Some(network), Some(destination)) = (seen.network, seen.destination)
        && network < NETWORK_FACTOR * destination
    {
        return (
            Cause::NetworkRate,
            format!("{waits}, and the network can carry little more than it does"),
        );
    }
    match seen.server_cores {
        Some(server) if server < LARGE_SHARE * seen.streams as f64 => (
            Cause::DestinationDisk,
            format!("{waits}, and the server's backends wait for something other than a core"),
        ),
        _ => (
            Cause::DestinationCpu,
            format!("{waits} for the destination to take the rows"),
        ),
    }
}

/// The program that uses most of this machine's cores, if no core is free. A server on another machine has its own
/// cores.
fn full_cores(seen: &ObservedLoad<'_>) -> Option<(Cause, String)> {
    let (client, cores) = (seen.client_cores, seen.cores);
    let (server, source) = (seen.server_cores?, seen.source_cores);
    if client + server + source.unwrap_or(0.0) < CORES_BUSY_SHARE * cores {
        return None;
    }
    let (servers, figures) = match source {
        None => ("server", format!("{client:.1} and {server:.1}")),
        Some(source) => (
            "the servers of destination and source",
            format!("{client:.1}, {server:.1} and {source:.1}"),
        ),
    };
    let because = format!(
        "loader and {servers} share this machine's cores: {figures} of {cores:.0} were busy"
    );
    let source = source.unwrap_or(0.0);
    let cause = if source > client.max(server) {
        Cause::SourceDatabaseCpu
    } else if server > client {
        Cause::DestinationCpu
    } else {
        Cause::ClientCpu
    };
    Some((cause, because))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: f64 = 1e6;

    fn piece(text_bytes: f64, server_s: f64) -> WorkPiece {
        WorkPiece {
            flow: 0,
            text_bytes,
            beside: Beside {
                server_s,
                flush_s: 0.0,
            },
        }
    }

    fn load_s(pieces: &[WorkPiece], speed: Speed, streams: usize) -> f64 {
        schedule(pieces, &[speed], streams).load_s
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!(
            (found - expected).abs() < 1e-6,
            "{found} and not {expected}"
        );
    }

    #[test]
    fn one_stream_does_one_piece_after_the_other() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 100.0 * MB,
        };
        let pieces = [piece(200.0 * MB, 0.5), piece(100.0 * MB, 0.5)];
        assert_close(load_s(&pieces, speed, 1), 4.0);
        let found = schedule(&pieces, &[speed], 1);
        assert_close(found.rows_s, 3.0);
        assert_close(found.beside.server_s, 1.0);
        assert_close(found.idle_share(), 0.0);
    }

    #[test]
    fn all_streams_together_are_as_fast_as_they_were_measured() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 160.0 * MB,
        };
        let pieces = [piece(80.0 * MB, 0.0); 4];
        assert_close(load_s(&pieces, speed, 4), 2.0);
        // Two of the four streams are as fast as all four together, because one alone reaches 100.
        assert_close(load_s(&pieces[..2], speed, 4), 1.0);
        assert_close(load_s(&pieces[..1], speed, 4), 0.8);
    }

    #[test]
    fn streams_that_disturb_each_other_are_slower_together() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 50.0 * MB,
        };
        assert_close(load_s(&[piece(50.0 * MB, 0.0); 2], speed, 2), 2.0);
        assert_close(load_s(&[piece(50.0 * MB, 0.0)], speed, 2), 0.5);
        // Three streams, two of them busy: between 100 and 50.
        assert_close(load_s(&[piece(75.0 * MB, 0.0); 2], speed, 3), 2.0);
    }

    #[test]
    fn a_long_last_piece_leaves_the_others_idle() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 200.0 * MB,
        };
        let pieces = [piece(100.0 * MB, 0.0); 3];
        let found = schedule(&pieces, &[speed], 2);
        assert_close(found.load_s, 2.0);
        assert_close(found.idle_share(), 0.25);
        assert_eq!(found.busy_s.len(), 2);
        let answer = answer(&found, &SharedSeconds::default(), &ObservedLoad::default());
        assert_eq!(answer.limiting, Cause::Coordination);
    }

    #[test]
    fn what_is_flushed_at_the_same_time_shares_the_disk() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 200.0 * MB,
        };
        let flushed = WorkPiece {
            beside: Beside {
                server_s: 0.0,
                flush_s: 1.0,
            },
            ..piece(100.0 * MB, 0.0)
        };
        // One after the other: rows, flush, rows, flush.
        assert_close(
            load_s(
                &[flushed; 2],
                Speed {
                    all: speed.one,
                    ..speed
                },
                1,
            ),
            4.0,
        );
        // Both at once: a second of rows, and two of flushing.
        let found = schedule(&[flushed; 2], &[speed], 2);
        assert_close(found.load_s, 3.0);
        assert_close(found.beside.flush_s, 4.0);
        // The rows of the second one take half as long again, so their flushes overlap only in part.
        let longer = WorkPiece {
            text_bytes: 150.0 * MB,
            ..flushed
        };
        assert_close(load_s(&[longer, flushed], speed, 2), 3.0);
    }

    #[test]
    fn a_stream_that_waits_for_the_disk_leaves_the_others_its_cores() {
        let speed = Speed {
            one: 100.0 * MB,
            all: 100.0 * MB,
        };
        let flushed = |text_bytes| WorkPiece {
            beside: Beside {
                server_s: 0.0,
                flush_s: 1.0,
            },
            ..piece(text_bytes, 0.0)
        };
        // A second of both, at 50 MB/s each; then the longer one has 150 MB left and all the cores; then its flush.
        let pieces = [flushed(200.0 * MB), flushed(50.0 * MB)];
        assert_close(load_s(&pieces, speed, 2), 1.0 + 1.5 + 1.0);
    }

    #[test]
    fn flows_have_speeds_of_their_own_and_empty_pieces_end_at_once() {
        let speeds = [
            Speed {
                one: 100.0 * MB,
                all: 100.0 * MB,
            },
            Speed {
                one: 10.0 * MB,
                all: 10.0 * MB,
            },
        ];
        let slow = WorkPiece {
            flow: 1,
            ..piece(10.0 * MB, 0.25)
        };
        let pieces = [piece(100.0 * MB, 0.0), slow, piece(0.0, 0.0)];
        assert_close(schedule(&pieces, &speeds, 1).load_s, 2.25);
        assert_close(schedule(&[], &speeds, 3).load_s, 0.0);
        assert_close(schedule(&[piece(0.0, 0.0)], &speeds, 3).load_s, 0.0);
    }

    #[test]
    fn what_all_streams_share_is_a_bound_below_which_nothing_helps() {
        let found = Schedule {
            load_s: 10.0,
            busy_s: vec![10.0, 10.0],
            rows_s: 20.0,
            beside: Beside::default(),
        };
        for (shared, cause) in [
            (
                SharedSeconds {
                    disk_s: 12.0,
                    feed_s: 11.0,
                    ..SharedSeconds::default()
                },
                Cause::SourceRead,
            ),
            (
                SharedSeconds {
                    disk_s: 0.0,
                    feed_s: 12.0,
                    pace_s: 11.0,
                    ..SharedSeconds::default()
                },
                Cause::Decompression,
            ),
            (
                SharedSeconds {
                    feed_s: 9.0,
                    log_s: 11.0,
                    pace_s: 12.0,
                    ..SharedSeconds::default()
                },
                Cause::Pace,
            ),
            (
                SharedSeconds {
                    log_s: 12.0,
                    ..SharedSeconds::default()
                },
                Cause::DestinationDisk,
            ),
        ] {
            let answer = answer(&found, &shared, &ObservedLoad::default());
            assert_eq!((answer.load_s, answer.limiting), (12.0, cause));
        }
        let below = SharedSeconds {
            disk_s: 8.0,
            feed_s: 8.0,
            log_s: 8.0,
            pace_s: 8.0,
            source_s: 8.0,
        };
        let seen = ObservedLoad {
            client_share: 0.9,
            ..ObservedLoad::default()
        };
        let answer = answer(&found, &below, &seen);
        assert_eq!((answer.load_s, answer.limiting), (10.0, Cause::ClientCpu));
    }

    #[test]
    fn steps_are_the_limit_if_they_take_most_of_the_loaders_work() {
        let found = Schedule {
            load_s: 10.0,
            busy_s: vec![10.0, 10.0],
            rows_s: 20.0,
            beside: Beside::default(),
        };
        let limit = |transform_share| {
            let seen = ObservedLoad {
                client_share: 0.8,
                transform_share,
                ..ObservedLoad::default()
            };
            answer(&found, &SharedSeconds::default(), &seen).limiting
        };
        assert_eq!(limit(0.5), Cause::TransformCpu);
        assert_eq!(limit(0.3), Cause::ClientCpu);
    }

    #[test]
    fn a_source_database_is_a_limit_of_its_own() {
        let found = Schedule {
            load_s: 10.0,
            busy_s: vec![10.0, 10.0],
            rows_s: 20.0,
            beside: Beside::default(),
        };
        let limit = SourceLimit {
            cause: Cause::SourceDatabaseDisk,
            because: "the source's backends read files".to_owned(),
        };
        let seen = ObservedLoad {
            client_share: 0.3,
            source_share: 0.3,
            source: Some(&limit),
            cores: 8.0,
            streams: 2,
            ..ObservedLoad::default()
        };
        let told = |source_s, seen: ObservedLoad<'_>| {
            let shared = SharedSeconds {
                source_s,
                ..SharedSeconds::default()
            };
            let answer = answer(&found, &shared, &seen);
            (answer.limiting, answer.load_s, answer.because)
        };
        // Reading alone is no faster than everything.
        let (cause, load_s, because) = told(9.5, seen);
        assert_eq!((cause, load_s), (Cause::SourceDatabaseDisk, 10.0));
        assert!(
            because.contains("9.5 s") && because.ends_with("read files"),
            "{because}"
        );
        // It is faster, and the streams wait mostly for something else.
        assert_eq!(told(5.0, seen).0, Cause::DestinationCpu);
        let waiting = ObservedLoad {
            source_share: 0.5,
            ..seen
        };
        assert_eq!(told(5.0, waiting).0, Cause::SourceDatabaseDisk);
        let unknown = ObservedLoad {
            source: None,
            ..waiting
        };
        assert_eq!(told(9.5, unknown).0, Cause::SourceRead);
        // All three are on one machine, which has no core left.
        let full = ObservedLoad {
            cores: 2.0,
            client_cores: 0.5,
            server_cores: Some(0.4),
            source_cores: Some(0.9),
            ..seen
        };
        let (cause, _, because) = told(5.0, full);
        assert_eq!(cause, Cause::SourceDatabaseCpu, "{because}");
        assert!(because.contains("0.5, 0.4 and 0.9 of 2"), "{because}");
    }

    #[test]
    fn the_cause_is_what_the_streams_time_goes_to() {
        let rows = Schedule {
            load_s: 10.0,
            busy_s: vec![10.0, 10.0],
            rows_s: 20.0,
            beside: Beside::default(),
        };
        let beside = |server_s, flush_s| Schedule {
            rows_s: 5.0,
            beside: Beside { server_s, flush_s },
            ..rows.clone()
        };
        let remote = ObservedLoad {
            client_share: 0.2,
            transform_share: 0.0,
            source_share: 0.0,
            source: None,
            source_cores: None,
            client_cores: 0.4,
            server_cores: None,
            cores: 8.0,
            network: Some(1000.0 * MB),
            destination: Some(200.0 * MB),
            streams: 2,
        };
        let cases = [
            (rows.clone(), remote, Cause::DestinationCpu),
            (
                rows.clone(),
                ObservedLoad {
                    network: Some(220.0 * MB),
                    ..remote
                },
                Cause::NetworkRate,
            ),
            (
                rows.clone(),
                ObservedLoad {
                    client_share: 0.7,
                    ..remote
                },
                Cause::ClientCpu,
            ),
            (
                rows.clone(),
                ObservedLoad {
                    server_cores: Some(0.3),
                    ..remote
                },
                Cause::DestinationDisk,
            ),
            (
                rows.clone(),
                ObservedLoad {
                    server_cores: Some(1.2),
                    client_cores: 0.7,
                    cores: 2.0,
                    ..remote
                },
                Cause::DestinationCpu,
            ),
            (
                rows.clone(),
                ObservedLoad {
                    server_cores: Some(0.7),
                    client_cores: 1.2,
                    cores: 2.0,
                    ..remote
                },
                Cause::ClientCpu,
            ),
            (beside(12.0, 3.0), remote, Cause::DestinationCpu),
            (beside(3.0, 12.0), remote, Cause::DestinationDisk),
        ];
        for (schedule, seen, expected) in cases {
            let answer = answer(&schedule, &SharedSeconds::default(), &seen);
            assert_eq!(answer.limiting, expected, "{}", answer.because);
        }
    }
}
