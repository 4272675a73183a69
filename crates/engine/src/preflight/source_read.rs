//! Measures how fast the rows of a database are read, with the sessions and the meters of a run and without any later step: by
//! one connection, and by as many as there are streams.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use inrush_plan::Reading;
use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::ReadSettings;
use inrush_verdict::{Cause, Measurements, Phase};

use super::client::Client;
use super::flow_found::CHUNK_BYTES_SLOW;
use super::sample::Portion;
use super::sample_batches::Portions;
use crate::error::Error;
use crate::gauge::Gauge;
use crate::pipeline::metering::Subjects;
use crate::pipeline::reading_meter::ReadingMeter;
use crate::pipeline::{runtime, stream_threads};

/// In less time, there are too few samples of the sessions to find what limits them.
const LIMIT_SECONDS_MIN: f64 = 0.6;
/// The shortest time for which all streams read.
const ALL_TIME_MIN: Duration = Duration::from_millis(700);

/// If the first row takes longer, the rows are not read again for the steps after reading.
const FIRST_ROW_PATIENCE: Duration = Duration::from_secs(3);

/// The speed of the rows of a database.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceRead {
    /// The speed by one connection.
    pub one: RowSpeed,
    /// The speed by all streams at once.
    pub all: RowSpeed,
    /// The limit of all streams at once; `None` if they read for too short a time.
    pub limit: Option<SourceLimit>,
    /// Seconds until the first row came, the longest of all splits.
    pub first_row_s: f64,
}

/// The rows that were read in parallel, and their speed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowSpeed {
    /// Bytes of text in a second.
    pub text_bytes_s: f64,
    /// Rows in a second.
    pub rows_s: f64,
    /// Bytes of text.
    pub text_bytes: u64,
    /// Seconds that it took.
    pub took_s: f64,
}

/// What limits reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLimit {
    /// The cause, as a run's verdict names it.
    pub cause: Cause,
    /// The evidence for it, in words and figures.
    pub because: String,
}

impl SourceRead {
    /// True if reading the rows again, for the steps after reading, would take too long.
    pub fn is_slow_to_begin(&self) -> bool {
        self.first_row_s > FIRST_ROW_PATIENCE.as_secs_f64()
    }
}

/// Reads portions until the time is over: by one stream, and then by all.
pub fn measure(
    client: &Client<'_>,
    reading: &Reading,
    portions: &[Portion],
    measuring_time: Duration,
) -> Result<SourceRead, Error> {
    let (one, first_row_s, measured) = read(client, reading, portions, 1, measuring_time)?;
    let mut found = SourceRead {
        one,
        all: one,
        limit: None,
        first_row_s,
    };
    if client.streams > 1 && !found.is_slow_to_begin() {
        let measuring_time = measuring_time.max(ALL_TIME_MIN);
        // Streams may wait for each other's connections, so the time of the first row is measured with one stream.
        let (all, _, measured) = read(client, reading, portions, client.streams, measuring_time)?;
        found.all = all;
        found.limit = limit(&all, &measured);
    } else {
        found.limit = limit(&one, &measured);
    }
    Ok(found)
}

/// The reading of one stream.
#[derive(Default)]
struct StreamRead {
    text_bytes: u64,
    rows: u64,
    took_s: f64,
    first_row_s: f64,
}

/// The speed with this many streams, the seconds until the first row, and the same measurements as for a run.
fn read(
    client: &Client<'_>,
    reading: &Reading,
    portions: &[Portion],
    streams: usize,
    measuring_time: Duration,
) -> Result<(RowSpeed, f64, Measurements), Error> {
    let runtime = runtime()?;
    let gauges = stream_threads::gauges(streams);
    let portions = Portions::new(portions.to_vec());
    let subjects = Subjects {
        gauges: &gauges,
        flows: Vec::new(),
        feeds: Vec::new(),
        reads_database: true,
        samplers: reading.source.sampler().into_iter().collect(),
        backends: None,
    };
    let all: Mutex<Vec<StreamRead>> = Mutex::default();
    // This is not the run's own stop: after a stream has failed, the source's sessions are still needed to find
    // hazards.
    let stop = Stop::default();
    let began = Instant::now();
    let ended = stream_threads::run(&runtime, &stop, subjects, |_, gauge, _| {
        let own = read_as_stream(client, reading, &portions, measuring_time, gauge)?;
        let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(own);
        Ok(())
    });
    if let Some(error) = ended.error {
        return Err(error);
    }
    let mut speed = RowSpeed {
        took_s: began.elapsed().as_secs_f64(),
        ..RowSpeed::default()
    };
    let mut first_row_s: f64 = 0.0;
    for own in all.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let took_s = own.took_s.max(1e-9);
        speed.text_bytes += own.text_bytes;
        speed.text_bytes_s += own.text_bytes as f64 / took_s;
        speed.rows_s += own.rows as f64 / took_s;
        first_row_s = first_row_s.max(own.first_row_s);
    }
    Ok((speed, first_row_s, ended.measurements))
}

/// Reads portions as a stream of a run does.
fn read_as_stream(
    client: &Client<'_>,
    reading: &Reading,
    portions: &Portions,
    measuring_time: Duration,
    gauge: &Arc<Gauge>,
) -> Result<StreamRead, Error> {
    let mut stream = reading.source.open_stream(ReadSettings {
        chunk_bytes: client.chunk_bytes.min(CHUNK_BYTES_SLOW),
    })?;
    let mut found = StreamRead::default();
    let mut records = Records::default();
    let began = Instant::now();
    let mut is_over = false;
    while !is_over && let Some(portion) = portions.take() {
        let opened = Instant::now();
        let opening = gauge.enter(Phase::Read);
        let mut reader = stream.open(&portion.split.in_source())?;
        drop(opening);
        gauge.reads_from(reader.session());
        let mut meter = ReadingMeter::new(gauge);
        let mut has_rows = false;
        while !is_over && let Some(chunk) = meter.next_chunk(&mut *reader, &mut records)? {
            if client.stop.asked().is_some() {
                return Err(Error::Interrupted);
            }
            if !has_rows {
                found.first_row_s = found.first_row_s.max(opened.elapsed().as_secs_f64());
                has_rows = true;
            }
            reader.recycle(chunk);
            is_over = began.elapsed() >= measuring_time;
        }
        gauge.reads_from(None);
        let read = reader.meter();
        found.text_bytes += read.text_bytes;
        found.rows += read.record_count;
        is_over |= began.elapsed() >= measuring_time;
    }
    found.took_s = began.elapsed().as_secs_f64();
    Ok(found)
}

/// The first cause of a verdict on reading alone.
fn limit(speed: &RowSpeed, measured: &Measurements) -> Option<SourceLimit> {
    if speed.took_s < LIMIT_SECONDS_MIN || speed.text_bytes == 0 {
        return None;
    }
    let verdict = inrush_verdict::verdict(measured);
    let first = verdict.causes.into_iter().next()?;
    Some(match first.cause {
        // There are no later steps, so the source itself is the only cause left.
        Cause::Undecided | Cause::Coordination => SourceLimit {
            cause: Cause::SourceRead,
            because: "its rows do not arrive faster".to_owned(),
        },
        cause => SourceLimit {
            cause,
            because: first.evidence.join("; "),
        },
    })
}
