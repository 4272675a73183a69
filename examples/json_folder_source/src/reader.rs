//! Reads a file, a line at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_schema::DataType;
use inrush_rows::cancel::Stop;
use inrush_rows::chunk::{Chunk, Places};
use inrush_scan::Records;
use inrush_source::{
    Chunks, ContentHash, Input, SourceError, SourceMeter, SplitEnd, SplitReader, nanoseconds_since,
};

use crate::input::JsonFile;
use crate::rows::RowBuilder;

/// A longer line is likely a whole array on one line: rows are read into memory one at a time.
const LINE_BYTES_MAX: u64 = 64 << 20;

/// Bytes that are requested from the system at a time.
const READ_BYTES: usize = 1 << 16;

/// Reads all of a file.
pub struct FileReader<'a> {
    input: &'a JsonFile,
    columns: &'a [(String, DataType)],
    stop: &'a Stop,
    chunk_bytes: usize,
    file: BufReader<File>,
    line: Vec<u8>,
    line_number: u64,
    row_number: u64,
    is_at_end: bool,
    hash: ContentHash,
    meter: SourceMeter,
}

/// The lines of the rows of a chunk.
#[derive(Debug)]
struct Lines(Vec<u64>);

impl Places for Lines {
    fn are_rows(&self) -> bool {
        true
    }

    fn key(&self, position: usize) -> Option<Arc<str>> {
        let line = self.0.get(position)?;
        Some(format!("line = {line}").into())
    }
}

impl<'a> FileReader<'a> {
    /// Opens the file. Fails if it has changed since the source was opened.
    pub fn open(
        input: &'a JsonFile,
        columns: &'a [(String, DataType)],
        stop: &'a Stop,
        chunk_bytes: usize,
    ) -> Result<FileReader<'a>, SourceError> {
        input.check()?;
        Ok(FileReader {
            input,
            columns,
            stop,
            chunk_bytes,
            file: open(input.name())?,
            line: Vec::new(),
            line_number: 0,
            row_number: 0,
            is_at_end: false,
            hash: ContentHash::default(),
            meter: SourceMeter::default(),
        })
    }

    /// Reads the next line; false at the end of the file.
    fn next_line(&mut self) -> Result<bool, SourceError> {
        self.line.clear();
        let name = self.input.name();
        let start = Instant::now();
        let read = (&mut self.file)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut self.line);
        self.meter.read_ns += nanoseconds_since(start);
        let read =
            read.map_err(|cause| SourceError::read(name, self.meter.stored_bytes, cause))? as u64;
        self.line_number += 1;
        if read == LINE_BYTES_MAX && self.line.last() != Some(&b'\n') {
            return Err(SourceError::Input {
                input: name.to_path_buf(),
                what: format!(
                    "line {} has more than {LINE_BYTES_MAX} bytes",
                    self.line_number
                ),
                fix: "write each object on a line of its own".to_owned(),
            });
        }
        self.hash.add(&self.line);
        self.meter.stored_bytes += read;
        self.meter.text_bytes += read;
        Ok(read > 0)
    }
}

/// The object of a line, without the comma after it; `None` if the line has no row.
fn row_of(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii();
    match line {
        b"" | b"[" | b"]" => None,
        _ => Some(line.strip_suffix(b",").unwrap_or(line)),
    }
}

fn open(path: &Path) -> Result<BufReader<File>, SourceError> {
    let opened = File::open(path).map_err(|cause| SourceError::Unreadable {
        path: path.to_owned(),
        cause,
    })?;
    Ok(BufReader::with_capacity(READ_BYTES, opened))
}

impl Chunks for FileReader<'_> {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        let mut rows = RowBuilder::new(self.columns);
        let mut lines = Vec::new();
        while !self.is_at_end && (rows.bytes_count() as usize) < self.chunk_bytes.max(1) {
            if self.stop.asked().is_some() {
                return Err(SourceError::Stopped {
                    path: self.input.name().to_path_buf(),
                });
            }
            if !self.next_line()? {
                self.is_at_end = true;
                self.input.check()?;
                break;
            }
            // Brackets and blank lines belong to the form of the file: they are no skipped rows.
            if let Some(row) = row_of(&self.line) {
                rows.append(row);
                lines.push(self.line_number);
            }
        }
        if rows.row_count() == 0 {
            return Ok(None);
        }
        let first_row = self.row_number;
        self.row_number += rows.row_count() as u64;
        self.meter.record_count = self.row_number;
        self.meter.chunk_count += 1;
        let places = Arc::new(Lines(lines));
        Ok(Some(Chunk::of_rows(
            self.input.name(),
            first_row,
            rows.finish(),
            places,
            records,
        )))
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        self.meter
    }
}

impl SplitReader for FileReader<'_> {
    fn end(mut self: Box<Self>) -> SplitEnd {
        SplitEnd {
            hash: self.hash.take(),
            text_range: Some(0..self.meter.stored_bytes),
            trailer: None,
        }
    }
}

/// The hash of a file as it is now.
pub fn hash_now(path: &Path, stop: &Stop) -> Result<String, SourceError> {
    let mut file = open(path)?;
    let mut hash = ContentHash::default();
    let mut read = 0;
    loop {
        if stop.asked().is_some() {
            return Err(SourceError::Stopped {
                path: path.to_owned(),
            });
        }
        let bytes = match file.fill_buf() {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => continue,
            Err(cause) => return Err(SourceError::read(&Arc::from(path), read, cause)),
        };
        if bytes.is_empty() {
            return Ok(hash.take());
        }
        hash.add(bytes);
        let length = bytes.len();
        file.consume(length);
        read += length as u64;
    }
}
