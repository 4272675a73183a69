//! S-22 to S-24: the server of a source: its sessions, its rate, and what it reports to a preflight.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use inrush_rows::cancel::{Stop, StopReason};
use inrush_rows::finding::Weight;
use inrush_scan::Records;
use inrush_source::{
    ExpectedReading, ReadSettings, ReadingSession, SessionSampler, Source, SourceError, SourceSplit,
};

use super::case::{Case, MakeCase};
use super::ending::only_split;
use super::random::Random;
use super::reading::{Row, Way, add_rows, read, rows, same, told};

/// The number of rows of a case.
const ROWS: usize = 300;
/// More rows than any source receives at once, because the rate is limited only between the batches of a driver.
const RATE_ROWS: usize = 20_000;
/// Some splits for each stream. Each split can be a query over all rows, so more would only take longer.
const RATE_SPLIT_BYTES: u64 = 50_000;
/// The bytes of a chunk: a few rows.
const CHUNK_BYTES: usize = 400;
/// The number of chunks after which the server is asked.
const LOOKS: usize = 3;
/// A process that no server has.
const NO_PROCESS: i32 = i32::MAX;

pub(super) fn sessions_are_known(make: &MakeCase<'_>, _: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    let sampler = source.sampler();
    if let Some(sampler) = &sampler {
        no_secret(&*case, sampler.server())?;
        if !sampler.look(&[NO_PROCESS]).map_err(told)?.is_empty() {
            return Err(format!("the server has a process {NO_PROCESS}"));
        }
    }
    for input in 0..source.input_count() {
        let split = only_split(&*source, input)?;
        if !split.is_shared {
            let found = looked_at(&*source, &split, sampler.as_deref())?;
            same(&found, &case.rows()[input], Clone::clone)?;
        }
    }
    Ok(())
}

/// Reads a split, and asks the server about its session meanwhile.
fn looked_at(
    source: &dyn Source,
    split: &SourceSplit,
    sampler: Option<&dyn SessionSampler>,
) -> Result<Vec<Row>, String> {
    let settings = ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    };
    let mut stream = source.open_stream(settings).map_err(told)?;
    let mut reader = stream.open(split).map_err(told)?;
    look(sampler, reader.session(), true)?;
    let mut records = Records::default();
    let mut rows = Vec::new();
    for number in 0.. {
        let Some(chunk) = reader.next_chunk(&mut records).map_err(told)? else {
            break;
        };
        add_rows(&mut rows, &chunk, &records);
        reader.recycle(chunk);
        if number < LOOKS {
            look(sampler, reader.session(), false)?;
        }
    }
    match reader.session() {
        None => Ok(rows),
        Some(session) => Err(format!(
            "the reader still reports {session:?} after the last row"
        )),
    }
}

/// Asks the server about the session of a reader.
fn look(
    sampler: Option<&dyn SessionSampler>,
    session: Option<ReadingSession>,
    is_needed: bool,
) -> Result<(), String> {
    match (sampler, session) {
        (None, Some(session)) => Err(format!(
            "the reader reports {session:?}, but the source has no sampler"
        )),
        (Some(_), None) if is_needed => {
            Err("a reader that has received no row reports no session".to_owned())
        }
        (_, None) => Ok(()),
        (Some(sampler), Some(session)) => {
            let server = sampler.server();
            if session.server != *server {
                return Err(format!(
                    "the reader reports {session:?}, but the sampler watches the server {server}"
                ));
            }
            let process_id = session.process_id;
            let seen = sampler.look(&[NO_PROCESS, process_id]).map_err(told)?;
            match &seen[..] {
                [one] if one.process_id == process_id => Ok(()),
                other => Err(format!(
                    "the reader reports {session:?}, but the server says {other:?}"
                )),
            }
        }
    }
}

fn no_secret(case: &dyn Case, text: &str) -> Result<(), String> {
    match case.secrets().iter().find(|secret| text.contains(*secret)) {
        Some(_) => Err(format!("a text contains the secret: {text}")),
        None => Ok(()),
    }
}

/// The shortest time of reading at the limited rate, in seconds.
const SECONDS: f64 = 0.3;
/// The time of a wait that a stop ends, in seconds.
const LONG_SECONDS: f64 = 40.0;

