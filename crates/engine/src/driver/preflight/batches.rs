//! Measures the destination alone: one stream writes rows that are already converted, then all streams write at once.

use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use inrush_destination::UnitStream;
use inrush_rows::pace::value_bytes;

use super::measure::ContractPreflight;
use super::scratch::{Scratch, commit};
use crate::error::Error;
use crate::preflight::flow_found::FlowFound;
use crate::preflight::measure::MeasuredDestination;
use crate::preflight::sample_batches;
use crate::preflight::throughput::Throughput;

/// The bytes of text in the kept batches.
const KEPT_TEXT_BYTES: u64 = 32 << 20;

/// Converted rows.
pub struct Batches {
    batches: Vec<RecordBatch>,
    /// The bytes of text from which they were converted.
    text_bytes: u64,
    /// Bytes of their values.
    value_bytes: u64,
}

/// Converts rows of a flow's sample.
pub fn of_sample(preflight: &ContractPreflight<'_>, found: &FlowFound) -> Result<Batches, Error> {
    let reading = &preflight.plan.flows[found.index].reading;
    let making = preflight.client().making(reading, found);
    let mut maker = sample_batches::row_maker(reading)?;
    let mut stream = sample_batches::stream(&making)?;
    let mut batches = Vec::new();
    let mut text_bytes = 0;
    for portion in found.spread() {
        if text_bytes >= KEPT_TEXT_BYTES {
            break;
        }
        let mut sampled = sample_batches::portion(&making, &mut *stream, &mut maker, &portion)?;
        while let Some(batch) = sampled.next_batch()? {
            batches.push(batch);
            if text_bytes + sampled.text_bytes() >= KEPT_TEXT_BYTES {
                break;
            }
        }
        text_bytes += sampled.end().meter.text_bytes;
    }
    Ok(Batches {
        value_bytes: batches.iter().map(value_bytes).sum(),
        batches,
        text_bytes,
    })
}

impl Batches {
    /// True if there are none.
    pub fn has_rows(&self) -> bool {
        self.batches.iter().any(|batch| batch.num_rows() > 0)
    }

    /// Bytes that a rate limit counts for each byte of text.
    pub fn paced_of_text(&self) -> f64 {
        self.value_bytes as f64 / (self.text_bytes as f64).max(1.0)
    }

    /// Writes the batches by this number of streams at once, again and again until the time is over.
    pub fn write(
        &self,
        scratch: &Scratch<'_>,
        flow: usize,
        streams: usize,
        measuring_time: Duration,
    ) -> Result<Throughput, Error> {
        let stop = &scratch.preflight.options.stop;
        let per_batch = self.text_bytes as f64 / self.batches.len().max(1) as f64;
        let write = |target: &str,
                     number: usize,
                     stream: &mut dyn UnitStream|
         -> Result<Throughput, Error> {
            let begun = Instant::now();
            let (mut rows, mut written) = (0, 0_u64);
            // Each stream begins with another batch.
            for batch in self.batches.iter().cycle().skip(number * 7) {
                rows += batch.num_rows() as u64 - stream.write(batch, u64::MAX)?.not_taken() as u64;
                written += 1;
                if begun.elapsed() >= measuring_time || stop.asked().is_some() {
                    break;
                }
            }
            if stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            commit(stream, target, number, rows)?;
            let took_s = begun.elapsed().as_secs_f64();
            // In bytes of text, because the bytes that are sent to such a destination are unknown.
            let sent_bytes = written as f64 * per_batch;
            Ok(Throughput {
                sent_bytes_s: sent_bytes / took_s.max(1e-9),
                sent_bytes: sent_bytes as u64,
                took_s,
            })
        };
        let (all, _) = scratch.run(flow, streams, &write)?;
        Ok(Throughput::at_once(all))
    }
}
