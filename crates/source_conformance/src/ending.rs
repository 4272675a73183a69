//! S-18 to S-20: stops, readers that are dropped, errors.

use inrush_rows::cancel::{Stop, StopReason};
use inrush_scan::Records;
use inrush_source::{ReadSettings, ShareSettings, Source, SourceError, SourceSplit, wait};

use super::case::{Case, Change, MakeCase};
use super::random::Random;
use super::reading::{Way, add_rows, read, rows, same, told};

/// More rows than any reader has in memory with small chunks.
const MANY_ROWS: usize = 30_000;
const CHUNK_BYTES: usize = 1_000;

pub(super) fn stop(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    for chunks_before in [0, 1, 1 + random.below(5)] {
        let case = make(MANY_ROWS);
        let stop = Stop::default();
        let source = case.open(&stop).map_err(told)?;
        let split = only_split(&*source, 0)?;
        let all = case.rows()[0].len();
        let result = match split.is_shared {
            true => stop_shared(&*source, &split, &stop, chunks_before),
            false => stop_reader(&*source, &split, &stop, chunks_before),
        };
        match result {
            Err(SourceError::Stopped { .. }) => {}
            Err(other) => return Err(told(other)),
            // Rows that are already in memory may still come.
            Ok(came) if came < all / 2 => {}
            Ok(came) => {
                return Err(format!(
                    "stopped after {chunks_before} chunks, but {came} rows of {all} followed"
                ));
            }
        }
    }
    Ok(())
}

/// An input as one split.
pub(super) fn only_split(source: &dyn Source, input: usize) -> Result<SourceSplit, String> {
    let splits = source.splits(input, u64::MAX).map_err(told)?;
    splits.into_iter().next().ok_or("no split".to_owned())
}

/// The number of rows that come after the stop.
fn stop_reader(
    source: &dyn Source,
    split: &SourceSplit,
    stop: &Stop,
    chunks_before: usize,
) -> Result<usize, SourceError> {
    let mut stream = source.open_stream(ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    })?;
    if chunks_before == 0 {
        stop.ask(StopReason::Interrupted);
    }
    let mut reader = stream.open(split)?;
    let mut records = Records::default();
    let mut came = 0;
    for number in 1.. {
        let Some(chunk) = reader.next_chunk(&mut records)? else {
            break;
        };
        match stop.asked() {
            Some(_) => came += records.len(),
            None if number == chunks_before => stop.ask(StopReason::Interrupted),
            None => {}
        }
        reader.recycle(chunk);
    }
    Ok(came)
}

fn stop_shared(
    source: &dyn Source,
    split: &SourceSplit,
    stop: &Stop,
    parts_before: usize,
) -> Result<usize, SourceError> {
    let settings = ShareSettings {
        chunk_bytes: CHUNK_BYTES,
        streams: 1,
    };
    if parts_before == 0 {
        stop.ask(StopReason::Interrupted);
    }
    let shared = source.share(split, settings, &[])?;
    let mut came = 0;
    for number in 1.. {
        let Some(mut part) = wait(shared.next_part())? else {
            break;
        };
        let mut records = Records::default();
        while let Some(chunk) = part.reader.next_chunk(&mut records)? {
            came += match stop.asked() {
                Some(_) => records.len(),
                None => 0,
            };
            part.reader.recycle(chunk);
        }
        if number == parts_before {
            stop.ask(StopReason::Interrupted);
        }
    }
    Ok(came)
}

pub(super) fn dropped(make: &MakeCase<'_>, random: &mut Random) -> Result<(), String> {
    let case = make(2_000);
    let source = case.open(&Stop::default()).map_err(told)?;
    if source.input(0).is_read_once() {
        return Ok(());
    }
    let split = only_split(&*source, 0)?;
    let expected = &case.rows()[0];
    let settings = ReadSettings { chunk_bytes: 500 };
    if !split.is_shared {
        let mut stream = source.open_stream(settings).map_err(told)?;
        for chunks in [0, 1, 2 + random.below(20)] {
            let mut reader = stream.open(&split).map_err(told)?;
            let mut records = Records::default();
            for _ in 0..chunks {
                if let Some(chunk) = reader.next_chunk(&mut records).map_err(told)? {
                    reader.recycle(chunk);
                }
            }
        }
        // The same stream continues to read.
        let mut reader = stream.open(&split).map_err(told)?;
        let mut found = Vec::new();
        let mut records = Records::default();
        while let Some(chunk) = reader.next_chunk(&mut records).map_err(told)? {
            add_rows(&mut found, &chunk, &records);
            reader.recycle(chunk);
        }
        same(&found, expected, Clone::clone)?;
    }
    if source.input(0).is_shareable() {
        let shared = ShareSettings {
            chunk_bytes: 500,
            streams: 2,
        };
        for parts in [0, 1, 3] {
            let shared = source.share(&split, shared, &[]).map_err(told)?;
            let mut held = Vec::new();
            for _ in 0..parts {
                held.extend(wait(shared.next_part()).map_err(told)?);
            }
            // One reader must continue after the others are dropped.
            let last = held.pop();
            drop(held);
            drop(shared);
            drop(last);
        }
    }
    let found = rows(&read(&*source, 0, Way::SERIAL, random)?);
    same(&found, expected, Clone::clone)
}

pub(super) fn errors_name_the_input(
    make: &MakeCase<'_>,
    random: &mut Random,
) -> Result<(), String> {
    let case: Box<dyn Case> = make(300);
    let source = case.open(&Stop::default()).map_err(told)?;
    if !case.change(Change::Removed) {
        return Ok(());
    }
    let name = source.input(0).name().display().to_string();
    match read(&*source, 0, Way::SERIAL, random) {
        // S-15: a snapshot still has the rows of the moment when the source was opened.
        Ok(_) if source.input(0).is_snapshot() => Ok(()),
        Ok(_) => Err("the input was removed, but reading did not fail".to_owned()),
        Err(text) if text.contains(&name) => Ok(()),
        Err(text) => Err(format!(
            "{name} was removed, but the error does not name it: {text}"
        )),
    }
}
