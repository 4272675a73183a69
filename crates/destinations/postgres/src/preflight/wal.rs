//! Measures the server's write-ahead log: how long a COMMIT waits for it, and how many bytes per second it takes.
//!
//! The trial writes logical messages. They change no table, and only a subscriber that asks for messages gets them.
//! Nothing else writes much WAL without leaving something behind.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use inrush_destination::LogSpeed;

use super::trial_server::TrialServer;
use crate::{PostgresError, Session};

/// The number of COMMITs that are timed.
const COMMITS: usize = 12;

/// Bytes of a message: about as much as COPY writes to the WAL for a page of rows.
const MESSAGE_BYTES: usize = 8000;

/// The most messages of a transaction.
const MESSAGES_MAX: usize = 1000;

/// The least number of transactions of each connection, if there is time for them.
const TRANSACTIONS_MIN: usize = 3;

/// The most bytes that all connections write. Disks and their caches take a first part quickly and the rest more
/// slowly; the speed of the rest counts.
const BYTES_MAX: usize = 192 << 20;

/// The share of the written bytes whose speed counts. These are the last bytes.
const COUNTED_SHARE: f64 = 0.5;

/// Writes to the WAL by this number of connections at once. Whether the WAL is flushed is a setting, which the caller knows.
pub fn measure(
    server: &TrialServer<'_>,
    streams: usize,
    measuring_time: Duration,
) -> Result<LogSpeed, PostgresError> {
    server.runtime.block_on(async {
        let begun = Instant::now();
        let mut sessions = Vec::with_capacity(streams);
        for _ in 0..streams {
            sessions.push(Session::open(server.address, "inrush preflight").await?);
        }
        let commit_s = commits(&sessions[0]).await;
        let writing = Instant::now();
        let bytes_max = BYTES_MAX / streams;
        let messages = messages_of(bytes_max);
        let write = |session| write(session, writing, measuring_time, messages, bytes_max);
        let written = join_all(sessions.iter().map(write)).await;
        for session in sessions {
            session.close().await;
        }
        let mut marks = Vec::new();
        for one in written {
            marks.extend(one?);
        }
        Ok(LogSpeed {
            commit_s: commit_s?,
            all_bytes_s: speed(&mut marks, messages * MESSAGE_BYTES, streams),
            bytes: (marks.len() * messages * MESSAGE_BYTES) as u64,
            took_s: begun.elapsed().as_secs_f64(),
            is_flushed: false,
            setting: format!("wal_level = {}", server.plan.server.wal_level),
        })
    })
}

/// The number of messages in a transaction, for a connection that may write this number of bytes.
fn messages_of(bytes_max: usize) -> usize {
    (bytes_max / MESSAGE_BYTES / TRANSACTIONS_MIN).clamp(1, MESSAGES_MAX)
}

/// The speed at the end of the measurement. Each mark is the time at which one more transaction of this size was
/// flushed. The last marks are put into groups of as many marks as there are connections, and the median of the groups'
/// speeds counts. The reason: the last marks may lie within a tenth of a second, and a single pause of the disk would
/// then change a mean.
fn speed(marks: &mut [f64], transaction_bytes: usize, connections: usize) -> f64 {
    marks.sort_by(f64::total_cmp);
    let counted = (marks.len() as f64 * COUNTED_SHARE).ceil() as usize;
    let from = marks.len() - counted;
    let mut since = match from {
        0 => 0.0,
        _ => marks[from - 1],
    };
    let groups = marks[from..].chunks(connections.max(1)).map(|group| {
        let until = group.last().copied().unwrap_or(since);
        let took_s = until - std::mem::replace(&mut since, until);
        (group.len() * transaction_bytes) as f64 / took_s.max(1e-9)
    });
    let mut speeds: Vec<f64> = groups.collect();
    speeds.sort_by(f64::total_cmp);
    match speeds.len() {
        0 => 0.0,
        count => (speeds[(count - 1) / 2] + speeds[count / 2]) / 2.0,
    }
}

async fn commits(session: &Session) -> Result<f64, PostgresError> {
    let mut seconds = Vec::with_capacity(COMMITS);
    for _ in 0..COMMITS {
        let begun = Instant::now();
        message(session, 1, 100).await?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

/// Seconds since `begun` at which a connection's transactions were flushed.
async fn write(
    session: &Session,
    begun: Instant,
    measuring_time: Duration,
    messages: usize,
    bytes_max: usize,
) -> Result<Vec<f64>, PostgresError> {
    let mut marks = Vec::new();
    let is_left = |count: usize| (count + 1) * messages * MESSAGE_BYTES <= bytes_max;
    while marks.is_empty() || (begun.elapsed() < measuring_time && is_left(marks.len())) {
        message(session, messages, MESSAGE_BYTES).await?;
        marks.push(begun.elapsed().as_secs_f64());
    }
    Ok(marks)
}

/// Writes this number of messages in one transaction.
async fn message(session: &Session, count: usize, bytes: usize) -> Result<(), PostgresError> {
    let statement = format!(
        "SELECT count(pg_catalog.pg_logical_emit_message(true, 'inrush_preflight', \
         pg_catalog.repeat('x', {bytes}))) FROM pg_catalog.generate_series(1, {count})"
    );
    session.execute(&statement, "writing to the log").await
}

/// The end of the WAL; `None` if the role may not ask.
pub async fn place(session: &Session) -> Option<i64> {
    let rows = session
        .query(
            "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::int8",
            &[],
            "asking where the log ends",
        )
        .await;
    rows.ok()?.first()?.try_get(0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_is_how_it_goes_on() {
        let one = |marks: &mut [f64]| speed(marks, 8000, 1);
        assert_eq!(one(&mut []), 0.0);
        assert_eq!(one(&mut [2.0]), 4000.0);
        // Two in quick succession, then one each second.
        assert_eq!(one(&mut [2.25, 0.125, 0.25, 1.25]), 8000.0);
        // Two connections, whose transactions end together.
        assert_eq!(
            speed(&mut [1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0], 8000, 2),
            16000.0
        );
    }

    #[test]
    fn a_pause_of_the_disk_is_no_speed() {
        // One transaction is flushed each second, except one that takes ten seconds.
        let mut marks = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 16.0, 17.0];
        assert_eq!(speed(&mut marks, 8000, 1), 8000.0);
    }

    #[test]
    fn many_connections_write_no_more_than_few() {
        for streams in [1, 2, 24, 64, 1024] {
            let bytes_max = BYTES_MAX / streams;
            let all = streams * TRANSACTIONS_MIN * messages_of(bytes_max) * MESSAGE_BYTES;
            assert!(all <= BYTES_MAX, "{streams}: {all}");
        }
    }
}
