//! The network to the server: its round trip, and its rate in one direction.
//!
//! The server receives the rows of a COPY with `WHERE false` and discards them one by one. So the network, TLS and
//! receiving bytes take the time, and no table does.

use std::time::Instant;

use inrush_engine::planner::preflight::on_a_thread_each;

use super::trial_server::TrialServer;
use crate::block_socket::BLOCK_BYTES;
use crate::copy::{BlockPool, CopyWriter};
use crate::load_error::LoadError;
use crate::{PostgresError, Session};

/// The number of round trips that are measured.
const ROUND_TRIPS: usize = 40;

/// Bytes of a row: large, so that the rows cost the server little.
const ROW_BYTES: usize = 64 << 10;

/// `PGCOPY\n\377\r\n\0`, no flags, no extension.
const BEGINNING: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// The network to the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Network {
    /// Bytes per second, by one connection.
    pub one_bytes_s: f64,
    /// Bytes per second, by all connections at once.
    pub all_bytes_s: f64,
    /// Bytes that were sent.
    pub bytes: u64,
    /// Seconds that the measurement took.
    pub took_s: f64,
}

/// Seconds of a round trip: the median of several.
pub async fn round_trip(session: &Session) -> Result<f64, PostgresError> {
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

/// Sends bytes by one connection, and by all at once.
pub fn measure(server: &TrialServer<'_>, streams: usize) -> Result<Network, LoadError> {
    let begun = Instant::now();
    let mut found = Network::default();
    let one = send_all(server, 1)?;
    let all = match streams {
        0 | 1 => one,
        streams => send_all(server, streams)?,
    };
    found.one_bytes_s = one.0;
    found.all_bytes_s = all.0;
    found.bytes = one.1 + all.1;
    found.took_s = begun.elapsed().as_secs_f64();
    Ok(found)
}

/// Bytes per second over this number of connections, each with its own thread like the streams of a run, and the number
/// of bytes.
fn send_all(server: &TrialServer<'_>, streams: usize) -> Result<(f64, u64), LoadError> {
    let sessions = server.runtime.block_on(open(server, streams))?;
    let sent = on_a_thread_each(sessions.iter(), &|session| {
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

async fn open(server: &TrialServer<'_>, connections: usize) -> Result<Vec<Session>, PostgresError> {
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

async fn send(server: &TrialServer<'_>, session: &Session) -> Result<(f64, u64), LoadError> {
    let mut row = Vec::with_capacity(ROW_BYTES);
    // One field of this number of bytes.
    row.extend_from_slice(&1_i16.to_be_bytes());
    row.extend_from_slice(&((ROW_BYTES - 6) as i32).to_be_bytes());
    row.resize(ROW_BYTES, b'x');
    let pool = BlockPool::default();
    let statement = "COPY pg_temp.inrush_preflight_network FROM STDIN (FORMAT binary) WHERE false";
    let doing = "measuring the network".to_owned();
    let (session, gauge) = &session.measured();
    let begun = Instant::now();
    let mut writer =
        CopyWriter::begin(session, statement, pool.clone(), server.stop.clone(), doing).await?;
    let mut block = pool.take();
    block.extend_from_slice(BEGINNING);
    while begun.elapsed() < server.network_time {
        while block.len() < BLOCK_BYTES {
            block.extend_from_slice(&row);
        }
        block = writer.send(block).await?;
    }
    block.extend_from_slice(&(-1_i16).to_be_bytes());
    writer.send(block).await?;
    let bytes = gauge.meter().sent_bytes;
    writer.finish().await?;
    Ok((
        bytes as f64 / begun.elapsed().as_secs_f64().max(1e-9),
        bytes,
    ))
}
