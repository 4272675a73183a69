//! Measures the loader's work on a row: decompressing, scanning, converting, encoding.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use inrush_destination::EncodeRows;
use inrush_rows::cancel::Stop;
use inrush_system::threads::on_threads;

use super::sample::Portion;
use super::sample_batches::{self, Making, SampleWork};
use crate::error::Error;
use crate::meter::nanoseconds;
use crate::pipeline::row_maker::RowMaker;

/// The least text that a thread reads, even if this takes longer than the given time. Small files are read completely,
/// so that the findings about their rows do not depend on the clock.
const TEXT_BYTES_MIN: u64 = 4 << 20;

/// Bytes of encoded rows that are kept for the destination: so many that none of them are in a core's cache when they
/// are sent.
const KEPT_BYTES_MAX: usize = 24 << 20;

/// Bytes of encoded rows that are kept in one block, and sent at a time.
const BLOCK_BYTES: usize = 256 << 10;

/// Makes a row maker; each thread has its own.
pub type MakeRows<'a> = &'a (dyn Fn() -> Result<RowMaker, Error> + Sync);
/// Makes an encoder; each thread has its own.
pub type MakeEncoder<'a> = Box<dyn Fn() -> Box<dyn EncodeRows> + Sync + 'a>;
/// The functions that make rows, and that encode them if the destination takes encoded rows.
pub type Ways<'a> = (MakeRows<'a>, Option<&'a MakeEncoder<'a>>);

/// Encoded rows, as they are in a COPY without its header and end.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    /// Blocks of whole rows.
    pub blocks: Vec<EncodedBlock>,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes of the text that they were made of.
    pub text_bytes: u64,
}

/// A block of whole rows.
#[derive(Clone, Debug, Default)]
pub struct EncodedBlock {
    /// The rows.
    pub bytes: Vec<u8>,
    /// Their number.
    pub rows: u64,
}

/// The measurement of one thread, or of several together.
#[derive(Clone, Debug, Default)]
pub struct Decoded {
    /// The rows, bytes and time.
    pub work: SampleWork,
    /// Bytes of text in a second, of all threads together.
    pub text_bytes_s: f64,
    /// Seconds that it took.
    pub took_s: f64,
    /// Rows for the destination.
    pub encoded: Encoded,
}

impl Decoded {
    /// Bytes of its text.
    pub fn text_bytes(&self) -> f64 {
        self.work.meter.text_bytes as f64
    }
}

/// Reads, converts and encodes portions with this number of threads, until the time is over.
pub fn measure(
    making: &Making<'_>,
    portions: &[Portion],
    threads: usize,
    measuring_time: Duration,
    (make_rows, make_encoder): Ways<'_>,
    stop: &Stop,
) -> Result<Decoded, Error> {
    let next = Mutex::new(portions.iter());
    // A database may be slow, and more of its rows would add no information.
    let text_bytes_min = match portions.iter().any(Portion::is_of_database) {
        true => 0,
        false => TEXT_BYTES_MIN,
    };
    let begun = Instant::now();
    let work = || -> Result<Vec<Decoded>, Error> {
        let mut own = Decoded::default();
        let mut maker = make_rows()?;
        let mut stream = sample_batches::stream(making)?;
        let mut encoder = make_encoder.map(|make| make());
        let is_over =
            |text_bytes: u64| text_bytes >= text_bytes_min && begun.elapsed() >= measuring_time;
        while !is_over(own.work.meter.text_bytes) {
            let portion = next.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(portion) = portion else { break };
            let mut batches = sample_batches::portion(making, &mut *stream, &mut maker, portion)?;
            let mut block = EncodedBlock::default();
            let mut encode_ns = 0;
            while let Some(batch) = batches.next_batch()? {
                if stop.asked().is_some() {
                    return Err(Error::Interrupted);
                }
                if let Some(encoder) = &mut encoder {
                    let started = Instant::now();
                    encoder.encode(&batch, &mut block.bytes)?;
                    encode_ns += nanoseconds(started.elapsed());
                    block.rows += batch.num_rows() as u64;
                    if block.bytes.len() >= BLOCK_BYTES {
                        keep(&mut own.encoded, &mut block);
                    }
                }
                if is_over(own.work.meter.text_bytes + batches.text_bytes()) {
                    break;
                }
            }
            keep(&mut own.encoded, &mut block);
            let mut work = batches.end();
            work.meter.encode_ns += encode_ns;
            own.encoded.text_bytes += work.meter.text_bytes;
            own.work.add(work);
        }
        own.took_s = begun.elapsed().as_secs_f64();
        own.work.meter.sent_bytes = own.encoded.bytes;
        own.text_bytes_s = own.work.meter.text_bytes as f64 / own.took_s.max(1e-9);
        Ok(vec![own])
    };
    let mut found = Decoded::default();
    for own in on_threads(threads, &work)? {
        found.took_s = found.took_s.max(own.took_s);
        if own.work.rows_read > 0 {
            found.text_bytes_s += own.text_bytes_s;
        }
        found.work.add(own.work);
        let (kept, more) = (&mut found.encoded, own.encoded);
        if kept.blocks.is_empty() {
            kept.blocks = more.blocks;
        }
        kept.bytes += more.bytes;
        kept.text_bytes += more.text_bytes;
    }
    Ok(found)
}

/// Counts a block, and keeps it if there is room.
fn keep(encoded: &mut Encoded, block: &mut EncodedBlock) {
    encoded.bytes += block.bytes.len() as u64;
    if encoded.blocks.len() * BLOCK_BYTES < KEPT_BYTES_MAX && block.rows > 0 {
        encoded.blocks.push(std::mem::take(block));
    }
    block.bytes.clear();
    block.rows = 0;
}
