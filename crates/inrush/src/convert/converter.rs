//! The converter: records of a chunk in, a record batch and its rejects out.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use inrush_scan::{Dialect, MissingFields, Records};

use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::fields::{GatherInput, Gatherer};
use super::kernel::Fault;
use super::key::{self, KeyBounds};
use super::rows::{self, PendingReject, Row, Selected};
use crate::chunk::{CHUNK_PADDING_BYTES, Chunk};
use crate::column::{Column, schema};
use crate::reject::{Reject, RejectCode};

/// Makes record batches of the columns' types from the records of chunks. One per stream; its
/// memory is used again from batch to batch.
pub struct Converter {
    columns: Vec<ColumnState>,
    schema: SchemaRef,
    dialect: Dialect,
    field_count: usize,
    key_bounds: Option<KeyBounds>,
    gatherer: Gatherer,
    rows: Vec<Row>,
    is_bad: Vec<bool>,
    pending: Vec<PendingReject>,
}

struct ColumnState {
    name: Arc<str>,
    nullable: bool,
    field_index: usize,
    converter: ColumnConverter,
}

/// A row that does not fit: its place in the batch, the first column at fault and why.
struct BadRow {
    row: usize,
    column_index: usize,
    error: ValueError,
}

/// What all columns of a batch share.
struct Batch<'a> {
    chunk: &'a Chunk,
    records: &'a Records,
    selected: Selected,
    any_nul: bool,
}

