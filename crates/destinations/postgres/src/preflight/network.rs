//! The network to the server: its round trip, and its rate in one direction.
//!
//! The server receives the rows of a COPY with `WHERE false` and discards them one by one. So the network, TLS and
//! receiving bytes take the time, and no table does.

use std::time::{Duration, Instant};

use inrush_destination::{Error, NetworkSpeed, Result};
use inrush_plan::hints;

use super::trial_server::TrialServer;
use crate::block_socket::BLOCK_BYTES;
use crate::copy::{BlockPool, CopyWriter};
use crate::load_error::LoadError;
use crate::{PostgresError, Session};

/// The number of round trips that are measured.
const ROUND_TRIPS: usize = 40;

/// Bytes of a row: large, so that the rows cost the server little.
const ROW_BYTES: usize = 64 << 10;

/// The time of each measurement.
const SENDING_TIME: Duration = Duration::from_millis(500);

/// `PGCOPY\n\377\r\n\0`, no flags, no extension.
const BEGINNING: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Seconds of a round trip: the median of several.
pub async fn round_trip(session: &Session) -> std::result::Result<f64, PostgresError> {
    let mut trips = Vec::with_capacity(ROUND_TRIPS);
    for _ in 0..ROUND_TRIPS {
        let begun = Instant::now();
        session
            .execute("SELECT", "measuring the round trip")
            .await?;
        trips.push(begun.elapsed().as_secs_f64());
    }
    trips.sort_by(f64::total_cmp);
    Ok(trips[trips.len() / 2])
}

/// Sends bytes by one connection, and by all at once. The round trip is not measured here.
pub fn measure(server: &TrialServer<'_>, streams: usize) -> Result<NetworkSpeed> {
    let begun = Instant::now();
    let one = send_all(server, 1)?;
    let all = match streams {
        0 | 1 => one,
        streams => send_all(server, streams)?,
    };
    Ok(NetworkSpeed {
        one_bytes_s: one.0,
        all_bytes_s: all.0,
        bytes: one.1 + all.1,
        took_s: begun.elapsed().as_secs_f64(),
        round_trip_s: 0.0,
    })
}

/// Bytes per second over this number of connections, each with its own thread like the streams of a run, and the number
/// of bytes.
fn send_all(server: &TrialServer<'_>, streams: usize) -> Result<(f64, u64)> {
    let sessions = server.runtime.block_on(open(server, streams))?;
    let sent = on_a_thread_each(&sessions, &|session| {
        server.runtime.block_on(send(server, session))
    });
    server.runtime.block_on(async {
        for session in sessions {
            let _ = session.execute("ROLLBACK", "rolling a table back").await;
            session.close().await;
        }
    });
    let (mut bytes_s, mut bytes) = (0.0, 0);
    for one in sent? {
        let (own_s, own) = one?;
        bytes_s += own_s;
        bytes += own;
    }
    Ok((bytes_s, bytes))
}

/// Calls the function with each session at the same time, each on its own thread. Fails if a thread cannot be started.
fn on_a_thread_each<T: Send>(
    sessions: &[Session],
    work: &(impl Fn(&Session) -> T + Sync),
) -> Result<Vec<T>> {
    std::thread::scope(|scope| {
        let begin =
            |session| std::thread::Builder::new().spawn_scoped(scope, move || work(session));
        let threads: std::io::Result<Vec<_>> = sessions.iter().map(begin).collect();
        let threads = threads.map_err(|source| Error::Unsuitable {
            what: format!("cannot start a thread: {source}"),
            hint: hints::THREADS.to_owned(),
        })?;
        let ended = threads.into_iter().map(|thread| {
            let ended = thread.join();
            ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        Ok(ended.collect())
    })
}

async fn open(
    server: &TrialServer<'_>,
    connections: usize,
) -> std::result::Result<Vec<Session>, PostgresError> {
    let mut sessions = Vec::with_capacity(connections);
    for _ in 0..connections {
        let session = Session::open(server.address, "inrush preflight").await?;
        session
            .execute(
                "BEGIN; CREATE TEMPORARY TABLE inrush_preflight_network (rows bytea)",
                "making a temporary table",
            )
            .await?;
        sessions.push(session);
    }
    Ok(sessions)
}

/// Bytes per second over this session, and the number of bytes.
async fn send(
    server: &TrialServer<'_>,
    session: &Session,
) -> std::result::Result<(f64, u64), LoadError> {
    let mut row = Vec::with_capacity(ROW_BYTES);
    // One field of this number of bytes.
    row.extend_from_slice(&1_i16.to_be_bytes());
    row.extend_from_slice(&((ROW_BYTES - 6) as i32).to_be_bytes());
    row.resize(ROW_BYTES, b'x');
    let pool = BlockPool::default();
    let statement = "COPY pg_temp.inrush_preflight_network FROM STDIN (FORMAT binary) WHERE false";
    let doing = "measuring the network".to_owned();
    let begun = Instant::now();
    let mut writer =
        CopyWriter::begin(session, statement, pool.clone(), server.stop.clone(), doing).await?;
    let mut block = pool.take();
    block.extend_from_slice(BEGINNING);
    let mut bytes = 0;
    while begun.elapsed() < SENDING_TIME {
        while block.len() < BLOCK_BYTES {
            block.extend_from_slice(&row);
        }
        bytes += block.len() as u64;
        block = writer.send(block).await?;
    }
    block.extend_from_slice(&(-1_i16).to_be_bytes());
    bytes += block.len() as u64;
    writer.send(block).await?;
    writer.finish().await?;
    Ok((
        bytes as f64 / begun.elapsed().as_secs_f64().max(1e-9),
        bytes,
    ))
}
