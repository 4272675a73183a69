//! Encodes batches into the bytes of a COPY, in the form that the plan chose.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use inrush_pgcopy::{BinaryEncoder, EncodeError, NativeShape, TextEncoder};
use inrush_rows::column::{self, Column, ColumnType};

use crate::PostgresError;
use crate::plan::{FlowPlan, WireForm};

/// The encoder of a flow's wire form.
pub enum Encoder {
    /// Binary COPY.
    Binary {
        /// Its encoder.
        encoder: BinaryEncoder,
        /// The columns whose values get the OIDs of this database, by their index.
        native_shapes: Vec<(usize, NativeShape)>,
    },
    /// COPY in text form.
    Text(TextEncoder),
}

impl Encoder {
    /// The encoder of a flow's wire form.
    pub fn new(flow: &FlowPlan) -> Encoder {
        match &flow.wire {
            WireForm::Binary(types) => Encoder::Binary {
                encoder: BinaryEncoder::new(types.clone()),
                native_shapes: flow.native_shapes.clone(),
            },
            WireForm::Text { .. } => {
                let encoder = TextEncoder::new();
                Encoder::Text(match flow.columns.iter().any(has_finite_intervals) {
                    true => encoder.with_finite_intervals(),
                    false => encoder,
                })
            }
        }
    }

    /// Refuses columns that it cannot encode.
    pub fn check(&self, flow: &FlowPlan) -> Result<(), PostgresError> {
        let schema = column::schema(&flow.columns);
        match self {
            Encoder::Binary { encoder, .. } => encoder.check(&schema),
            Encoder::Text(encoder) => encoder.check(&schema),
        }
        .map_err(PostgresError::from)
    }

    /// The bytes before the first row of a COPY.
    pub fn begin(&self, block: &mut Vec<u8>) {
        match self {
            Encoder::Binary { encoder, .. } => encoder.begin(block),
            Encoder::Text(encoder) => encoder.begin(block),
        }
    }

    /// Appends the rows of a batch.
    pub fn encode(
        &mut self,
        batch: &RecordBatch,
        block: &mut Vec<u8>,
    ) -> Result<(), PostgresError> {
        let encoded: Result<(), EncodeError> = match self {
            Encoder::Binary {
                encoder,
                native_shapes,
            } => match native_shapes.is_empty() {
                true => encoder.encode(batch, block),
                false => with_own_oids(batch, native_shapes)
                    .and_then(|batch| encoder.encode(&batch, block)),
            },
            Encoder::Text(encoder) => encoder.encode(batch, block),
        };
        encoded.map_err(PostgresError::from)
    }

    /// The bytes after the last row of a COPY.
    pub fn end(&self, block: &mut Vec<u8>) {
        match self {
            Encoder::Binary { encoder, .. } => encoder.end(block),
            Encoder::Text(encoder) => encoder.end(block),
        }
    }
}

/// The batch, in which the OIDs of the other database are replaced by the OIDs of this database.
fn with_own_oids(
    batch: &RecordBatch,
    shapes: &[(usize, NativeShape)],
) -> Result<RecordBatch, EncodeError> {
    let mut columns = batch.columns().to_vec();
    for (index, shape) in shapes {
        let made = shape.with_own_oids(columns[*index].as_binary_view());
        columns[*index] = Arc::new(made.map_err(|row| EncodeError::NotOfType {
            column: batch.schema_ref().field(*index).name().clone(),
            row,
        })?);
    }
    Ok(RecordBatch::try_new(batch.schema(), columns)
        .expect("columns of the same types and lengths"))
}

/// True if the column has intervals, and the server has no infinite intervals.
fn has_finite_intervals(column: &Column) -> bool {
    matches!(
        column.column_type,
        ColumnType::Interval {
            has_infinity: false,
            ..
        }
    )
}
