//! The rows of a part of a table, a few at a time, checked against the footer.

use std::fs::File;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::RecordBatch;
use inrush_rows::typed_rows::{TypedColumn, TypedRows, is_readable};
use inrush_source::SourceError;
use inrush_source::{SourceMeter, nanoseconds_since};

use super::{Batches, TableFile, guarded};
use crate::source_file::SourceFile;
use crate::stored::check_unchanged;

/// The number of rows of a batch: as many as the converters convert at a time.
const BATCH_ROWS: u64 = 1024;
/// The number of bytes of a batch of long rows.
const BATCH_BYTES: u64 = 1 << 20;

/// The rows of the groups that begin in a byte range of a table.
pub(super) struct TableRows {
    pub(super) file: Arc<SourceFile>,
    pub(super) table: Arc<TableFile>,
    stored: File,
    batches: Batches,
    /// The fields of a row, each with its index in a batch; `None` for a field that cannot be written as text.
    places: Vec<Option<usize>>,
    pub(super) first_row: u64,
    row_count: u64,
    rows_left: u64,
    stored_bytes: u64,
    decode_ns: u64,
    pub(super) is_done: bool,
}

impl TableRows {
    pub(super) fn open(
        file: &Arc<SourceFile>,
        table: &Arc<TableFile>,
        range: &Range<u64>,
    ) -> Result<TableRows, SourceError> {
        let unreadable = |cause| SourceError::Unreadable {
            path: file.path.to_path_buf(),
            cause,
        };
        let stored = File::open(&file.path).map_err(unreadable)?;
        check_unchanged(&stored, file)?;
        let groups = table.groups_in(range);
        let own = &table.groups[groups.clone()];
        let first_row = own.first().map_or(0, |group| group.first_row);
        let row_count: u64 = own.iter().map(|group| group.row_count).sum();
        let decoded: u64 = own.iter().map(|group| group.decoded_bytes).sum();
        let row_bytes = (decoded / row_count.max(1)).max(1);
        let batch_rows = (BATCH_BYTES / row_bytes).clamp(1, BATCH_ROWS);
        let reading = stored.try_clone().map_err(unreadable)?;
        let batches = table.batches(reading, groups, batch_rows as usize);
        let batches = batches.map_err(|reason| super::damaged(&file.path, table.kind, reason))?;
        let mut next = 0;
        let places = table.fields.iter().map(|field| {
            field.is_readable().then(|| {
                next += 1;
                next - 1
            })
        });
        Ok(TableRows {
            places: places.collect(),
            file: Arc::clone(file),
            table: Arc::clone(table),
            stored,
            batches,
            first_row,
            row_count,
            rows_left: row_count,
            stored_bytes: range.end - range.start,
            decode_ns: 0,
            is_done: false,
        })
    }

    /// The next rows; `None` at the end, where the file is compared with the plan.
    pub(super) fn next(&mut self) -> Result<Option<TypedRows>, SourceError> {
        if self.file.is_stop_asked() {
            return Err(SourceError::Stopped {
                path: self.file.path.to_path_buf(),
            });
        }
        let begun = Instant::now();
        let next = guarded(|| self.batches.next().transpose());
        self.decode_ns += nanoseconds_since(begun);
        let Some(batch) = next.map_err(|reason| self.failed(reason))? else {
            self.end()?;
            return Ok(None);
        };
        let rows = batch.num_rows() as u64;
        self.rows_left = self
            .rows_left
            .checked_sub(rows)
            .ok_or_else(|| self.failed("it has more rows than its footer says".to_owned()))?;
        self.typed(&batch).map(Some)
    }

    fn typed(&self, batch: &RecordBatch) -> Result<TypedRows, SourceError> {
        let fields = self.table.fields.iter().zip(&self.places);
        let columns = fields.map(|(field, place)| {
            let values = match place {
                None => None,
                Some(place) => {
                    let found = batch.columns().get(*place);
                    let found = found.filter(|column| is_readable(column.data_type()));
                    Some(found.cloned().ok_or_else(|| {
                        self.failed(format!(
                            "its column `{}` is not what its footer says",
                            field.name
                        ))
                    })?)
                }
            };
            Ok(TypedColumn {
                values,
                is_uuid: field.is_uuid,
            })
        });
        Ok(TypedRows {
            columns: columns.collect::<Result<_, SourceError>>()?,
            row_count: batch.num_rows(),
            content: Vec::new(),
            bytes_count: 0,
            faults: Vec::new(),
        })
    }

    fn end(&mut self) -> Result<(), SourceError> {
        self.is_done = true;
        check_unchanged(&self.stored, &self.file)?;
        match self.rows_left {
            0 => Ok(()),
            left => Err(self.failed(format!("{left} rows fewer than its footer says"))),
        }
    }

    /// The error of a read. A file that is still being written looks like a damaged one.
    pub(super) fn failed(&self, reason: String) -> SourceError {
        match self.check_unchanged() {
            Err(changed) => changed,
            Ok(()) => super::damaged(&self.file.path, self.table.kind, reason),
        }
    }

    /// Checks that the file has not changed since it was planned.
    pub(super) fn check_unchanged(&self) -> Result<(), SourceError> {
        check_unchanged(&self.stored, &self.file)
    }

    /// Adds the cost of reading so far. The bytes of the part are estimated by its share of the file's rows, because
    /// columns are stored one after the other. Reading and decoding are not measured separately.
    pub(super) fn add_to(&self, meter: &mut SourceMeter) {
        let read = u128::from(self.row_count - self.rows_left);
        meter.stored_bytes = match self.is_done {
            true => self.stored_bytes,
            false => {
                (u128::from(self.stored_bytes) * read / u128::from(self.row_count.max(1))) as u64
            }
        };
        meter.decompress_ns = self.decode_ns;
    }
}
