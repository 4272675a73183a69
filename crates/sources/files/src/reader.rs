//! Reads a split in chunks of whole records.
//!
//! A buffer is filled, scanned, and handed out up to the end of its last whole record; the rest is copied to the next
//! buffer. If a record is longer than the buffer, the buffer grows, up to `record_bytes_max` and the size of a chunk.
//! Places (bytes, lines) are counted in the decompressed text, including the byte order mark and the header.
//!
//! A range of a file is read up to its nominal end. The last record that begins before that end is read completely, and
//! nothing after it.

use std::sync::Arc;
use std::time::Instant;

use inrush_rows::chunk::Chunk;
use inrush_rows::compression::Compression;
use inrush_rows::encoding::TextEncoding;
use inrush_scan::{Dialect, Records, Scanner, TextEnd};
use inrush_source::{RecordStart, SourceError};
use inrush_source::{SourceMeter, nanoseconds_since};

use super::buffers::BufferPool;
use super::first_record::{bytes_before, find_first_record};
use super::lines::RangePlaces;
use super::record_ends::{first_line_bytes, is_line_based};
use super::signature::SIGNATURE_BYTES;
use super::skip_lines;
use super::source_file::{FileOrigin, SourceFile};
use super::split::Split;

use super::stored::Purpose;
use super::text::Text;
use super::window::{Window, check_utf8};

/// How many bytes are read at a time to finish a record after a range's end.
const FINISH_BYTES: usize = 4 << 10;

/// The length of the longest byte order mark of a file that can be read from its middle.
const MARK_BYTES_MAX: u64 = 3;

/// How many bytes are read at a time to find the first row of a file.
const ROWS_LOOK_BYTES: usize = 4 << 10;

/// Reads a split in chunks of whole records.
pub struct TextReader {
    split: Split,
    dialect: Dialect,
    scanner: Scanner,
    window: Window,
    chunk_bytes: usize,
    pool: BufferPool,
    /// The nominal end, where the records of the next range begin; `None` for a whole file.
    end: Option<u64>,
    /// The position of its first record.
    begin: u64,
    is_done: bool,
    header: Option<Vec<String>>,
    meter: SourceMeter,
}

impl TextReader {
    /// Opens the file and reads its beginning: the first bytes, which are checked, and the header, which only a split
    /// from the file's beginning has. Chunks will have about `chunk_bytes` of text; `pool` comes from the reader before
    /// this one ([`close`](TextReader::close)) or is empty.
    ///
    /// # Panics
    ///
    /// If the split is a range of a file that cannot be read in ranges
    /// ([`SourceFile::reads_in_ranges`](super::SourceFile::reads_in_ranges)), or if it begins in the middle and lacks
    /// the place of its first record, although its dialect [needs a place](super::needs_place).
    pub fn open(
        split: Split,
        dialect: &Dialect,
        chunk_bytes: usize,
        pool: BufferPool,
    ) -> Result<TextReader, SourceError> {
        TextReader::open_for(Purpose::Load, split, dialect, chunk_bytes, pool)
    }

    pub(super) fn open_for(
        purpose: Purpose,
        split: Split,
        dialect: &Dialect,
        chunk_bytes: usize,
        pool: BufferPool,
    ) -> Result<TextReader, SourceError> {
        assert!(chunk_bytes > 0, "a chunk has at least one byte");
        dialect.check().map_err(|cause| SourceError::Dialect {
            path: split.file.path.to_path_buf(),
            cause,
        })?;
        let is_whole = split.is_whole();
        if !is_whole {
            let can_be_cut = split.file.table().is_some() || split.file.reads_in_ranges()?;
            assert!(can_be_cut, "what cannot be read in ranges is read whole");
        }
        if split.byte_range.start == 0 || split.file.table().is_some() {
            TextReader::open_beginning(purpose, split, dialect, chunk_bytes, pool, is_whole)
        } else {
            TextReader::open_middle(split, dialect, chunk_bytes, pool)
        }
    }

