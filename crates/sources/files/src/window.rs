//! The part of a file's text that is in memory: filled at its end, taken from its front.
//!
//! Places are counted in bytes of the file, from its beginning: in its own encoding, including the byte order mark and
//! the header.

use std::sync::Arc;

use inrush_rows::chunk::{Chunk, Places};
use inrush_rows::location::Location;
use inrush_rows::padded_text::{PADDING_BYTES, PaddedText};
use inrush_scan::{Dialect, Records, ScanError, Scanner, TextEnd};
use inrush_source::SourceError;

use super::buffers::{BufferPool, grow};
use super::header_record;
use super::lines::RangePlaces;
use super::source_file::SourceFile;
use super::text::Text;

/// The text of a file that is not in any chunk yet.
pub(super) struct Window {
    pub(super) file: Arc<SourceFile>,
    pub(super) text: Text,
    /// The text at the front, and free space after it.
    buffer: Vec<u8>,
    filled_bytes: usize,
    /// The number of bytes of the file before the text.
    pub(super) byte_offset: u64,
    /// The number of lines before the text: in the file, or in its range if `range_places` is set.
    pub(super) line_offset: u64,
    /// True if no more text follows.
    pub(super) at_end: bool,
    /// Set if line numbers of the file are not known.
    pub(super) range_places: Option<Arc<RangePlaces>>,
    /// True if a single read is enough, so that a preview does not wait for more of a pipe than it needs.
    pub(super) takes_what_comes: bool,
    /// The number of bytes of text in a buffer that has not grown for a long record.
    usual_bytes: usize,
}

impl Window {
    pub(super) fn new(
        file: Arc<SourceFile>,
        text: Text,
        buffer: Vec<u8>,
        usual_bytes: usize,
    ) -> Window {
        Window {
            byte_offset: text.start(),
            file,
            text,
            buffer,
            filled_bytes: 0,
            line_offset: 0,
            at_end: false,
            range_places: None,
            takes_what_comes: false,
            usual_bytes,
        }
    }

