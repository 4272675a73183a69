//! Encodes batches into the bytes of a COPY, in the form that the plan chose.

use arrow_array::RecordBatch;
use inrush_pgcopy::{BinaryEncoder, EncodeError, TextEncoder};
use inrush_rows::column::{self, Column, ColumnType};

use crate::PostgresError;
use crate::plan::{FlowPlan, WireForm};

/// The encoder of a flow's wire form.
pub enum Encoder {
    /// Binary COPY.
    Binary(BinaryEncoder),
    /// COPY in text form.
    Text(TextEncoder),
}

impl Encoder {
    /// The encoder of a flow's wire form.
    pub fn new(flow: &FlowPlan) -> Encoder {
        match &flow.wire {
            WireForm::Binary(types) => Encoder::Binary(BinaryEncoder::new(types.clone())),
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
            Encoder::Binary(encoder) => encoder.check(&schema),
            Encoder::Text(encoder) => encoder.check(&schema),
        }
        .map_err(PostgresError::from)
    }

    /// The bytes before the first row of a COPY.
    pub fn begin(&self, block: &mut Vec<u8>) {
        match self {
            Encoder::Binary(encoder) => encoder.begin(block),
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
            Encoder::Binary(encoder) => encoder.encode(batch, block),
            Encoder::Text(encoder) => encoder.encode(batch, block),
        };
        encoded.map_err(PostgresError::from)
    }

    /// The bytes after the last row of a COPY.
    pub fn end(&self, block: &mut Vec<u8>) {
        match self {
            Encoder::Binary(encoder) => encoder.end(block),
            Encoder::Text(encoder) => encoder.end(block),
        }
    }
}

/// True if the server has no infinite intervals.
fn has_finite_intervals(column: &Column) -> bool {
    matches!(
        column.column_type,
        ColumnType::Interval {
            has_infinity: false,
            ..
        }
    )
}
