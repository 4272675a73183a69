//! The encoder of `COPY ... (FORMAT text)`.

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::column::{Column, has_text_form};
use crate::error::EncodeError;
use crate::limits::COLUMNS_MAX;

/// Encodes batches for `COPY ... (FORMAT text)` with its default delimiter and NULL.
///
/// For a stream, call [`begin`](Self::begin) once, [`encode`](Self::encode) for each batch and [`end`](Self::end) once;
/// each call appends to `out`. Each value is written by the Arrow type of its column; columns of a type without an
/// encoder are Utf8View.
#[derive(Clone, Debug, Default)]
pub struct TextEncoder {
    intervals_are_finite: bool,
}

impl TextEncoder {
    /// An encoder for any columns.
    pub fn new() -> Self {
        TextEncoder::default()
    }

    /// An encoder for a server before version 17, which has no infinite intervals: the values that stand for
    /// [them](inrush_rows::interval) are written as ordinary intervals.
    pub fn with_finite_intervals(self) -> Self {
        TextEncoder {
            intervals_are_finite: true,
        }
    }

    /// Checks that batches of this schema can be encoded.
    pub fn check(&self, schema: &Schema) -> Result<(), EncodeError> {
        let found = schema.fields().len();
        if found > COLUMNS_MAX {
            return Err(EncodeError::TooManyColumns { found });
        }
        match schema
            .fields()
            .iter()
            .find(|field| !has_text_form(field.data_type()))
        {
            None => Ok(()),
            Some(field) => Err(EncodeError::NoTextForm {
                column: field.name().clone(),
                found: field.data_type().clone(),
            }),
        }
    }

    /// Appends the beginning of a stream: nothing in this format.
    pub fn begin(&self, _out: &mut Vec<u8>) {}

    /// Appends the rows of a batch. If it fails, `out` is unchanged.
    pub fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let schema = batch.schema_ref();
        self.check(schema)?;
        let columns: Vec<Column<'_>> = batch
            .columns()
            .iter()
            .map(|array| Column::new(array, self.intervals_are_finite))
            .collect();
        let start = out.len();
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    out.push(b'\t');
                }
                if let Err(fault) = column.append(row, out) {
                    out.truncate(start);
                    return Err(fault.at(schema.field(index).name(), row));
                }
            }
            out.push(b'\n');
        }
        Ok(())
    }

    /// Appends the end of a stream, which is empty: text COPY in a file may end with `\.`, but in the protocol
    /// CopyDone ends the data.
    pub fn end(&self, _out: &mut Vec<u8>) {}
}
