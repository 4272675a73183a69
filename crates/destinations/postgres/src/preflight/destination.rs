//! Measures the destination alone: rows that were converted before are sent by one connection, then by all at once.

use std::time::Instant;

use inrush_engine::native::preflight::Throughput;
use inrush_engine::native::preflight::decode::Encoded;

use super::at_once::TrialServer;
use super::trial::Trial;
use crate::Session;
use crate::copy::{BlockPool, CopyWriter};
use crate::load::encoder::Encoder;
use crate::load_error::LoadError;

/// Sends rows by this number of connections at once.
pub fn measure(
    server: &TrialServer<'_>,
    flow: usize,
    encoded: &Encoded,
    streams: usize,
) -> Result<Throughput, LoadError> {
    let units = server.plan.flows[flow].units.len();
    let opened = server.open(streams, flow, &|number| number % units)?;
    let send = |number: usize, session: &Session, trial: &Trial| {
        let sending = send(server, session, trial, encoded, number);
        server.runtime.block_on(sending)
    };
    Ok(Throughput::at_once(server.run(opened, &send)?))
}

async fn send(
    server: &TrialServer<'_>,
    session: &Session,
    trial: &Trial,
    encoded: &Encoded,
    number: usize,
) -> Result<Throughput, LoadError> {
    let encoder = Encoder::new(&trial.flow);
    let pool = BlockPool::default();
    let doing = "sending rows of the sample".to_owned();
    let (copy, stop) = (trial.copy(session).await?, server.stop.clone());
    let (session, gauge) = &session.measured();
    let begun = Instant::now();
    let mut writer = CopyWriter::begin(session, &copy, pool.clone(), stop, doing).await?;
    let mut block = pool.take();
    encoder.begin(&mut block);
    // Each connection begins with another block.
    let blocks = encoded.blocks.iter().cycle().skip(number * 7);
    for rows in blocks {
        block.extend_from_slice(rows);
        block = writer.send(block).await?;
        if begun.elapsed() >= server.measuring_time {
            break;
        }
    }
    encoder.end(&mut block);
    if !block.is_empty() {
        writer.send(block).await?;
    }
    let sent_bytes = gauge.meter().sent_bytes;
    writer.finish().await?;
    let took_s = begun.elapsed().as_secs_f64();
    Ok(Throughput {
        sent_bytes_s: sent_bytes as f64 / took_s.max(1e-9),
        sent_bytes,
        took_s,
    })
}