impl Converter {
    /// A converter for records of `field_count` fields.
    pub fn new(
        columns: &[Column],
        dialect: &Dialect,
        field_count: usize,
    ) -> Result<Converter, ConvertError> {
        let states = columns
            .iter()
            .map(|column| {
                if column.field_index >= field_count {
                    return Err(ConvertError::FieldMissing {
                        column: column.name.clone(),
                        field_number: column.field_index + 1,
                        field_count,
                    });
                }
                Ok(ColumnState {
                    name: Arc::from(column.name.as_str()),
                    nullable: column.nullable,
                    field_index: column.field_index,
                    converter: ColumnConverter::new(column)?,
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Converter {
            columns: states,
            schema: Arc::new(schema(columns)),
            dialect: dialect.clone(),
            field_count,
            key_bounds: None,
            gatherer: Gatherer::default(),
            rows: Vec::new(),
            is_bad: Vec::new(),
            pending: Vec::new(),
        })
    }

    /// Rows whose key lies outside of `bounds` become rejects from now on.
    ///
    /// # Panics
    ///
    /// Where the bounds' column does not exist or their type is not the column's.
    pub fn with_key_bounds(mut self, bounds: KeyBounds) -> Converter {
        let state = &self.columns[bounds.column_index];
        assert!(
            bounds.fits(&state.converter),
            "the bounds of a key have the type of its column"
        );
        self.key_bounds = Some(bounds);
        self
    }

    /// The schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Converts the records `range`. Rows that do not fit are left out of the batch and
    /// appended to `rejects`, in the order of the records.
    ///
    /// # Panics
    ///
    /// Where `records` is not what a scan found in `chunk`, or the chunk has no padding.
    pub fn convert(
        &mut self,
        chunk: &Chunk,
        records: &Records,
        range: Range<usize>,
        rejects: &mut Vec<Reject>,
    ) -> RecordBatch {
        assert!(
            chunk.bytes.len() >= chunk.bytes_count + CHUNK_PADDING_BYTES,
            "a chunk has {CHUNK_PADDING_BYTES} bytes of padding"
        );
        assert!(
            chunk.bytes.len() <= i32::MAX as usize,
            "a chunk is small enough for the offsets of views"
        );
        let any_nul = holds_nul(chunk, records, &range);
        let selected = rows::select(
            chunk,
            records,
            range,
            &self.dialect,
            self.field_count,
            &mut self.rows,
            &mut self.pending,
        );
        let batch = Batch {
            chunk,
            records,
            selected,
            any_nul,
        };
        let mut bad_rows = Vec::new();
        let mut arrays = self.arrays(&batch, &mut bad_rows);
        if !bad_rows.is_empty() {
            self.drop_rows(&batch, bad_rows);
            let mut none = Vec::new();
            arrays = self.arrays(&batch, &mut none);
            assert!(none.is_empty(), "a row that did fit fits again");
        }
        if !self.pending.is_empty() {
            self.pending.sort_by_key(|pending| pending.record);
            rejects.extend(self.pending.drain(..).map(|pending| pending.reject));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows.len()));
        RecordBatch::try_new_with_options(self.schema(), arrays, &options)
            .expect("arrays of the schema's types, all of one length")
    }

    /// The arrays of all columns over the selected rows. At most one bad row is noted for each
    /// row: its first column at fault.
    fn arrays(&mut self, batch: &Batch<'_>, bad_rows: &mut Vec<BadRow>) -> Vec<ArrayRef> {
        let Converter {
            columns,
            dialect,
            key_bounds,
            gatherer,
            rows,
            is_bad,
            ..
        } = self;
        is_bad.clear();
        is_bad.resize(rows.len(), false);
        let input = GatherInput {
            text: batch.chunk.bytes.as_slice(),
            bytes_count: batch.chunk.bytes_count,
            records: batch.records,
            rows,
            dialect,
            selected: batch.selected,
            any_nul: batch.any_nul,
        };
        let mut faults: Vec<Fault> = Vec::new();
        let mut arrays = Vec::with_capacity(columns.len());
        for (column_index, column) in columns.iter().enumerate() {
            let fields = gatherer.gather(&input, column.field_index, &mut faults);
            if fields.null_count > 0 && !column.nullable {
                let nulls = (0..rows.len()).filter(|row| fields.spans[*row].is_null());
                faults.extend(nulls.map(|row| Fault {
                    row,
                    error: null_error(dialect),
                }));
            }
            let output = column.converter.array(&fields, &mut faults);
            let array = output.finish(&batch.chunk.bytes, gatherer);
            if let Some(bounds) = key_bounds
                && bounds.column_index == column_index
            {
                key::check_bounds(bounds, &array, &mut faults);
            }
            for fault in faults.drain(..) {
                if !std::mem::replace(&mut is_bad[fault.row], true) {
                    bad_rows.push(BadRow {
                        row: fault.row,
                        column_index,
                        error: fault.error,
                    });
                }
            }
            arrays.push(array);
        }
        arrays
    }

    /// Makes rejects of the bad rows and takes them out of the selection.
    fn drop_rows(&mut self, batch: &Batch<'_>, bad_rows: Vec<BadRow>) {
        for bad in bad_rows {
            let record = self.rows[bad.row].record;
            let column = &self.columns[bad.column_index];
            let end = batch.records.records[record as usize].end as usize;
            let field = batch
                .records
                .field_if_present(record as usize, column.field_index)
                .unwrap_or(end..end);
            self.pending.push(PendingReject {
                record,
                reject: rows::reject(
                    batch.chunk,
                    batch.records,
                    record,
                    Some((&column.name, field)),
                    bad.error,
                ),
            });
        }
        let mut is_bad = self.is_bad.iter();
        self.rows
            .retain(|_| !is_bad.next().expect("a flag for every row"));
    }
}

/// Whether the text of these records holds a NUL byte: looked for once a batch, so that the
/// columns need not.
fn holds_nul(chunk: &Chunk, records: &Records, range: &Range<usize>) -> bool {
    let records = &records.records[range.clone()];
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return false;
    };
    let text = &chunk.text()[first.start as usize..last.end as usize];
    // Without a way out in the middle of a block the compiler makes vectors of it.
    text.chunks(256)
        .any(|block| block.iter().fold(false, |found, byte| found | (*byte == 0)))
}

fn null_error(dialect: &Dialect) -> ValueError {
    let is_one = dialect.nulls.len() == 1;
    let marker = match dialect.nulls.first().map(String::as_str) {
        _ if dialect.missing_fields == MissingFields::Null => {
            "this field, or its absence,".to_owned()
        }
        Some("") if is_one && dialect.null_quoted => "an empty field".to_owned(),
        Some("") if is_one => "an empty unquoted field".to_owned(),
        Some(marker) if is_one && dialect.null_quoted => format!("the field {marker}"),
        Some(marker) if is_one => format!("the unquoted field {marker}"),
        Some(_) => "this field".to_owned(),
        None => "NULL".to_owned(),
    };
    ValueError::new(
        RejectCode::NullNotAllowed,
        format!(
            "{marker} means NULL in this format, and the column allows none; mend the row, set \
             another `null` in the format, or let the column be nullable"
        ),
    )
}
