//! Reads the rows of a part of a table as typed values, not as text.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use inrush_rows::chunk::{Chunk, RowNumbers};
use inrush_rows::location::Location;
use inrush_rows::typed_rows::TypedRows;
use inrush_scan::{Dialect, Records, ScanError};
use inrush_source::Chunks;
use inrush_source::SourceError;
use inrush_source::{SourceMeter, nanoseconds_since};

use super::TableFile;
use super::content::TableContent;
use super::row_batches::TableRows;
use crate::source_file::SourceFile;

/// The most bytes of values in a chunk of more than one row. A column that is converted through text needs the text of
/// only one value at a time.
const CHUNK_BYTES: u64 = 2 << 20;

/// The rows of a part of a table.
pub(crate) struct TypedReader {
    rows: TableRows,
    content: TableContent,
    header: Option<Vec<String>>,
    /// Decoded rows, in parts the size of chunks.
    ready: VecDeque<TypedRows>,
    record_bytes_max: usize,
    next_row: u64,
    meter: SourceMeter,
}

impl TypedReader {
    /// The rows whose groups begin in a byte range of the file.
    pub(crate) fn open(
        file: &Arc<SourceFile>,
        table: &Arc<TableFile>,
        range: &Range<u64>,
        dialect: &Dialect,
    ) -> Result<TypedReader, SourceError> {
        let rows = TableRows::open(file, table, range)?;
        let names = || {
            let fields = table.fields.iter();
            fields.map(|field| field.name.clone()).collect()
        };
        Ok(TypedReader {
            content: TableContent::open(file, table, range)?,
            header: (range.start == 0).then(names),
            ready: VecDeque::new(),
            record_bytes_max: dialect.record_bytes_max,
            next_row: rows.first_row,
            rows,
            meter: SourceMeter::default(),
        })
    }

    /// The names of the columns, if the file's first row is among these rows.
    pub(crate) fn header(&self) -> Option<&[String]> {
        self.header.as_deref()
    }

    /// Cuts rows into smaller parts if their values have many bytes, and refuses a row that is longer than a record may
    /// be.
    fn cut(&self, rows: TypedRows, ready: &mut VecDeque<TypedRows>) -> Result<(), SourceError> {
        let sizes = rows.row_bytes();
        // An upper bound of the text: quotes and hex digits double the bytes, numbers and times have fewer characters
        // than the constant, and decimals of 256 bits have fewer than the constant plus the number of their bytes.
        let text_bytes_max = |size: u64| 2 * size + 64 * rows.columns.len() as u64;
        let mut start = 0;
        let mut bytes = 0;
        let mut part = |start: usize, end: usize, bytes: u64| {
            ready.push_back(TypedRows {
                bytes_count: bytes,
                ..rows.slice(start..end)
            });
        };
        for (row, size) in sizes.iter().enumerate() {
            if text_bytes_max(*size) > self.record_bytes_max as u64
                && rows.row_text(row).0.len() > self.record_bytes_max
            {
                return Err(self.too_long(row));
            }
            if row > start && bytes + size > CHUNK_BYTES {
                part(start, row, bytes);
                start = row;
                bytes = 0;
            }
            bytes += size;
        }
        part(start, sizes.len(), bytes);
        Ok(())
    }

    #[cold]
    fn too_long(&self, row: usize) -> SourceError {
        let byte_offset = self.next_row + row as u64;
        SourceError::Scan {
            location: Location {
                file: Arc::clone(&self.rows.file.path),
                line: byte_offset + 1,
                byte_offset,
                key: None,
            },
            cause: ScanError::RecordTooLong {
                start: 0,
                line: 0,
                record_bytes_max: self.record_bytes_max,
                multiline: false,
            },
        }
    }
}

impl Chunks for TypedReader {
    fn next_chunk(&mut self, records: &mut Records) -> Result<Option<Chunk>, SourceError> {
        records.clear();
        while self.ready.is_empty() {
            let Some(rows) = self.rows.next()? else {
                return Ok(None);
            };
            let mut ready = std::mem::take(&mut self.ready);
            self.cut(rows, &mut ready)?;
            self.ready = ready;
        }
        let Some(mut rows) = self.ready.pop_front() else {
            return Ok(None);
        };
        let row_end = self.next_row + rows.row_count as u64;
        let begun = Instant::now();
        self.content.append_until(row_end, &mut rows.content)?;
        self.meter.read_ns += nanoseconds_since(begun);
        self.meter.record_count += rows.row_count as u64;
        self.meter.text_bytes += rows.bytes_count;
        self.meter.chunk_count += 1;
        let name = &self.rows.file.path;
        let chunk = Chunk::of_rows(name, self.next_row, rows, Arc::new(RowNumbers), records);
        self.next_row = row_end;
        Ok(Some(chunk))
    }

    fn recycle(&mut self, _chunk: Chunk) {}

    fn meter(&self) -> SourceMeter {
        let mut meter = self.meter;
        self.rows.add_to(&mut meter);
        meter
    }
}
