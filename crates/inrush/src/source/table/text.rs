//! The rows of a part of a table as CSV text.

use std::collections::VecDeque;
use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;

use super::cells::{self, Cells};
use super::places::RowPlaces;
use super::{Batches, TableFile, guarded};
use crate::chunk::Places;
use crate::source::error::SourceError;
use crate::source::files::SourceFile;
use crate::source::meter::{SourceMeter, nanoseconds_since};
use crate::source::stored::check_unchanged;

/// Rows of a batch: as many as the converters take at a time.
const BATCH_ROWS: u64 = 1024;
/// Bytes of a batch of long rows.
const BATCH_BYTES: u64 = 1 << 20;
/// Text that is made at a time.
const TEXT_BYTES: usize = 64 << 10;

/// The rows of a part of a table as CSV text; the header stands before the table's first row.
pub(in crate::source) struct TableText {
    file: Arc<SourceFile>,
    table: Arc<TableFile>,
    stored: File,
    batches: Batches,
    /// Fields of a row, each with its place in a batch; what cannot be written as text has none.
    places: Vec<Option<usize>>,
    batch: Option<(RecordBatch, Vec<Cells>)>,
    /// Rows of the batch that are text already.
    batch_row: usize,
    text: Vec<u8>,
    text_at: usize,
    /// Bytes of text that were taken for chunks.
    taken_bytes: u64,
    /// Bytes of text that were made.
    made_bytes: u64,
    /// Where rows that were not taken yet begin in all text.
    starts: VecDeque<u64>,
    first_row: u64,
    row_count: u64,
    rows_left: u64,
    stored_bytes: u64,
    decode_ns: u64,
    is_done: bool,
}

impl TableText {
    /// The rows whose groups begin in a range of the file's bytes.
    pub(in crate::source) fn open(
        file: &Arc<SourceFile>,
        table: &Arc<TableFile>,
        range: &Range<u64>,
    ) -> Result<TableText, SourceError> {
        let unreadable = |cause| SourceError::Unreadable {
            path: file.path.to_path_buf(),
            cause,
        };
        let stored = File::open(file.path.as_path()).map_err(unreadable)?;
        check_unchanged(&stored, file)?;
        let groups = table.groups_in(range);
        let own = &table.groups[groups.clone()];
        let first_row = own.first().map_or(0, |group| group.first_row);
        let rows_left: u64 = own.iter().map(|group| group.row_count).sum();
        let decoded: u64 = own.iter().map(|group| group.decoded_bytes).sum();
        let row_bytes = (decoded / rows_left.max(1)).max(1);
        let batch_rows = (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS);
        let reading = stored.try_clone().map_err(unreadable)?;
        let batches = table.batches(reading, groups, batch_rows as usize);
        let batches = batches.map_err(|reason| super::damaged(&file.path, table.kind, reason))?;
        let mut text = Vec::with_capacity(TEXT_BYTES);
        if range.start == 0 {
            cells::append_header(&table.fields, &mut text);
        }
        let mut next = 0;
        let places = table.fields.iter().map(|field| {
            field.is_readable().then(|| {
                next += 1;
                next - 1
            })
        });
        Ok(TableText {
            places: places.collect(),
            made_bytes: text.len() as u64,
            file: Arc::clone(file),
            table: Arc::clone(table),
            stored,
            batches,
            batch: None,
            batch_row: 0,
            text,
            text_at: 0,
            taken_bytes: 0,
            starts: VecDeque::new(),
            first_row,
            row_count: rows_left,
            rows_left,
            stored_bytes: range.end - range.start,
            decode_ns: 0,
            is_done: false,
        })
    }

    /// Rows of the file before the text.
    pub(in crate::source) fn start(&self) -> u64 {
        self.first_row
    }

