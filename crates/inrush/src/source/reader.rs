//! Reads a shard in chunks of whole records.
//!
//! A buffer is filled, scanned, and handed out up to the end of its last whole record; what
//! follows is carried over to the next buffer. A record that no buffer holds makes the buffer
//! grow, up to `record_bytes_max` and a chunk. The file's places (bytes, lines) are counted in
//! the decompressed text, the byte order mark and the header included.

use std::time::Instant;

use arrow_buffer::Buffer;
use inrush_scan::{Dialect, Records, ScanError, Scanner, TextEnd};

use super::buffers::{BufferPool, grow};
use super::error::SourceError;
use super::header;
use super::input::Input;
use super::meter::{SourceMeter, nanoseconds_since};
use super::shard::Shard;
use super::signature::{SIGNATURE_BYTES, binary_kind, foreign_encoding, utf8_mark_bytes};
use crate::chunk::{CHUNK_PADDING_BYTES, Chunk};
use crate::location::Location;
use crate::package::Compression;

/// Reads a shard in chunks of whole records.
pub struct ShardReader {
    shard: Shard,
    dialect: Dialect,
    scanner: Scanner,
    input: Input,
    chunk_bytes: usize,
    pool: BufferPool,
    /// Text that no chunk has yet, at the front, and room behind it.
    buffer: Vec<u8>,
    /// How much of the buffer is text.
    filled_bytes: usize,
    /// Bytes of the file before the buffer's text.
    byte_offset: u64,
    /// Lines of the file before the buffer's text.
    line_offset: u64,
    at_end: bool,
    is_done: bool,
    header: Option<Vec<String>>,
    meter: SourceMeter,
}

impl ShardReader {
    /// Opens the file and reads its beginning: what its first bytes say, and the header.
    /// Chunks will have about `chunk_bytes` of text; `pool` comes from the reader before this
    /// one ([`close`](ShardReader::close)) or is empty.
    pub fn open(
        shard: Shard,
        dialect: &Dialect,
        chunk_bytes: usize,
        pool: BufferPool,
    ) -> Result<ShardReader, SourceError> {
        assert!(shard.is_whole(), "pieces of files are not cut yet");
        assert!(chunk_bytes > 0, "a chunk holds something");
        dialect.check().map_err(|cause| SourceError::Dialect {
            path: shard.file.path.to_path_buf(),
            cause,
        })?;
        let mut reader = ShardReader {
            input: Input::open(&shard.file)?,
            scanner: Scanner::new(dialect),
            dialect: dialect.clone(),
            shard,
            chunk_bytes,
            pool,
            buffer: Vec::new(),
            filled_bytes: 0,
            byte_offset: 0,
            line_offset: 0,
            at_end: false,
            is_done: false,
            header: None,
            meter: SourceMeter::default(),
        };
        // A small file needs no whole chunk, but one byte more to see its end.
        let expected = match reader.shard.file.compression {
            Compression::None => usize::try_from(reader.shard.size_bytes() + 1),
            Compression::Gzip | Compression::Zstd => Ok(chunk_bytes),
        };
        let first_bytes = chunk_bytes.min(expected.unwrap_or(chunk_bytes));
        reader.buffer = reader.pool.take(first_bytes.max(SIGNATURE_BYTES));
        reader.fill(first_bytes.max(SIGNATURE_BYTES))?;
        reader.check_signature()?;
        if reader.dialect.header {
            reader.read_header()?;
        }
        Ok(reader)
    }

    /// The shard that is read.
    pub fn shard(&self) -> &Shard {
        &self.shard
    }

    /// The names in the file's header; nothing where the dialect has none or the file is empty.
    pub fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// What has been read so far, and what it cost.
    pub fn meter(&self) -> SourceMeter {
        SourceMeter {
            stored_bytes: self.input.stored_bytes(),
            text_bytes: self.input.text_bytes(),
            read_ns: self.input.read_ns(),
            decompress_ns: self.input.decompress_ns(),
            ..self.meter
        }
    }

