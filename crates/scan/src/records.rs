//! The result of a scan: where records and their fields begin and end.

use std::ops::Range;

use crate::dialect::Dialect;
use crate::error::{ScanError, TextEnd};
use crate::terminator::Terminator;

/// One record of a chunk. Positions are bytes from the start of the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The position of the first byte.
    pub start: u32,
    /// One past the last byte of its text; the terminator is not part of it.
    pub end: u32,
    /// The number of line ends in the chunk before this record's first byte.
    pub line: u32,
    /// The index of its first field in [`Records::field_ends`].
    pub first_field: u32,
    /// True if any byte of it is a quote or an escape, so that fields must be unescaped.
    pub escaped: bool,
}

/// A kind of fault in the form of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A quote inside a field that does not start with one.
    StrayQuote,
    /// Text between a closing quote and the next delimiter or terminator.
    TextAfterQuote,
    /// The input ended inside a quoted field.
    UnclosedQuote,
    /// The input ended right after an escape byte.
    DanglingEscape,
    /// The trailing delimiter is missing.
    TrailingDelimiterMissing,
    /// A `\r` outside quotes that no `\n` follows, where records end with `\n` or `\r\n`.
    BareCarriageReturn,
    /// The record is `\.`, COPY's end-of-data marker, and text follows it.
    EndMarker,
    /// A record of fixed-width fields is shorter or longer than declared.
    RecordLength,
}

/// A record with a fault in its form. It is still in [`Records::records`], with the fields that were found, so that it
/// can be kept as a reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The index of the record in [`Records::records`].
    pub record_index: u32,
    /// The kind of the fault.
    pub kind: FaultKind,
    /// The position in bytes from the start of the chunk.
    pub position: u32,
}

/// The records of one chunk, found by a scan. Reused from chunk to chunk.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// The records in input order. Blank lines are not records.
    pub records: Vec<Record>,
    /// The end (exclusive, in bytes) of every field of every record, in input order. A field starts `gap_bytes` after
    /// the end of the previous one, or at its record's start. The empty field after a trailing delimiter is not listed.
    pub field_ends: Vec<u32>,
    /// For fields at declared positions, the start of every field; otherwise empty.
    pub field_starts: Vec<u32>,
    /// The length of the delimiter in bytes.
    pub gap_bytes: u32,
    /// Records whose form is wrong, in input order. Each record is listed at most once, with its first fault.
    pub faults: Vec<Fault>,
    /// The number of skipped blank lines.
    pub blank_count: u64,
    /// The number of skipped comment lines.
    pub comment_count: u64,
    /// The number of skipped end-of-data markers of COPY: at most one, at the end of the file.
    pub end_marker_count: u64,
    /// The number of line ends in the consumed bytes, including those inside quoted fields.
    /// [`Dialect::line_byte`](crate::Dialect::line_byte) says what counts as a line end.
    pub line_count: u32,
}

impl Records {
    /// Removes everything, but keeps the memory.
    pub fn clear(&mut self) {
        self.records.clear();
        self.field_ends.clear();
        self.field_starts.clear();
        self.faults.clear();
        self.blank_count = 0;
        self.comment_count = 0;
        self.end_marker_count = 0;
        self.line_count = 0;
    }

    /// The number of skipped lines, which are not records: blank lines, comments, COPY's end-of-data marker.
    pub fn skipped_count(&self) -> u64 {
        self.blank_count + self.comment_count + self.end_marker_count
    }

    /// The number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// True if no record was found.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The number of fields of the record at `index`.
    #[inline]
    pub fn field_count(&self, index: usize) -> usize {
        let first = self.records[index].first_field as usize;
        let end = match self.records.get(index + 1) {
            Some(next) => next.first_field as usize,
            None => self.field_ends.len(),
        };
        end - first
    }

    /// Decides whether the last record is COPY's end-of-data marker. If `text_end` does not settle this, the record is
    /// removed and its start is returned: the record is not consumed.
    pub(crate) fn settle_end_marker(
        &mut self,
        text: &[u8],
        terminator: Terminator,
        text_end: TextEnd,
    ) -> Option<u32> {
        let last = self.records.last().copied()?;
        let fault = self.faults.last()?;
        let behind = &text[last.end as usize..];
        let is_marker = fault.kind == FaultKind::EndMarker
            && fault.record_index as usize == self.records.len() - 1
            && terminator.bytes_at(behind) == behind.len();
        if !is_marker || text_end == TextEnd::MoreRecords {
            return None;
        }
        self.records.pop();
        self.faults.pop();
        self.field_ends.truncate(last.first_field as usize);
        if text_end == TextEnd::File {
            self.end_marker_count += 1;
            return None;
        }
        self.line_count = last.line;
        Some(last.start)
    }

    /// Checks that the open record or comment may be as long as `bytes`, a range of `text`; `seen_end` is the end of
    /// the scanned part.
    pub(crate) fn check_length(
        &self,
        dialect: &Dialect,
        text: &[u8],
        bytes: Range<u32>,
        seen_end: u32,
    ) -> Result<(), ScanError> {
        let limit = dialect.record_bytes_max;
        // The end may be before the start: bytes that may begin a terminator are not counted, and they may belong to
        // the previous record.
        if bytes.end.saturating_sub(bytes.start) as usize <= limit {
            return Ok(());
        }
        Err(ScanError::record_too_long(
            text,
            bytes.start,
            seen_end,
            self.line_count,
            dialect.line_byte(),
            limit,
        ))
    }

    /// The bytes of field `field_index` of the record at `index`, as written (quotes included).
    #[inline]
    pub fn field(&self, index: usize, field_index: usize) -> Range<usize> {
        let record = &self.records[index];
        let at = record.first_field as usize + field_index;
        let start = if !self.field_starts.is_empty() {
            self.field_starts[at] as usize
        } else if field_index == 0 {
            record.start as usize
        } else {
            (self.field_ends[at - 1] + self.gap_bytes) as usize
        };
        start..self.field_ends[at] as usize
    }

    /// Like [`field`](Records::field), or `None` if the record ends before that field begins.
    #[inline]
    pub fn field_if_present(&self, index: usize, field_index: usize) -> Option<Range<usize>> {
        if field_index >= self.field_count(index) {
            return None;
        }
        let field = self.field(index, field_index);
        // A field whose position is beyond the record is listed at the record's end.
        let is_missing =
            !self.field_starts.is_empty() && field.start == self.records[index].end as usize;
        (!is_missing).then_some(field)
    }
}