    /// Reads some text; 0 bytes at the end only, where the file is held against the plan.
    pub(in crate::source) fn read(&mut self, bytes: &mut [u8]) -> Result<usize, SourceError> {
        if self.text_at == self.text.len() {
            let begun = Instant::now();
            self.text.clear();
            self.text_at = 0;
            while self.text.is_empty() && !self.is_done {
                self.make_text()?;
            }
            self.decode_ns += nanoseconds_since(begun);
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
            let batches = &mut self.batches;
            let next = guarded(|| batches.next().transpose());
            let next = next.map_err(|reason| self.failed(reason))?;
            let Some(batch) = next else {
                return self.end();
            };
            let rows = batch.num_rows() as u64;
            self.rows_left = self
                .rows_left
                .checked_sub(rows)
                .ok_or_else(|| self.failed("it has more rows than its footer says".to_owned()))?;
            let cells = self.cells(&batch)?;
            self.batch = Some((batch, cells));
            self.batch_row = 0;
        }
        let Some((batch, cells)) = &self.batch else {
            return Ok(());
        };
        let rows = batch.num_rows();
        let before = self.text.len();
        let base = self.made_bytes - before as u64;
        while self.batch_row < rows && self.text.len() < TEXT_BYTES {
            self.starts.push_back(base + self.text.len() as u64);
            cells::append_row(cells, self.batch_row, &mut self.text);
            self.batch_row += 1;
        }
        self.made_bytes += (self.text.len() - before) as u64;
        if self.batch_row == rows {
            self.batch = None;
        }
        Ok(())
    }

    fn cells(&self, batch: &RecordBatch) -> Result<Vec<Cells>, SourceError> {
        let fields = self.table.fields.iter().zip(&self.places);
        fields
            .map(|(field, place)| match place {
                None => Ok(Cells::unread()),
                Some(place) => {
                    let column = batch.columns().get(*place);
                    let cells = column.and_then(|column| Cells::of(column, field.is_uuid));
                    cells.ok_or_else(|| {
                        self.failed(format!(
                            "its column `{}` is not what its footer says",
                            field.name
                        ))
                    })
                }
            })
            .collect()
    }

    fn end(&mut self) -> Result<(), SourceError> {
        self.is_done = true;
        check_unchanged(&self.stored, &self.file)?;
        match self.rows_left {
            0 => Ok(()),
            left => Err(self.failed(format!("{left} rows fewer than its footer says"))),
        }
    }

    /// What went wrong: a file that is still being written looks like a damaged one.
    fn failed(&self, reason: String) -> SourceError {
        match self.check_unchanged() {
            Err(changed) => changed,
            Ok(()) => super::damaged(&self.file.path, self.table.kind, reason),
        }
    }

    /// Takes the next `bytes` of text for a chunk: how many rows begin there, and where.
    pub(in crate::source) fn take(&mut self, bytes: usize) -> (u64, Option<Arc<dyn Places>>) {
        let end = self.taken_bytes + bytes as u64;
        let count = self.starts.partition_point(|start| *start < end);
        let relative = self.starts.drain(..count);
        let starts: Vec<u32> = relative
            .map(|start| (start - self.taken_bytes) as u32)
            .collect();
        self.taken_bytes = end;
        (count as u64, Some(Arc::new(RowPlaces { starts })))
    }

    /// Rows between the beginning of the next text and `position` of it.
    pub(in crate::source) fn distance(&self, position: usize) -> u64 {
        let end = self.taken_bytes + position as u64;
        self.starts.partition_point(|start| *start < end) as u64
    }

    /// Whether the file is still as it was planned.
    pub(in crate::source) fn check_unchanged(&self) -> Result<(), SourceError> {
        check_unchanged(&self.stored, &self.file)
    }

    /// Adds what reading has cost so far: of the file's bytes as large a part as of its rows, since
    /// columns stand there one behind the other. Reading and decoding are one.
    pub(in crate::source) fn add_to(&self, meter: &mut SourceMeter) {
        let read = u128::from(self.row_count - self.rows_left);
        meter.stored_bytes = match self.is_done {
            true => self.stored_bytes,
            false => {
                (u128::from(self.stored_bytes) * read / u128::from(self.row_count.max(1))) as u64
            }
        };
        meter.text_bytes = self.made_bytes;
        meter.decompress_ns = self.decode_ns;
    }
}
