//! The cause that limits a load, and the time that it takes at least.

use inrush_verdict::Cause;

use super::schedule::Schedule;
use crate::preflight::source_read::SourceLimit;

/// If one step takes this share of the streams' time, it is the cause.
const LARGE_SHARE: f64 = 0.5;
/// A machine whose cores are busy for this share has no free core.
const CORES_BUSY_SHARE: f64 = 0.8;
/// Streams that are idle for this share of their time are a long tail.
const IDLE_SHARE: f64 = 0.25;
/// A shared resource is the limit if its seconds are more than this share of the load's seconds. (If the package has a
/// rate limit, the streams were measured under it.)
const BOUND_SHARE: f64 = 0.9;
/// The network is the limit if its rate is less than this factor times the rate of the destination.
const NETWORK_FACTOR: f64 = 1.25;

/// Seconds of each shared resource for the whole load; zero if there is no such resource.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SharedSeconds {
    /// Seconds of reading data that is not in the page cache.
    pub disk_s: f64,
    /// Seconds of the one reader that feeds the streams from files that cannot be cut.
    pub feed_s: f64,
    /// Seconds of writing the server's log to its disk.
    pub log_s: f64,
    /// Seconds of sending, or of reading a database, at the rate limit of the package.
    pub pace_s: f64,
    /// Seconds in which all streams read the rows of databases, without any later step.
    pub source_s: f64,
}

/// The observations while all streams loaded at once.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ObservedLoad<'a> {
    /// The share of a stream's time in the loader's own steps. The rest of the time it waits.
    pub client_share: f64,
    /// The share of a stream's time in the steps of its flow, which is a part of the loader's own.
    pub transform_share: f64,
    /// The share of a stream's time in waits for the rows of a source database; the rest of the waits are for the destination.
    pub source_share: f64,
    /// The limit of reading from the source database.
    pub source: Option<&'a SourceLimit>,
    /// The number of cores that the backends of the source database kept busy, if they are on this machine.
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
    /// The number of streams.
    pub streams: usize,
}

/// The predicted time of a load, and its cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The seconds of the load.
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
    use crate::preflight::model::Beside;

    const MB: f64 = 1e6;

    #[test]
    fn idle_streams_are_the_limit() {
        let found = Schedule {
            load_s: 2.0,
            busy_s: vec![2.0, 1.0],
            rows_s: 3.0,
            beside: Beside::default(),
        };
        let answer = answer(&found, &SharedSeconds::default(), &ObservedLoad::default());
        assert_eq!(answer.limiting, Cause::Coordination);
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
        // Reading alone is no faster than all steps together.
        let (cause, load_s, because) = told(9.5, seen);
        assert_eq!((cause, load_s), (Cause::SourceDatabaseDisk, 10.0));
        assert!(
            because.contains("9.5 s") && because.ends_with("read files"),
            "{because}"
        );
        // Reading alone is faster, and the streams wait mostly for something else.
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
