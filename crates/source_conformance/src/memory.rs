//! S-17: memory does not grow with the rows of an input.

use std::fs;

use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::{ReadSettings, ShareSettings, Source, SourceError, SplitReader, wait};

use super::Breach;
use super::case::MakeCase;
use super::reading::{splits_of, told};

/// The size of the chunks that are read.
const CHUNK_BYTES: usize = 64 << 10;

/// Reads an input of `rows` rows and an input of ten times as many rows, and compares the peaks of the process's
/// memory. No other test may run in the process.
///
/// # Panics
///
/// If the larger input needs `margin_bytes` more, or memory cannot be measured.
pub fn hold_memory(name: &str, make: &MakeCase<'_>, rows: usize, margin_bytes: u64) {
    match memory_breach(make, rows, margin_bytes) {
        Ok(None) => {}
        Ok(Some(breach)) => panic!("{name}: {}: {}", breach.clause, breach.what),
        Err(what) => panic!("{name}: {what}"),
    }
}

/// How a source violates S-17, if it does: the larger input of [`hold_memory`] needs `margin_bytes` more. The error
/// says why memory cannot be measured.
pub fn memory_breach(
    make: &MakeCase<'_>,
    rows: usize,
    margin_bytes: u64,
) -> Result<Option<Breach>, String> {
    // The first reading also loads code and fills caches.
    peak_of(make, rows)?;
    let (small, large) = (peak_of(make, rows)?, peak_of(make, 10 * rows)?);
    let grows = large > small + margin_bytes;
    Ok(grows.then(|| Breach {
        clause: "S-17",
        what: format!("reading takes {small} bytes of memory for {rows} rows, but {large} for ten times as many"),
    }))
}

/// The growth of the process's memory while a case is read.
fn peak_of(make: &MakeCase<'_>, rows: usize) -> Result<u64, String> {
    let case = make(rows);
    let source = case.open(&Stop::default()).map_err(told)?;
    let splits = splits_of(&*source, 0, u64::MAX)?;
    let [split] = &splits[..] else {
        return Err("if splits may have any size, an input must have only one".to_owned());
    };
    // Peaks are counted from here.
    fs::write("/proc/self/clear_refs", "5").map_err(|error| error.to_string())?;
    let before = status("VmRSS:")?;
    let read = match split.is_shared {
        true => read_shared(&*source, split),
        false => read_whole(&*source, split),
    };
    read.map_err(told)?;
    Ok(status("VmHWM:")?.saturating_sub(before))
}

fn read_whole(source: &dyn Source, split: &inrush_source::SourceSplit) -> Result<(), SourceError> {
    let settings = ReadSettings {
        chunk_bytes: CHUNK_BYTES,
    };
    let mut stream = source.open_stream(settings)?;
    let mut reader = stream.open(split)?;
    pass(&mut *reader)
}

fn read_shared(source: &dyn Source, split: &inrush_source::SourceSplit) -> Result<(), SourceError> {
    let settings = ShareSettings {
        chunk_bytes: CHUNK_BYTES,
        streams: 1,
    };
    let shared = source.share(split, settings, &[])?;
    while let Some(mut part) = wait(shared.next_part())? {
        pass(&mut *part.reader)?;
    }
    Ok(())
}

fn pass(reader: &mut dyn SplitReader) -> Result<(), SourceError> {
    let mut records = Records::default();
    while let Some(chunk) = reader.next_chunk(&mut records)? {
        reader.recycle(chunk);
    }
    Ok(())
}

/// A figure of the process, in bytes.
fn status(name: &str) -> Result<u64, String> {
    let text = fs::read_to_string("/proc/self/status").map_err(|error| error.to_string())?;
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024)
        .ok_or_else(|| format!("/proc/self/status does not have {name}"))
}
