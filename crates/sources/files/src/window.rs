//! The text of a file that is in memory: filled at its end, taken from its front.
//!
//! Places are counted in the file's own bytes, from its beginning: the byte order mark and the
//! header included, and in the encoding that it is written in.

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

/// The text of a file that no chunk has yet.
pub(super) struct Window {
    pub(super) file: Arc<SourceFile>,
    pub(super) text: Text,
    /// The text at the front, and room behind it.
    buffer: Vec<u8>,
    filled_bytes: usize,
    /// Bytes of the file before the text.
    pub(super) byte_offset: u64,
    /// Lines before the text: of the file, or of its range where `range_places` are known.
    pub(super) line_offset: u64,
    /// Nothing follows.
    pub(super) at_end: bool,
    /// Where the file's line is not known.
    pub(super) range_places: Option<Arc<RangePlaces>>,
    /// Take what comes, and do not wait for more than is needed: of a pipe that is looked at.
    pub(super) takes_what_comes: bool,
    /// What a buffer holds that no long record has made grow.
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

    /// Reads until there are `wanted_bytes` of text, or all that is left; only once, where it
    /// takes what comes.
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

    /// Takes the first `bytes` of the text, with so many line ends, as a chunk. What follows them
    /// goes to a new buffer, unless it `is_last`.
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

    /// Passes over the first `bytes` of the text.
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

    /// A scan of the text that stopped, with its place.
    pub(super) fn scan_error(&self, cause: ScanError) -> SourceError {
        let ScanError::RecordTooLong { start, line, .. } = cause;
        let location = self.location(start, line);
        SourceError::Scan { location, cause }
    }

    /// How much to hold where `wanted_bytes` hold no whole record.
    pub(super) fn more_than(&self, wanted_bytes: usize, dialect: &Dialect) -> usize {
        // With more than `record_bytes_max` the scanner finds an end or gives up.
        let limit = dialect.record_bytes_max + self.usual_bytes.max(2);
        (wanted_bytes.max(self.filled_bytes) * 2).min(limit)
    }

    /// Takes the header off the text, with the lines before it that are passed over. Nothing where the file has
    /// no record.
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
        // What stands before the header is counted by itself.
        let before = TextEnd::MoreRecords;
        if let Err(cause) = scanner.scan(&self.bytes()[..start], before, &mut records) {
            unreachable!("lines that were passed over once are again: {cause}");
        }
        *skipped_count += records.skipped_count();
        self.drop_front(end, u64::from(record.line) + u64::from(header_lines));
        Ok(Some(names))
    }

    /// Gives the buffer back.
    pub(super) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }
}

/// Looks which records are not valid UTF-8. A chunk is asked as a whole first, which costs next
/// to nothing. A record that a terminator ends, ends between characters, since that is one; one of
/// so many bytes may not.
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
    // Only at declared positions does each field have its start.
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