    /// The next whole records, in `records` by their positions in the chunk; nothing at the end.
    /// A chunk may hold no record where the file has long runs of blank lines or comments. Those
    /// of the chunk are counted in `records`, those before a header in the
    /// [`meter`](ShardReader::meter) only, which counts them all.
    ///
    /// After an error the reader is of no more use: its shard has failed.
    pub fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        if self.is_done {
            return Ok(None);
        }
        let mut wanted_bytes = self.chunk_bytes;
        let consumed = loop {
            self.fill(wanted_bytes)?;
            let consumed = self.scan(records)?;
            if consumed > 0 || self.at_end {
                break consumed;
            }
            wanted_bytes = self.more_than(wanted_bytes);
        };
        self.is_done = self.at_end && consumed == self.filled_bytes;
        self.meter.record_count += records.len() as u64;
        self.meter.skipped_line_count += records.skipped_count();
        if consumed == 0 {
            return Ok(None);
        }
        let start = Instant::now();
        let invalid_utf8 = invalid_records(&self.buffer[..consumed], records);
        self.meter.scan_ns += nanoseconds_since(start);
        let bytes = self.split_off(consumed);
        let chunk = Chunk {
            bytes: Buffer::from_vec(bytes),
            bytes_count: consumed,
            file: self.shard.file.path.clone(),
            byte_offset: self.byte_offset,
            line_offset: self.line_offset,
            invalid_utf8,
        };
        self.byte_offset += consumed as u64;
        self.line_offset += u64::from(records.line_count);
        self.meter.chunk_count += 1;
        Ok(Some(chunk))
    }

    /// Takes back the memory of a chunk. Where something still holds a part of it, the memory
    /// stays with that, and a new buffer is made when one is needed.
    pub fn recycle(&mut self, chunk: Chunk) {
        if !self.pool.recycle(chunk.bytes, self.usual_bytes()) {
            self.meter.buffer_lost_count += 1;
        }
    }

    /// Ends reading; the buffers are for the next reader.
    pub fn close(mut self) -> BufferPool {
        let usual_bytes = self.usual_bytes();
        self.pool.put(self.buffer, usual_bytes);
        self.pool
    }

    /// The text of a buffer that no long record has made grow.
    fn usual_bytes(&self) -> usize {
        self.chunk_bytes.max(SIGNATURE_BYTES)
    }

    /// Reads until the buffer holds `wanted_bytes` of text, or all that is left.
    fn fill(&mut self, wanted_bytes: usize) -> Result<(), SourceError> {
        grow(&mut self.buffer, wanted_bytes);
        while self.filled_bytes < wanted_bytes && !self.at_end {
            let room = &mut self.buffer[self.filled_bytes..wanted_bytes];
            let count = self.input.read(room)?;
            self.filled_bytes += count;
            self.at_end = count == 0;
        }
        Ok(())
    }

    /// How much to hold where `wanted_bytes` hold no whole record.
    fn more_than(&self, wanted_bytes: usize) -> usize {
        // With more than `record_bytes_max` the scanner finds an end or gives up.
        let limit = self.dialect.record_bytes_max + self.chunk_bytes.max(2);
        (wanted_bytes.max(self.filled_bytes) * 2).min(limit)
    }

    /// Scans the buffer's text. Returns how much of it is whole records and blank lines.
    fn scan(&mut self, records: &mut Records) -> Result<usize, SourceError> {
        let start = Instant::now();
        let text = &self.buffer[..self.filled_bytes];
        let result = self.scanner.scan(text, self.at_end, records);
        self.meter.scan_ns += nanoseconds_since(start);
        match result {
            Ok(scan) => Ok(scan.bytes_consumed),
            Err(cause) => {
                let ScanError::RecordTooLong { start, line, .. } = cause;
                let location = self.location(start, line);
                Err(SourceError::Scan { location, cause })
            }
        }
    }

    fn location(&self, position: u32, line: u32) -> Location {
        Location {
            file: self.shard.file.path.clone(),
            line: self.line_offset + u64::from(line) + 1,
            byte_offset: self.byte_offset + u64::from(position),
        }
    }

    /// Hands out the buffer with `consumed` bytes of text and the padding; what follows them
    /// goes to a new buffer.
    fn split_off(&mut self, consumed: usize) -> Vec<u8> {
        let tail = consumed..self.filled_bytes;
        let mut next = if self.is_done {
            Vec::new()
        } else {
            self.pool.take(self.usual_bytes().max(tail.len()))
        };
        next[..tail.len()].copy_from_slice(&self.buffer[tail.clone()]);
        self.filled_bytes = tail.len();
        let mut bytes = std::mem::replace(&mut self.buffer, next);
        bytes[consumed..consumed + CHUNK_PADDING_BYTES].fill(0);
        bytes
    }

    /// Looks at the file's first bytes.
    fn check_signature(&mut self) -> Result<(), SourceError> {
        let text = &self.buffer[..self.filled_bytes];
        let path = || self.shard.file.path.to_path_buf();
        if let Some(encoding) = foreign_encoding(text) {
            return Err(SourceError::Encoding {
                path: path(),
                encoding,
            });
        }
        if let Some(found) = binary_kind(text) {
            return Err(SourceError::KindMismatch {
                path: path(),
                expected: "text",
                found,
                mend: match (self.shard.file.compression, found) {
                    (Compression::None, "gzip" | "zstd") => {
                        format!("declare it: format.compression = {found:?}")
                    }
                    _ => "make it again as text".to_owned(),
                },
            });
        }
        self.drop_front(utf8_mark_bytes(text), 0);
        Ok(())
    }

    /// Takes the header off the buffer's front.
    fn read_header(&mut self) -> Result<(), SourceError> {
        let mut records = Records::default();
        loop {
            let consumed = self.scan(&mut records)?;
            if !records.is_empty() {
                break;
            }
            self.meter.skipped_line_count += records.skipped_count();
            self.drop_front(consumed, u64::from(records.line_count));
            if self.at_end {
                return Ok(());
            }
            self.fill(self.more_than(self.chunk_bytes))?;
        }
        let record = records.records[0];
        let location = self.location(record.start, record.line);
        let text = &self.buffer[..self.filled_bytes];
        self.header = Some(header::parse(text, &records, &self.dialect, location)?);
        let (start, end) = (record.start as usize, record.end as usize);
        let end = end + self.dialect.terminator_bytes_at(&text[end..]);
        let header_lines = self.dialect.line_count(&text[start..end]);
        // What stands before the header is counted by itself.
        let before = TextEnd::MoreRecords;
        if let Err(cause) = self.scanner.scan(&text[..start], before, &mut records) {
            unreachable!("lines that were passed over once are again: {cause}");
        }
        self.meter.skipped_line_count += records.skipped_count();
        self.drop_front(end, u64::from(record.line) + u64::from(header_lines));
        Ok(())
    }

    /// Passes over text at the buffer's front.
    fn drop_front(&mut self, bytes: usize, lines: u64) {
        if bytes > 0 {
            self.buffer.copy_within(bytes..self.filled_bytes, 0);
            self.filled_bytes -= bytes;
            self.byte_offset += bytes as u64;
            self.line_offset += lines;
        }
    }
}

/// The records that are not valid UTF-8. A chunk is asked as a whole first, which costs next
/// to nothing; a record ends between characters, since its terminator is one.
fn invalid_records(text: &[u8], records: &Records) -> Vec<u32> {
    if simdutf8::basic::from_utf8(text).is_ok() {
        return Vec::new();
    }
    let is_invalid = |index: &u32| {
        let record = &records.records[*index as usize];
        simdutf8::basic::from_utf8(&text[record.start as usize..record.end as usize]).is_err()
    };
    (0..records.len() as u32).filter(is_invalid).collect()
}