pub(super) fn rate_is_kept(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(RATE_ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    if source.pace().is_some() {
        return Err("the source has a pace although no rate is set".to_owned());
    }
    let way = Way {
        split_bytes: RATE_SPLIT_BYTES,
        chunk_bytes: CHUNK_BYTES,
        streams: 3,
    };
    let begun = Instant::now();
    let pieces = read(&*source, 0, way, random)?;
    // On a slow machine, the limit is lowered too, so that the test still notices a source that ignores it.
    let seconds = SECONDS.max(4.0 * begun.elapsed().as_secs_f64());
    let bytes: u64 = pieces.iter().map(|piece| piece.meter.text_bytes).sum();
    let rate = (bytes as f64 / seconds) as u64;
    if !case.limits_rate() {
        return Ok(());
    }
    let limited = case.open_at(&Stop::default(), Some(rate)).map_err(told)?;
    let shown = limited.pace().and_then(|pace| pace.rate_bytes_max());
    if shown != Some(rate) {
        return Err(format!(
            "its rate is limited to {rate} bytes a second, but it reports {shown:?}"
        ));
    }
    let begun = Instant::now();
    let found = rows(&read(&*limited, 0, way, random)?);
    let took = begun.elapsed().as_secs_f64();
    same(&found, &case.rows()[0], |row| row.fields.clone())?;
    // Readers wait for what they have received before they receive more.
    if took < seconds / 2.0 {
        return Err(format!(
            "{bytes} bytes with a limit of {rate} bytes a second took only {took:.3} s"
        ));
    }
    stop_ends_the_wait(&*case, (bytes as f64 / LONG_SECONDS) as u64)
}

/// Asks for a stop while a reader waits.
fn stop_ends_the_wait(case: &dyn Case, rate: u64) -> Result<(), String> {
    let stop = Stop::default();
    let source = case.open_at(&stop, Some(rate)).map_err(told)?;
    let split = only_split(&*source, 0)?;
    let settings = ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    };
    let (received, first) = mpsc::channel();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| -> Result<(), SourceError> {
            let mut stream = source.open_stream(settings)?;
            let mut reader = stream.open(&split)?;
            let mut records = Records::default();
            while let Some(chunk) = reader.next_chunk(&mut records)? {
                reader.recycle(chunk);
                // After the first row, the channel has no receiver.
                let _ = received.send(());
            }
            Ok(())
        });
        // Receiving fails if the reader has failed.
        let _ = first.recv();
        let asked = Instant::now();
        stop.ask(StopReason::Interrupted);
        let ended = reading
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let took = asked.elapsed();
        match ended {
            Err(SourceError::Stopped { .. }) if took < Duration::from_secs(10) => Ok(()),
            Err(SourceError::Stopped { .. }) => {
                Err(format!("reading stopped only {took:?} after the request"))
            }
            Err(other) => Err(told(other)),
            // All rows may be in one chunk.
            Ok(()) if took < Duration::from_secs(10) => Ok(()),
            Ok(()) => Err(format!(
                "reading did not stop on request, and ended after {took:?}"
            )),
        }
    })
}

pub(super) fn hazards_are_told(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(ROWS);
    let source = case.open(&Stop::default()).map_err(told)?;
    let split = only_split(&*source, 0)?;
    let settings = ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    };
    // A preflight asks while a reader is open.
    let mut stream = source.open_stream(settings).map_err(told)?;
    let reader = match split.is_shared || source.input(0).is_read_once() {
        true => None,
        false => Some(stream.open(&split).map_err(told)?),
    };
    for seconds in [None, Some(1.0), Some(1e9)] {
        let expected = ExpectedReading {
            streams: 2,
            seconds,
        };
        for hazard in source.hazards(&expected).map_err(told)? {
            let needs_fix = hazard.weight != Weight::Tells;
            let fix = hazard.hint.as_deref().unwrap_or_default();
            for text in [&hazard.what, fix] {
                no_secret(&*case, text)?;
            }
            if hazard.what.is_empty() || needs_fix && fix.is_empty() {
                return Err(format!("{hazard:?} has no text, or no fix"));
            }
        }
    }
    for input in 0..source.input_count() {
        let estimated = source.estimated_rows(input).map_err(told)?;
        let known = source.input(input).row_count();
        if known.is_some() && estimated != known {
            return Err(format!(
                "the input has {known:?} rows, but the estimate is {estimated:?}"
            ));
        }
    }
    drop(reader);
    drop(stream);
    let found = rows(&read(&*source, 0, Way::SERIAL, random)?);
    same(&found, &case.rows()[0], Clone::clone)
}