    fn open_beginning(
        purpose: Purpose,
        split: Split,
        dialect: &Dialect,
        chunk_bytes: usize,
        mut pool: BufferPool,
        is_whole: bool,
    ) -> Result<TextReader, SourceError> {
        // The text of typed rows is made from their range, so it ends with the range.
        let is_table = split.file.table().is_some();
        let text = Text::open_range(&split.file, purpose, &split.byte_range)?;
        // A small file needs less than a chunk, but one byte more than its size, to notice its end.
        let is_plain =
            split.file.origin == FileOrigin::File && split.file.compression == Compression::None;
        let expected = match is_plain {
            true => usize::try_from(split.size_bytes() + 1).unwrap_or(chunk_bytes),
            false => chunk_bytes,
        };
        let first_bytes = chunk_bytes.min(expected).max(SIGNATURE_BYTES);
        let buffer = pool.take(first_bytes);
        let usual_bytes = usual_bytes(chunk_bytes);
        let mut window = Window::new(Arc::clone(&split.file), text, buffer, usual_bytes);
        window.takes_what_comes = purpose == Purpose::Look && split.file.is_pipe();
        window.fill(first_bytes)?;
        let mut scanner = Scanner::new(dialect);
        let mut meter = SourceMeter::default();
        skip_lines::pass_over(&mut window, dialect, &mut meter.skipped_line_count)?;
        let header = match dialect.header && split.byte_range.start == 0 {
            true => window.read_header(dialect, &mut scanner, &mut meter.skipped_line_count)?,
            false => None,
        };
        let end = (!is_whole && !is_table).then_some(split.byte_range.end);
        let is_done = end.is_some_and(|end| window.byte_offset >= end);
        Ok(TextReader {
            split,
            dialect: dialect.clone(),
            scanner,
            window,
            chunk_bytes,
            pool,
            end,
            begin: 0,
            is_done,
            header,
            meter,
        })
    }

    /// Opens a range that begins in the middle of its file, at its first record.
    fn open_middle(
        split: Split,
        dialect: &Dialect,
        chunk_bytes: usize,
        mut pool: BufferPool,
    ) -> Result<TextReader, SourceError> {
        let file = Arc::clone(&split.file);
        let end = split.byte_range.end.min(file.size_bytes);
        // Where the search for the end of the previous record begins, and the earliest position of the first record.
        // Both are the same if there is no search.
        let (search_from, nominal) = match split.first_record {
            Some(first) => (None, first.byte_offset),
            None => {
                let bytes_before = bytes_before(dialect)
                    .expect("with quotes or escapes a range says where its first record begins");
                let nominal = split.byte_range.start;
                // Everything before the rows belongs to the first range, even if this range begins within it.
                let may_be_before_rows =
                    dialect.header || dialect.skip_lines > 0 || nominal <= MARK_BYTES_MAX;
                let rows_begin = match may_be_before_rows {
                    true => rows_begin(&file, dialect)?.byte_offset,
                    false => 0,
                };
                match nominal <= rows_begin {
                    true => (None, rows_begin),
                    // The previous record's terminator ends here, so a record begins.
                    false => (Some(nominal.saturating_sub(bytes_before as u64)), nominal),
                }
            }
        };
        let begin = search_from.unwrap_or(nominal).min(file.size_bytes);
        let text = Text::open_at(&file, begin)?;
        let buffer = pool.take(usual_bytes(chunk_bytes));
        let mut window = Window::new(Arc::clone(&file), text, buffer, usual_bytes(chunk_bytes));
        match split.first_record {
            Some(first) => window.line_offset = first.line - 1,
            None => {
                if search_from.is_some() && is_line_based(dialect) {
                    pass_over_line(&mut window, end)?;
                } else if search_from.is_some() {
                    find_first_record(&mut window, dialect, nominal, end)?;
                }
                window.line_offset = 0;
                window.range_places = Some(Arc::new(RangePlaces {
                    path: Arc::clone(&file.path),
                    lines: Arc::clone(file.lines.counts()),
                    byte_offset: window.byte_offset,
                    line_byte: dialect.line_byte().unwrap_or(b'\n'),
                }));
            }
        }
        let begin = window.byte_offset;
        let mut reader = TextReader {
            split,
            dialect: dialect.clone(),
            scanner: Scanner::new(dialect),
            window,
            chunk_bytes,
            pool,
            end: Some(end),
            begin,
            is_done: false,
            header: None,
            meter: SourceMeter::default(),
        };
        if begin >= end {
            reader.is_done = true;
        }
        Ok(reader)
    }

    /// The split that is read.
    pub fn split(&self) -> &Split {
        &self.split
    }

