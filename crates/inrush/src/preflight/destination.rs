//! What the destination takes alone: rows that were converted before, sent by one connection and by all at once.

use std::time::Instant;

use super::at_once::Server;
use super::decode::Encoded;
use super::trial::Trial;
use crate::destination::postgres::Session;
use crate::destination::postgres::copy::{BlockPool, CopyStop, CopyWriter};
use crate::error::Error;
use crate::pipeline::encoder::Encoder;

/// What the destination took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Took {
    /// Bytes of rows in a second, as they are sent.
    pub sent_bytes_s: f64,
    /// Bytes of rows.
    pub sent_bytes: u64,
    /// Seconds.
    pub took_s: f64,
}

impl Took {
    /// What was taken of several at once.
    pub fn at_once(all: impl IntoIterator<Item = Took>) -> Took {
        let mut found = Took::default();
        for one in all {
            found.sent_bytes += one.sent_bytes;
            found.sent_bytes_s += one.sent_bytes_s;
            found.took_s = found.took_s.max(one.took_s);
        }
        found
    }
}

/// Sends rows by so many connections at once.
pub fn measure(
    server: &Server<'_>,
    flow: usize,
    encoded: &Encoded,
    streams: usize,
) -> Result<Took, Error> {
    let units = server.plan.flows[flow].units.len();
    let opened = server.open(streams, flow, &|number| number % units)?;
    let send = |number: usize, session: &Session, trial: &Trial| {
        let sending = send(server, session, trial, encoded, number);
        server.runtime.block_on(sending)
    };
    Ok(Took::at_once(server.run(opened, &send)?))
}

async fn send(
    server: &Server<'_>,
    session: &Session,
    trial: &Trial,
    encoded: &Encoded,
    number: usize,
) -> Result<Took, Error> {
    let encoder = Encoder::new(&trial.flow);
    let pool = BlockPool::default();
    let doing = "sending rows of the sample".to_owned();
    let (copy, stop) = (&trial.unit.copy, server.stop.clone());
    let before = session.gauge.meter();
    let begun = Instant::now();
    let mut writer = CopyWriter::begin(session, copy, pool.clone(), stop, doing).await?;
    let mut block = pool.take();
    encoder.begin(&mut block);
    // Each connection begins elsewhere among the blocks.
    let blocks = encoded.blocks.iter().cycle().skip(number * 7);
    for rows in blocks {
        block.extend_from_slice(rows);
        block = writer.send(block).await.map_err(stopped)?;
        if begun.elapsed() >= server.patience {
            break;
        }
    }
    encoder.end(&mut block);
    if !block.is_empty() {
        writer.send(block).await.map_err(stopped)?;
    }
    let sent_bytes = session.gauge.meter().since(&before).sent_bytes;
    writer.finish().await.map_err(stopped)?;
    let took_s = begun.elapsed().as_secs_f64();
    Ok(Took {
        sent_bytes_s: sent_bytes as f64 / took_s.max(1e-9),
        sent_bytes,
        took_s,
    })
}

/// Why a COPY did not go on.
pub fn stopped(stop: CopyStop) -> Error {
    match stop {
        CopyStop::Asked => Error::Interrupted,
        CopyStop::Failed(error) => Error::Destination(error),
    }
}
