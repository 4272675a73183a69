//! Finds the first record of each range of a file. If fields may contain line ends, several threads first read all
//! ranges.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush_rows::cancel::Stop;
use inrush_scan::Dialect;
use inrush_scan::split::{Method, RangeScanner, RangeSummary, first_record_of_fixed, resolve};
use inrush_source::{RecordStart, SourceError};

use super::first_record::needs_place;
use super::reader::rows_begin;
use super::source_file::SourceFile;
use super::stored::Purpose;
use super::text::Text;
use inrush_system::threads::on_threads;

/// How many bytes are read at a time.
const READ_BYTES: usize = 256 << 10;

/// True if the records of a range can be found only by reading everything before it.
pub(super) fn needs_pass(dialect: &Dialect) -> bool {
    needs_place(dialect) && !matches!(Method::of(dialect), Method::Arithmetic { .. })
}

/// Finds where the first record of each range begins. An element is `None` if the reader of the range can find this
/// itself. The ranges cover the whole file in order. If no record begins in a range, the result is the range's end.
///
/// If [`needs_pass`] is true, reads the whole file with this many threads. Returns `None` if `stop` was requested
/// meanwhile.
pub fn first_records(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    ranges: &[Range<u64>],
    threads: usize,
    stop: &Stop,
) -> Result<Option<Vec<Option<RecordStart>>>, SourceError> {
    if !needs_place(dialect) {
        return Ok(Some(vec![None; ranges.len()]));
    }
    // Everything before the rows (a byte order mark, skipped lines, the header) belongs to the file's first range, even
    // past the end of that range.
    let rows = rows_begin(file, dialect)?;
    if let Method::Arithmetic { record_bytes } = Method::of(dialect) {
        // Records are counted from the end of a byte order mark.
        let begin = Text::open(file, Purpose::Load)?.start();
        let starts = ranges.iter().map(|range| {
            let offset = range.start.max(rows.byte_offset) - begin;
            let offset = first_record_of_fixed(record_bytes, offset);
            Some(RecordStart {
                byte_offset: (begin + offset).min(range.end.max(begin)),
                line: offset / u64::from(record_bytes) + 1,
            })
        });
        return Ok(Some(starts.collect()));
    }
    let begin = rows.byte_offset;
    let summaries = summaries(file, dialect, ranges, begin, threads, stop)?;
    let Some(summaries) = summaries else {
        return Ok(None);
    };
    let starts = ranges
        .iter()
        .zip(resolve(&summaries))
        .map(|(range, start)| {
            Some(RecordStart {
                byte_offset: start.first_record.map_or(range.end, |at| begin + at),
                line: start.line + rows.line,
            })
        });
    Ok(Some(starts.collect()))
}

/// The summaries of all ranges; `None` if a stop was requested.
fn summaries(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    ranges: &[Range<u64>],
    begin: u64,
    threads: usize,
    stop: &Stop,
) -> Result<Option<Vec<RangeSummary>>, SourceError> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, RangeSummary)>, SourceError> {
        let mut found = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(range) = ranges.get(index) else {
                return Ok(found);
            };
            let range = range.start.max(begin)..range.end.max(begin);
            match summary(file, dialect, range, stop)? {
                Some(summary) => found.push((index, summary)),
                None => return Ok(found),
            }
        }
    };
    let mut found = on_threads(threads.min(ranges.len()), &work)?;
    if stop.asked().is_some() {
        return Ok(None);
    }
    found.sort_unstable_by_key(|(index, _)| *index);
    Ok(Some(
        found.into_iter().map(|(_, summary)| summary).collect(),
    ))
}

fn summary(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    range: Range<u64>,
    stop: &Stop,
) -> Result<Option<RangeSummary>, SourceError> {
    let mut scanner = RangeScanner::new(dialect);
    let mut left = range.end - range.start;
    let mut text = Text::open_at(file, range.start)?;
    let mut buffer = vec![0; READ_BYTES];
    while left > 0 {
        if stop.asked().is_some() {
            return Ok(None);
        }
        let most = buffer
            .len()
            .min(usize::try_from(left).unwrap_or(usize::MAX));
        let count = text.read(&mut buffer[..most])?;
        if count == 0 {
            // The file is shorter than planned; `check_unchanged` reports that.
            break;
        }
        scanner.push(&buffer[..count]);
        left -= count as u64;
    }
    text.check_unchanged()?;
    Ok(Some(scanner.finish()))
}