    /// The names in the file's header; `None` if the dialect has no header, if the file is empty, or if the split does
    /// not begin at the file's beginning.
    pub fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// The place of the first byte that was not handed out yet.
    pub(super) fn position(&self) -> RecordStart {
        RecordStart {
            byte_offset: self.window.byte_offset,
            line: self.window.line_offset + 1,
        }
    }

    /// The encoding of the text, if only the text itself shows it and it is not UTF-8.
    pub fn encoding_found(&self) -> Option<TextEncoding> {
        self.window.text.encoding_found()
    }

    /// The encoding from which the text is translated; `None` if it is read as UTF-8.
    pub fn translated_from(&self) -> Option<TextEncoding> {
        self.window.text.translated_from()
    }

    /// The bytes read so far, and their cost. For a range, only its own text is counted.
    pub fn meter(&self) -> SourceMeter {
        let mut meter = self.meter;
        self.window.text.add_to(&mut meter);
        if self.end.is_some() {
            meter.text_bytes = self.window.byte_offset - self.begin;
            meter.stored_bytes = meter.text_bytes;
        }
        meter
    }

    /// The bytes of the chunks that were handed out, and their cost, without bytes that were read ahead. In a
    /// compressed file, this function reads on until the decompressor has returned the text of all bytes that it has
    /// consumed.
    pub fn meter_of_chunks(&mut self) -> SourceMeter {
        let mut meter = self.meter();
        if self.end.is_none() {
            let text_bytes = self.window.byte_offset;
            self.window.text.leave_out_ahead(text_bytes, &mut meter);
        }
        meter
    }

