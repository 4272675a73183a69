//! Finds the first record of each range of a file, by a pass over all ranges at the same time if the dialect can hide
//! line ends.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use inrush_rows::cancel::Stop;
use inrush_scan::Dialect;
use inrush_scan::split::{
    Method, RangeScanner, RangeSummary, RecordFinder, first_record_of_fixed, resolve,
};
use inrush_source::SourceError;

use super::cut::is_line_based;
use super::files::SourceFile;
use super::skip_lines;
use super::split::RecordStart;
use super::stored::Purpose;
use super::text::Text;
use super::threads::on_threads;
use super::window::Window;

/// Bytes that are read at a time.
const READ_BYTES: usize = 256 << 10;

/// Bytes that are read at a time to find a range's first record where few are needed.
const LOOK_BYTES: usize = 4 << 10;

/// Of UTF-8, which alone is read from the middle of a file. It is a part of the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether the records of a range can be found only by a look at all that stands before it.
pub(super) fn needs_pass(dialect: &Dialect) -> bool {
    needs_place(dialect) && !matches!(Method::of(dialect), Method::Arithmetic { .. })
}

/// Whether the reader of a range is told where its first record begins. Else a few bytes before it
/// say it, and the reader finds it, and its line when that is asked.
pub fn needs_place(dialect: &Dialect) -> bool {
    bytes_before(dialect).is_none()
}

/// How many bytes before a range its reader must see to find the first record by itself; nothing
/// where that is not enough.
///
/// A terminator that no line end is a part of counts lines as no other reader of the file does, so
/// only the pass knows them.
pub(super) fn bytes_before(dialect: &Dialect) -> Option<usize> {
    if is_line_based(dialect) {
        return Some(1);
    }
    match Method::of(dialect) {
        Method::Nearby { bytes_before } if dialect.line_byte().is_some() => Some(bytes_before),
        _ => None,
    }
}

/// Moves a window, which begins at most `bytes_before` bytes before `nominal`, to the first record
/// that begins at `nominal` or behind it; to byte `end` of the file at least where none does before.
pub(super) fn find_first_record(
    window: &mut Window,
    dialect: &Dialect,
    nominal: u64,
    end: u64,
) -> Result<(), SourceError> {
    let before_bytes = (nominal - window.byte_offset) as usize;
    window.fill(before_bytes)?;
    if window.bytes().len() < before_bytes {
        // Shorter than it was planned: `check_unchanged` says so.
        return Ok(());
    }
    let mut before = &window.bytes()[..before_bytes];
    if window.byte_offset == 0 && before.len() > BYTE_ORDER_MARK.len() {
        before = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before);
    }
    let mut finder = RecordFinder::new(dialect, before);
    window.drop_front(before_bytes, 0);
    while window.byte_offset < end {
        window.fill(LOOK_BYTES)?;
        if window.bytes().is_empty() {
            return Ok(());
        }
        if let Some(distance) = finder.push(window.bytes()) {
            let bytes = nominal + distance - window.byte_offset;
            window.drop_front(bytes as usize, 0);
            return Ok(());
        }
        window.drop_front(window.bytes().len(), 0);
    }
    Ok(())
}

/// Where the first record of each range begins, as far as its reader cannot tell by itself. The
/// ranges follow each other from the file's first byte to its last. A range in which no record
/// begins has its first one at its end.
///
/// Reads the whole file with so many threads where [`needs_pass`] says so; nothing comes back
/// where `stop` was asked meanwhile.
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
    // What stands before the rows (a byte order mark, lines that are passed over, the header) is
    // of the range that begins where the file does, as far as it may go.
    let rows = skip_lines::rows_begin(file, dialect)?;
    if let Method::Arithmetic { record_bytes } = Method::of(dialect) {
        // Records are counted from behind a byte order mark.
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

/// The summaries of all ranges; nothing where a stop was asked.
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
            // Shorter than it was planned: `check_unchanged` says so.
            break;
        }
        scanner.push(&buffer[..count]);
        left -= count as u64;
    }
    text.check_unchanged()?;
    Ok(Some(scanner.finish()))
}