    /// The text.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled_bytes]
    }

    /// Reads until there are `wanted_bytes` of text, or the text ends. In a preview it reads only once.
    pub(super) fn fill(&mut self, wanted_bytes: usize) -> Result<(), SourceError> {
        grow(&mut self.buffer, wanted_bytes);
        while self.filled_bytes < wanted_bytes && !self.at_end {
            let room = &mut self.buffer[self.filled_bytes..wanted_bytes];
            let count = self.text.read(room)?;
            self.filled_bytes += count;
            self.at_end = count == 0;
            if self.takes_what_comes {
                break;
            }
        }
        Ok(())
    }

    /// Takes the first `bytes` of the text, with this many line ends, as a chunk. The rest is copied to a new buffer,
    /// unless the chunk `is_last`.
    pub(super) fn take(
        &mut self,
        bytes: usize,
        line_ends: u64,
        pool: &mut BufferPool,
        is_last: bool,
    ) -> Chunk {
        let (file_bytes, places) = self.text.take(&self.buffer[..bytes]);
        let tail = bytes..self.filled_bytes;
        let mut next = if is_last {
            Vec::new()
        } else {
            pool.take(self.usual_bytes.max(tail.len()))
        };
        if !is_last {
            next[..tail.len()].copy_from_slice(&self.buffer[tail.clone()]);
            self.filled_bytes = tail.len();
        } else {
            self.filled_bytes = 0;
        }
        let mut taken = std::mem::replace(&mut self.buffer, next);
        taken[bytes..bytes + PADDING_BYTES].fill(0);
        let range_places = self.range_places.clone();
        let chunk = Chunk {
            text: PaddedText::new(taken, bytes),
            file: Arc::clone(&self.file.path),
            byte_offset: self.byte_offset,
            line_offset: self.line_offset,
            invalid_utf8: Vec::new(),
            places: places.or(range_places.map(|places| places as Arc<dyn Places>)),
            typed: None,
        };
        self.byte_offset += file_bytes;
        self.line_offset += line_ends;
        chunk
    }

    /// Skips the first `bytes` of the text.
    pub(super) fn drop_front(&mut self, bytes: usize, line_ends: u64) {
        if bytes > 0 {
            let (file_bytes, _) = self.text.take(&self.buffer[..bytes]);
            self.buffer.copy_within(bytes..self.filled_bytes, 0);
            self.filled_bytes -= bytes;
            self.byte_offset += file_bytes;
            self.line_offset += line_ends;
        }
    }

    /// The place of the byte at `position` of the text.
    pub(super) fn location(&self, position: u32, line: u32) -> Location {
        let lines_before = self
            .range_places
            .as_ref()
            .map_or(0, |places| places.lines_before());
        let byte_offset = self.byte_offset + self.text.distance(self.bytes(), position as usize);
        Location {
            file: Arc::clone(&self.file.path),
            line: match self.text.counts_rows() {
                true => byte_offset + 1,
                false => lines_before + self.line_offset + u64::from(line) + 1,
            },
            byte_offset,
            key: None,
        }
    }

    /// The error of a scan that stopped, with its place.
    pub(super) fn scan_error(&self, cause: ScanError) -> SourceError {
        let ScanError::RecordTooLong { start, line, .. } = cause;
        let location = self.location(start, line);
        SourceError::Scan { location, cause }
    }

    /// How many bytes to read if `wanted_bytes` contain no whole record.
    pub(super) fn more_than(&self, wanted_bytes: usize, dialect: &Dialect) -> usize {
        // With more than `record_bytes_max`, the scanner finds an end or fails.
        let limit = dialect.record_bytes_max + self.usual_bytes.max(2);
        (wanted_bytes.max(self.filled_bytes) * 2).min(limit)
    }

    /// Removes the header from the text, with the skipped lines before it. `None` if the file has no record.
    pub(super) fn read_header(
        &mut self,
        dialect: &Dialect,
        scanner: &mut Scanner,
        skipped_count: &mut u64,
    ) -> Result<Option<Vec<String>>, SourceError> {
        let mut records = Records::default();
        loop {
            let scan = scanner.scan(self.bytes(), self.at_end, &mut records);
            let consumed = scan.map_err(|cause| self.scan_error(cause))?.bytes_consumed;
            if !records.is_empty() {
                break;
            }
            *skipped_count += records.skipped_count();
            self.drop_front(consumed, u64::from(records.line_count));
            if self.at_end {
                return Ok(None);
            }
            self.fill(self.more_than(self.usual_bytes, dialect))?;
        }
        let record = records.records[0];
        let location = self.location(record.start, record.line);
        let names = header_record::parse(
            self.bytes(),
            &records,
            dialect,
            location,
            self.text.translated_from(),
        )?;
        let (start, end) = (record.start as usize, record.end as usize);
        let end = end + dialect.terminator_bytes_at(&self.bytes()[end..]);
        let header_lines = dialect.line_count(&self.bytes()[start..end]);
        // The lines before the header are counted separately.
        let before = TextEnd::MoreRecords;
        if let Err(cause) = scanner.scan(&self.bytes()[..start], before, &mut records) {
            unreachable!("lines that were passed over once are again: {cause}");
        }
        *skipped_count += records.skipped_count();
        self.drop_front(end, u64::from(record.line) + u64::from(header_lines));
        Ok(Some(names))
    }

    /// Returns the buffer to the pool.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// Finds the records that are not valid UTF-8. The whole chunk is checked first, which costs almost nothing. A record
/// with a terminator ends between characters, because the terminator is a character. A record of a fixed number of
/// bytes may end within one.
pub(super) fn check_utf8(chunk: &mut Chunk, records: &Records) {
    let is_utf8 = chunk.text.check_utf8();
    chunk.invalid_utf8 = invalid_records(chunk.text(), is_utf8, records);
}

fn invalid_records(text: &[u8], is_utf8: bool, records: &Records) -> Vec<u32> {
    let all = 0..records.len() as u32;
    if !is_utf8 {
        let is_invalid = |index: &u32| {
            let record = &records.records[*index as usize];
            simdutf8::basic::from_utf8(&text[record.start as usize..record.end as usize]).is_err()
        };
        return all.filter(is_invalid).collect();
    }
    // Only fields at declared positions have their own start.
    if records.field_starts.is_empty() || text.is_ascii() {
        return Vec::new();
    }
    let is_within_character = |at: u32| text.get(at as usize).is_some_and(|b| b & 0xC0 == 0x80);
    let is_cut = |index: &u32| {
        let record = &records.records[*index as usize];
        is_within_character(record.start) || is_within_character(record.end)
    };
    all.filter(is_cut).collect()
}