    /// The next whole records; `records` gets their positions in the chunk. `None` at the end. If the file has long
    /// runs of blank lines, a chunk may have no record. Blank lines of the chunk are counted in `records`. Blank lines
    /// before a header are counted only in the [`meter`](TextReader::meter), which counts all blank lines.
    ///
    /// After an error the reader must not be used: its split has failed.
    pub fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        if self.is_done {
            return Ok(None);
        }
        let mut wanted_bytes = self.chunk_bytes;
        let consumed = loop {
            // The bytes that arrived may be enough, and more may take long to arrive.
            let is_enough = self.window.takes_what_comes
                && wanted_bytes == self.chunk_bytes
                && !self.window.bytes().is_empty();
            if !is_enough {
                self.window.fill(wanted_bytes.min(self.bytes_to_end()))?;
            }
            let consumed = self.scan(records)?;
            if consumed > 0 || self.sees_file_end() {
                break consumed;
            }
            if self.own_bytes() == self.bytes_to_end() {
                break self.finish_last(records)?;
            }
            wanted_bytes = self.window.more_than(wanted_bytes, &self.dialect);
        };
        let sees_all = self.sees_file_end() && consumed == self.window.bytes().len();
        self.is_done = sees_all || consumed >= self.bytes_to_end();
        self.meter.record_count += records.len() as u64;
        self.meter.skipped_line_count += records.skipped_count();
        let chunk = (consumed > 0).then(|| self.take(consumed, records));
        if self.is_done {
            self.finish()?;
        }
        Ok(chunk)
    }

    fn take(&mut self, consumed: usize, records: &Records) -> Chunk {
        let line_ends = u64::from(records.line_count);
        let mut chunk = self
            .window
            .take(consumed, line_ends, &mut self.pool, self.is_done);
        let start = Instant::now();
        check_utf8(&mut chunk, records);
        self.meter.scan_ns += nanoseconds_since(start);
        self.meter.chunk_count += 1;
        chunk
    }

    /// Takes back the memory of a chunk. If something still holds a part of it, the memory is not taken, and a new
    /// buffer is made when needed.
    pub fn recycle(&mut self, chunk: Chunk) {
        if !self
            .pool
            .recycle(chunk.text.into_memory(), usual_bytes(self.chunk_bytes))
        {
            self.meter.buffer_lost_count += 1;
        }
    }

    /// Ends reading, and returns the buffers for the next reader.
    pub fn close(mut self) -> BufferPool {
        let usual_bytes = usual_bytes(self.chunk_bytes);
        self.pool.put(self.window.into_buffer(), usual_bytes);
        self.pool
    }

    /// The number of bytes from the window's front to the range's end.
    fn bytes_to_end(&self) -> usize {
        match self.end {
            None => usize::MAX,
            Some(end) => {
                usize::try_from(end.saturating_sub(self.window.byte_offset)).unwrap_or(usize::MAX)
            }
        }
    }

    /// How many bytes of the window's text are before the range's end.
    fn own_bytes(&self) -> usize {
        self.window.bytes().len().min(self.bytes_to_end())
    }

    /// True if the file ends before the range does, and its end is in the window.
    fn sees_file_end(&self) -> bool {
        self.window.at_end && self.own_bytes() == self.window.bytes().len()
    }

    /// Scans the window's own text. Returns the number of its bytes that are whole records and blank lines.
    fn scan(&mut self, records: &mut Records) -> Result<usize, SourceError> {
        let start = Instant::now();
        let text = &self.window.bytes()[..self.own_bytes()];
        let result = self.scanner.scan(text, self.sees_file_end(), records);
        self.meter.scan_ns += nanoseconds_since(start);
        match result {
            Ok(scan) => Ok(scan.bytes_consumed),
            Err(cause) => Err(self.window.scan_error(cause)),
        }
    }

    /// Reads the one line that begins before the range's end and ends after it. Returns its number of bytes.
    fn finish_last(&mut self, records: &mut Records) -> Result<usize, SourceError> {
        let mut wanted_bytes = self.window.bytes().len() + FINISH_BYTES;
        loop {
            self.window.fill(wanted_bytes)?;
            let start = Instant::now();
            let text = self.window.bytes();
            let at_end = self.window.at_end;
            let scanner = &mut self.scanner;
            let first = first_line_bytes(&self.dialect, scanner, text, at_end, records);
            let scanned = first.and_then(|bytes| match bytes {
                None => Ok(None),
                Some(bytes) => {
                    let end = if at_end && bytes == text.len() {
                        TextEnd::File
                    } else {
                        TextEnd::MoreRecords
                    };
                    scanner.scan(&text[..bytes], end, records)?;
                    Ok(Some(bytes))
                }
            });
            self.meter.scan_ns += nanoseconds_since(start);
            match scanned {
                Ok(Some(bytes)) => return Ok(bytes),
                Ok(None) => wanted_bytes = self.window.more_than(wanted_bytes, &self.dialect),
                Err(cause) => return Err(self.window.scan_error(cause)),
            }
        }
    }

    /// Checks at the end of a range, as at the end of a file, that the file has not changed since it was planned. Notes
    /// the number of lines of a plain file for the ranges after this one.
    fn finish(&mut self) -> Result<(), SourceError> {
        if self.end.is_none() {
            return Ok(());
        }
        self.window.text.check_unchanged()?;
        let end = self.window.byte_offset;
        let line_ends = self.window.line_offset - self.lines_at_begin();
        self.split
            .file
            .lines
            .counts()
            .note(self.begin, end, line_ends);
        Ok(())
    }

    fn lines_at_begin(&self) -> u64 {
        match (self.begin, self.split.first_record) {
            (0, _) | (_, None) => 0,
            (_, Some(first)) => first.line - 1,
        }
    }
}

/// The number of bytes of text in a buffer that has not grown for a long record.
fn usual_bytes(chunk_bytes: usize) -> usize {
    chunk_bytes.max(SIGNATURE_BYTES)
}

/// Skips the window's text up to its first line end, or to byte `end` of the file.
fn pass_over_line(window: &mut Window, end: u64) -> Result<(), SourceError> {
    while window.byte_offset < end {
        window.fill(FINISH_BYTES)?;
        if window.bytes().is_empty() {
            return Ok(());
        }
        match memchr::memchr(b'\n', window.bytes()) {
            Some(at) => {
                window.drop_front(at + 1, 0);
                return Ok(());
            }
            None => window.drop_front(window.bytes().len(), 0),
        }
    }
    Ok(())
}

/// The position of the first row of a plain file: after the byte order mark, the skipped lines, and the header.
pub(super) fn rows_begin(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
) -> Result<RecordStart, SourceError> {
    let beginning = Split::range(Arc::clone(file), 0..file.size_bytes.min(1), None);
    let reader = TextReader::open(beginning, dialect, ROWS_LOOK_BYTES, BufferPool::default())?;
    Ok(reader.position())
}
