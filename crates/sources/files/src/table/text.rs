//! The rows of a part of a table as CSV text.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use inrush_rows::chunk::Places;
use inrush_rows::typed_rows::{Cells, TypedRows, append_row, append_text};
use inrush_source::SourceError;
use inrush_source::{SourceMeter, nanoseconds_since};

use super::places::RowPlaces;
use super::row_batches::TableRows;
use super::{TableField, TableFile};
use crate::source_file::SourceFile;

/// How many bytes of text are made at a time.
const TEXT_BYTES: usize = 64 << 10;

/// The rows of a part of a table as CSV text; the header is before the table's first row.
pub(crate) struct TableText {
    rows: TableRows,
    /// The cells of a batch, and the number of its rows.
    batch: Option<(usize, Vec<Cells>)>,
    /// The number of rows of the batch that are already text.
    batch_row: usize,
    text: Vec<u8>,
    text_at: usize,
    /// The number of bytes of text taken for chunks.
    taken_bytes: u64,
    /// The number of bytes of text made.
    made_bytes: u64,
    /// The positions, in the whole text, of rows that were not taken yet.
    starts: VecDeque<u64>,
    make_ns: u64,
}

impl TableText {
    /// The rows whose groups begin in a byte range of the file.
    pub(crate) fn open(
        file: &Arc<SourceFile>,
        table: &Arc<TableFile>,
        range: &Range<u64>,
    ) -> Result<TableText, SourceError> {
        let rows = TableRows::open(file, table, range)?;
        let mut text = Vec::with_capacity(TEXT_BYTES);
        if range.start == 0 {
            append_header(&table.fields, &mut text);
        }
        Ok(TableText {
            rows,
            made_bytes: text.len() as u64,
            batch: None,
            batch_row: 0,
            text,
            text_at: 0,
            taken_bytes: 0,
            starts: VecDeque::new(),
            make_ns: 0,
        })
    }

    /// The number of rows of the file before the text.
    pub(crate) fn start(&self) -> u64 {
        self.rows.first_row
    }

    /// Reads some text. Returns 0 only at the end, where the file is compared with the plan.
    pub(crate) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, SourceError> {
        if self.text_at == self.text.len() {
            self.text.clear();
            self.text_at = 0;
            while self.text.is_empty() && !self.rows.is_done {
                self.make_text()?;
            }
        }
        let left = &self.text[self.text_at..];
        let count = left.len().min(bytes.len());
        bytes[..count].copy_from_slice(&left[..count]);
        self.text_at += count;
        Ok(count)
    }

    /// Makes text of the next rows.
    fn make_text(&mut self) -> Result<(), SourceError> {
        if self.batch.is_none() {
            let Some(rows) = self.rows.next()? else {
                return Ok(());
            };
            self.batch = Some((rows.row_count, self.cells(&rows)?));
            self.batch_row = 0;
        }
        let Some((rows, cells)) = &self.batch else {
            return Ok(());
        };
        let begun = Instant::now();
        let before = self.text.len();
        let base = self.made_bytes - before as u64;
        while self.batch_row < *rows && self.text.len() < TEXT_BYTES {
            self.starts.push_back(base + self.text.len() as u64);
            append_row(cells, self.batch_row, &mut self.text);
            self.batch_row += 1;
        }
        self.made_bytes += (self.text.len() - before) as u64;
        if self.batch_row == *rows {
            self.batch = None;
        }
        self.make_ns += nanoseconds_since(begun);
        Ok(())
    }

    fn cells(&self, rows: &TypedRows) -> Result<Vec<Cells>, SourceError> {
        let cells = |values, is_uuid| {
            Cells::of(values, is_uuid).ok_or_else(|| {
                self.rows
                    .failed("one of its columns cannot be written as text".to_owned())
            })
        };
        let columns = rows.columns.iter().map(|column| match &column.values {
            None => Ok(Cells::unread()),
            Some(values) => cells(values, column.is_uuid),
        });
        columns.collect()
    }

    /// Takes the next `bytes` of text for a chunk. Returns how many rows begin in it, and where.
    pub(crate) fn take(&mut self, bytes: usize) -> (u64, Option<Arc<dyn Places>>) {
        let end = self.taken_bytes + bytes as u64;
        let count = self.starts.partition_point(|start| *start < end);
        let relative = self.starts.drain(..count);
        let starts: Vec<u32> = relative
            .map(|start| (start - self.taken_bytes) as u32)
            .collect();
        self.taken_bytes = end;
        (count as u64, Some(Arc::new(RowPlaces { starts })))
    }

    /// The number of rows between the beginning of the next text and `position` in it.
    pub(crate) fn distance(&self, position: usize) -> u64 {
        let end = self.taken_bytes + position as u64;
        self.starts.partition_point(|start| *start < end) as u64
    }

    /// Checks that the file has not changed since it was planned.
    pub(crate) fn check_unchanged(&self) -> Result<(), SourceError> {
        self.rows.check_unchanged()
    }

    /// Adds the cost of reading so far.
    pub(crate) fn add_to(&self, meter: &mut SourceMeter) {
        self.rows.add_to(meter);
        meter.decompress_ns += self.make_ns;
        meter.text_bytes = self.made_bytes;
    }
}

/// Appends the names of the fields as a record.
fn append_header(fields: &[TableField], out: &mut Vec<u8>) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        append_text(field.name.as_bytes(), out);
    }
    out.push(b'\n');
}
