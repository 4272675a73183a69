//! The rows of the sample, batch by batch: read, scanned and converted by the code of a run.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use inrush_convert::RunStamp;
use inrush_plan::Reading;
use inrush_rows::chunk::Chunk;
use inrush_rows::ids::RunId;
use inrush_rows::reject::Reject;
use inrush_scan::Records;
use inrush_source::{ReadSettings, ReadingSession, SourceError, SourceStream, SplitReader};
use inrush_system::process;

use super::sample::Portion;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::meter::{Meter, nanoseconds};
use crate::pipeline::row_maker::RowMaker;
use crate::pipeline::split_evidence::SplitEvidence;

/// The settings for making a flow's rows.
#[derive(Clone, Copy)]
pub struct Making<'a> {
    /// The reading of its files.
    pub reading: &'a Reading,
    /// Bytes of text in a chunk.
    pub chunk_bytes: usize,
    /// The number of rows in a batch.
    pub batch_rows: usize,
}

/// The work of reading and converting rows of the sample.
#[derive(Clone, Debug, Default)]
pub struct SampleWork {
    /// The time by phase, and the rows and bytes.
    pub meter: Meter,
    /// Rows that were read, including rejected ones.
    pub rows_read: u64,
    /// Rows that would be rejected.
    pub rows_rejected: u64,
    /// The first rejected row.
    pub first_reject: Option<Reject>,
    /// The work of a source database; all zero for files.
    pub of_database: DatabaseWork,
}

/// The work of a source database that sends rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct DatabaseWork {
    /// Nanoseconds of waiting for its rows.
    pub wait_ns: u64,
    /// Microseconds that its backends ran on a CPU; `None` if none was seen on this machine.
    pub cpu_us: Option<u64>,
    /// Bytes as stored of the portions that were read to their end.
    pub stored_bytes: u64,
    /// Bytes of text of these portions.
    pub text_bytes: u64,
    /// Rows of these portions.
    pub rows: u64,
}

impl DatabaseWork {
    fn add(&mut self, other: &DatabaseWork) {
        self.wait_ns += other.wait_ns;
        self.cpu_us = match (self.cpu_us, other.cpu_us) {
            (Some(one), Some(more)) => Some(one + more),
            (one, more) => one.or(more),
        };
        self.stored_bytes += other.stored_bytes;
        self.text_bytes += other.text_bytes;
        self.rows += other.rows;
    }
}

impl SampleWork {
    /// Adds the measurement of another thread.
    pub fn add(&mut self, other: SampleWork) {
        self.meter.add(&other.meter);
        self.rows_read += other.rows_read;
        self.rows_rejected += other.rows_rejected;
        self.first_reject = self.first_reject.take().or(other.first_reject);
        self.of_database.add(&other.of_database);
    }
}

/// The maker of rows, as in a run.
pub fn row_maker(reading: &Reading) -> Result<RowMaker, Error> {
    RowMaker::new(reading, stamp())
}

/// A run for the columns of provenance.
pub fn stamp() -> RunStamp {
    RunStamp {
        run_id: RunId::new(0),
        started_at_microseconds: 0,
    }
}

/// Reads a source and makes batches of its rows.
pub struct SampleBatches<'a> {
    source: Box<dyn SplitReader + 'a>,
    maker: &'a mut RowMaker,
    batch_rows: usize,
    stored_bytes_max: u64,
    evidence: SplitEvidence,
    records: Records,
    chunk: Option<Chunk>,
    at: usize,
    /// Rows that were made together with those of the last batch.
    left: Option<RecordBatch>,
    rejects: Vec<Reject>,
    work: SampleWork,
    /// Measures the time of converting, of the steps and of the sums, which is added to the work at the end.
    gauge: Gauge,
    /// The portion that is read, if its rows come from a database.
    database: Option<DatabasePortion>,
    is_at_end: bool,
}

/// A portion of a database that is read.
struct DatabasePortion {
    /// Bytes as stored.
    size_bytes: u64,
    /// The process that sends the rows, if it is on this machine, and its microseconds on a CPU before.
    process: Option<(i32, u64)>,
}

impl DatabasePortion {
    fn begin(making: &Making<'_>, portion: &Portion, session: Option<ReadingSession>) -> Self {
        let process = session.zip(making.reading.source.sampler());
        let process = process.and_then(|(session, sampler)| {
            let process_id = session.process_id;
            let is_here = !session.is_remote && sampler.is_on_this_machine(process_id);
            let ran_us = is_here.then(|| process::cpu_us(process_id)).flatten()?.0;
            Some((process_id, ran_us))
        });
        DatabasePortion {
            size_bytes: portion.split.size_bytes,
            process,
        }
    }

    /// Microseconds of CPU that the process has used since the portion was opened.
    fn cpu_us(&self) -> Option<u64> {
        let (process_id, before) = self.process?;
        let (now, _) = process::cpu_us(process_id)?;
        Some(now.saturating_sub(before))
    }
}

/// A stream that reads portions.
pub fn stream<'a>(making: &Making<'a>) -> Result<Box<dyn SourceStream + 'a>, SourceError> {
    making.reading.source.open_stream(ReadSettings {
        chunk_bytes: making.chunk_bytes,
    })
}

