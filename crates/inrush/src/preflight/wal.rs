//! The server's log: what a COMMIT waits for, and what the log takes in a second.
//!
//! What is written into it is a logical message, which changes no table and which nobody who does not ask for it is
//! shown: a load under `wal_level = minimal` is the only other way to write much of it and leave nothing.

use std::time::{Duration, Instant};

use futures_util::future::join_all;

use super::at_once::Server;
use crate::destination::postgres::Session;
use crate::error::Error;

/// COMMITs that are timed.
const COMMITS: usize = 12;

/// Bytes of a message: as much as COPY logs of a page of rows.
const MESSAGE_BYTES: usize = 8000;

/// Messages of a transaction.
const MESSAGES: usize = 1000;

/// Bytes that a connection writes at most.
const BYTES_MAX: usize = 32 << 20;

/// The server's log.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wal {
    /// Seconds of a COMMIT that has little to flush: the median.
    pub commit_s: f64,
    /// Bytes in a second by all connections at once, flushed.
    pub all_bytes_s: f64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Seconds that it took.
    pub took_s: f64,
}

/// Writes to the log by so many connections at once.
pub fn measure(server: &Server<'_>, streams: usize, patience: Duration) -> Result<Wal, Error> {
    server.runtime.block_on(async {
        let begun = Instant::now();
        let mut sessions = Vec::with_capacity(streams);
        for _ in 0..streams {
            sessions.push(Session::open(server.address, "inrush preflight").await?);
        }
        let commit_s = commits(&sessions[0]).await;
        let written = join_all(sessions.iter().map(|session| write(session, patience))).await;
        for session in sessions {
            session.close().await;
        }
        let mut found = Wal {
            commit_s: commit_s?,
            ..Wal::default()
        };
        for one in written {
            let (bytes, seconds) = one?;
            found.bytes += bytes;
            found.all_bytes_s += bytes as f64 / seconds.max(1e-9);
        }
        found.took_s = begun.elapsed().as_secs_f64();
        Ok(found)
    })
}

async fn commits(session: &Session) -> Result<f64, Error> {
    let mut seconds = Vec::with_capacity(COMMITS);
    for _ in 0..COMMITS {
        let begun = Instant::now();
        message(session, 1, 100).await?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}

/// Bytes that a connection writes, and seconds.
async fn write(session: &Session, patience: Duration) -> Result<(u64, f64), Error> {
    let begun = Instant::now();
    let mut bytes = 0;
    while begun.elapsed() < patience && bytes < BYTES_MAX {
        message(session, MESSAGES, MESSAGE_BYTES).await?;
        bytes += MESSAGES * MESSAGE_BYTES;
    }
    Ok((bytes as u64, begun.elapsed().as_secs_f64()))
}

/// So many messages in a transaction of their own.
async fn message(session: &Session, count: usize, bytes: usize) -> Result<(), Error> {
    let statement = format!(
        "SELECT count(pg_catalog.pg_logical_emit_message(true, 'inrush_preflight', \
         pg_catalog.repeat('x', {bytes}))) FROM pg_catalog.generate_series(1, {count})"
    );
    Ok(session.execute(&statement, "writing to the log").await?)
}

/// Where the log ends; none where the role may not ask.
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
