//! Finds the ends of records, for code that cuts text without reading its fields.
//!
//! In a dialect without quotes and escapes every line end ends a record, so searching from the end is enough. In all
//! other dialects the scanner finds the ends.

use inrush_scan::{Dialect, Escape, RecordEnd, Records, ScanError, Scanner, Terminator};

use super::lines::count_line_ends;

/// True if every line end of a text ends a record or a blank line, whatever is before it.
pub(super) fn is_line_based(dialect: &Dialect) -> bool {
    dialect.quote.is_none()
        && dialect.escape == Escape::None
        && matches!(dialect.terminator, Terminator::Any | Terminator::Lf)
        && dialect
            .fixed
            .as_ref()
            .is_none_or(|fixed| matches!(fixed.record, RecordEnd::Line { .. }))
}

/// Finds the last end of a record in consecutive pieces of text.
pub(super) struct Cutter {
    scanner: Scanner,
    is_line_based: bool,
    record_bytes_max: usize,
    records: Records,
}

/// The whole records at the beginning of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Their number of bytes, including blank lines after them.
    pub(super) bytes: usize,
    /// The number of line ends in them.
    pub(super) line_ends: u64,
}

impl Cutter {
    pub(super) fn new(dialect: &Dialect) -> Cutter {
        Cutter {
            scanner: Scanner::new(dialect),
            is_line_based: is_line_based(dialect),
            record_bytes_max: dialect.record_bytes_max,
            records: Records::default(),
        }
    }

    /// The whole records of `text`, which starts where a record starts. If `at_end` is true, `text` is the last text,
    /// and all of it counts as whole records.
    pub(super) fn cut(&mut self, text: &[u8], at_end: bool) -> Result<Cut, ScanError> {
        if self.is_line_based {
            let bytes = match memchr::memrchr(b'\n', text) {
                _ if at_end => Some(text.len()),
                Some(at) => Some(at + 1),
                None if text.len() <= self.record_bytes_max => Some(0),
                // The record is too long: the scanner reports it.
                None => None,
            };
            if let Some(bytes) = bytes {
                let line_ends = count_line_ends(&text[..bytes]);
                return Ok(Cut { bytes, line_ends });
            }
        }
        let scan = self.scanner.scan(text, at_end, &mut self.records)?;
        Ok(Cut {
            bytes: scan.bytes_consumed,
            line_ends: u64::from(self.records.line_count),
        })
    }
}

/// The number of bytes of the first line of `text`, which is a whole record or a skipped line; `None` if it does not
/// end in the text. `records` is scratch space.
pub(super) fn first_line_bytes(
    dialect: &Dialect,
    scanner: &mut Scanner,
    text: &[u8],
    at_end: bool,
    records: &mut Records,
) -> Result<Option<usize>, ScanError> {
    let consumed = scanner.scan(text, at_end, records)?.bytes_consumed;
    if consumed == 0 {
        return Ok(None);
    }
    let record_end = match records.records.first() {
        Some(record) if record.start == 0 => record.end as usize,
        // A skipped line, in which nothing can hide the terminator.
        _ => (0..consumed)
            .find(|at| dialect.terminator_bytes_at(&text[*at..]) > 0)
            .unwrap_or(consumed),
    };
    Ok(Some(
        record_end + dialect.terminator_bytes_at(&text[record_end..]),
    ))
}