/// Opens a portion of a file.
pub fn portion<'a>(
    making: &Making<'_>,
    stream: &'a mut dyn SourceStream,
    maker: &'a mut RowMaker,
    portion: &Portion,
) -> Result<SampleBatches<'a>, Error> {
    let reader = stream.open(&portion.split.in_source())?;
    let session = reader.session();
    maker.begin_input(portion.split.input.index());
    let mut batches = SampleBatches::new(making, maker, reader);
    match &portion.place {
        None => batches.database = Some(DatabasePortion::begin(making, portion, session)),
        // A file whose beginning covers all of it is read to its end, where a cut-off file shows as an error.
        Some(place) if place.size_bytes() < portion.split.size_bytes => {
            batches.stored_bytes_max = place.size_bytes();
        }
        Some(_) => {}
    }
    Ok(batches)
}

impl<'a> SampleBatches<'a> {
    /// Begins to read a source.
    pub fn new(
        making: &Making<'_>,
        maker: &'a mut RowMaker,
        source: Box<dyn SplitReader + 'a>,
    ) -> SampleBatches<'a> {
        SampleBatches {
            source,
            maker,
            batch_rows: making.batch_rows,
            stored_bytes_max: u64::MAX,
            evidence: SplitEvidence::new(making.reading),
            records: Records::default(),
            chunk: None,
            at: 0,
            left: None,
            rejects: Vec::new(),
            work: SampleWork::default(),
            gauge: Gauge::default(),
            database: None,
            is_at_end: false,
        }
    }

    /// The next rows; `None` at the end of the portion. Drop the previous batch first: its texts are views into a chunk
    /// that is filled again.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        if let Some(left) = self.left.take() {
            return Ok(Some(self.batch_of(left)));
        }
        while self.at >= self.records.len() || self.chunk.is_none() {
            if let Some(chunk) = self.chunk.take() {
                self.source.recycle(chunk);
            }
            self.at = 0;
            // Opening a small file reads all of it, but returns no rows.
            let has_begun = self.work.meter.text_bytes > 0;
            let is_enough = has_begun && self.source.meter().stored_bytes >= self.stored_bytes_max;
            let next = match is_enough {
                true => None,
                false => {
                    let waiting = Instant::now();
                    self.source.keep_pace();
                    self.work.meter.pace_wait_ns += nanoseconds(waiting.elapsed());
                    self.source.next_chunk(&mut self.records)?
                }
            };
            let Some(chunk) = next else {
                self.is_at_end = !is_enough;
                self.records.clear();
                return Ok(None);
            };
            self.work.rows_read += self.records.len() as u64;
            self.work.meter.text_bytes += chunk.size_bytes();
            self.chunk = Some(chunk);
        }
        let chunk = self
            .chunk
            .as_ref()
            .expect("the loop ends only when there is a batch");
        let end = self.maker.end(self.at, self.records.len(), self.batch_rows);
        let rows = self.at..end;
        let made = self
            .maker
            .make(chunk, &self.records, rows, &mut self.rejects, &self.gauge)?;
        let (made, end) = (made.batch, made.end);
        self.work.rows_rejected += self.rejects.len() as u64;
        if self.work.first_reject.is_none() {
            self.work.first_reject = self.rejects.drain(..).next();
        }
        self.rejects.clear();
        self.at = end;
        Ok(Some(self.batch_of(made)))
    }

    /// The first rows of those that were made together; the others are left for the next batches.
    fn batch_of(&mut self, made: RecordBatch) -> RecordBatch {
        let count = made.num_rows().min(self.batch_rows);
        let batch = made.slice(0, count);
        if count < made.num_rows() {
            self.left = Some(made.slice(count, made.num_rows() - count));
        }
        self.evidence.add(&batch, &self.gauge);
        self.work.meter.rows += batch.num_rows() as u64;
        batch
    }

    /// Bytes of text that were read so far.
    pub fn text_bytes(&self) -> u64 {
        self.work.meter.text_bytes
    }

    /// The measurements. If the portion was not read to its end, the current chunk counts as read.
    pub fn end(self) -> SampleWork {
        let SampleBatches {
            mut source,
            mut work,
            gauge,
            database,
            is_at_end,
            ..
        } = self;
        let spent = gauge.meter();
        work.meter.convert_ns += spent.convert_ns;
        work.meter.transform_ns += spent.transform_ns;
        work.meter.verify_ns += spent.verify_ns;
        // A part of a file stands for the whole: its text is compared with the stored bytes that it comes from.
        let read = source.meter_of_chunks();
        work.meter.stored_bytes += read.stored_bytes;
        work.meter.read_ns += read.read_ns;
        work.meter.decompress_ns += read.decompress_ns;
        work.meter.scan_ns += read.scan_ns;
        if let Some(portion) = database {
            let of_database = &mut work.of_database;
            of_database.wait_ns = read.read_ns;
            of_database.cpu_us = portion.cpu_us();
            if is_at_end {
                of_database.stored_bytes = portion.size_bytes;
                of_database.text_bytes = work.meter.text_bytes;
                of_database.rows = work.rows_read;
            }
        }
        work
    }
}

/// Hands out portions one after the other, each to one stream.
pub struct Portions {
    portions: Vec<Portion>,
    next: std::sync::atomic::AtomicUsize,
}

impl Portions {
    /// A list of portions of which none is taken.
    pub fn new(portions: Vec<Portion>) -> Arc<Portions> {
        Arc::new(Portions {
            portions,
            next: std::sync::atomic::AtomicUsize::new(0),
        })
    }

    /// The next portion.
    pub fn take(&self) -> Option<&Portion> {
        let index = self.next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.portions.get(index)
    }
}
