//! Batches as JSON: an object for each row, each on its own line.
//!
//! A NULL is left out. Numbers have all their digits, however many: a reader must not read them as 64-bit floats.

use std::io;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use inrush_destination::{ColumnPlan, Error, Misfit, Result};
use inrush_rows::column_type::ColumnType;
use inrush_rows::timestamp;
use inrush_rows::typed_rows::Cells;

/// Writes the rows of batches with these columns.
pub struct RowWriter {
    columns: Vec<Column>,
}

struct Column {
    /// `"name":`
    key: String,
    plan: ColumnPlan,
}

/// A column of one batch.
enum Values {
    /// The text is a JSON number.
    Plain(Cells),
    /// The text is `t` or `f`.
    Bool(Cells),
    Quoted(Cells),
    /// Decimals of any size: their digits.
    Digits(StringViewArray),
    Text(StringViewArray),
}

impl RowWriter {
    pub fn new(columns: &[ColumnPlan]) -> RowWriter {
        let column = |plan: &ColumnPlan| Column {
            key: format!("{}:", serde_json::Value::from(plan.name.as_str())),
            plan: plan.clone(),
        };
        RowWriter {
            columns: columns.iter().map(column).collect(),
        }
    }

    /// Appends the rows that fit, and returns the values that do not. Except for the first row of a file, a comma is
    /// written before each row.
    pub fn append(
        &self,
        batch: &RecordBatch,
        is_first: &mut bool,
        out: &mut Vec<u8>,
    ) -> Result<Vec<Misfit>> {
        let mut values = Vec::with_capacity(self.columns.len());
        for (column, array) in self.columns.iter().zip(batch.columns()) {
            values.push(column.values(array)?);
        }
        let mut misfits = Vec::new();
        for row in 0..batch.num_rows() {
            let misfit = self
                .columns
                .iter()
                .zip(batch.columns())
                .enumerate()
                .find_map(|(index, (column, array))| Some((index, column.misfit(array, row)?)));
            if let Some((column, reason)) = misfit {
                misfits.push(Misfit {
                    row,
                    column,
                    reason,
                });
                continue;
            }
            out.extend_from_slice(if *is_first { b"\n{" } else { b",\n{" });
            *is_first = false;
            let mut is_first_field = true;
            for ((column, array), values) in self.columns.iter().zip(batch.columns()).zip(&values) {
                if array.is_null(row) {
                    column.check_null()?;
                    continue;
                }
                if !is_first_field {
                    out.push(b',');
                }
                is_first_field = false;
                out.extend_from_slice(column.key.as_bytes());
                values.append(row, out)?;
            }
            out.push(b'}');
        }
        Ok(misfits)
    }
}

impl Column {
    fn values(&self, array: &ArrayRef) -> Result<Values> {
        let cells = || {
            Cells::of(array, false).ok_or_else(|| Error::Unsuitable {
                what: format!(
                    "column {:?} comes as {}, which has no text",
                    self.plan.name,
                    array.data_type()
                ),
                hint: "report this as a bug: the plan should have refused the column".to_owned(),
            })
        };
        Ok(match self.plan.column_type {
            ColumnType::Bool => Values::Bool(cells()?),
            ColumnType::Date | ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. } => {
                Values::Quoted(cells()?)
            }
            ColumnType::DecimalText { .. } => Values::Digits(array.as_string_view().clone()),
            ColumnType::Text { .. } => Values::Text(array.as_string_view().clone()),
            _ => Values::Plain(cells()?),
        })
    }

    /// Why a value has no counterpart.
    fn misfit(&self, array: &ArrayRef, row: usize) -> Option<String> {
        if array.is_null(row) {
            return None;
        }
        match self.plan.column_type {
            ColumnType::Float64 if !array.as_primitive::<Float64Type>().value(row).is_finite() => {
                Some("is not a number in JSON, which has neither NaN nor infinities; load it as text, or as NULL".to_owned())
            }
            ColumnType::Date if matches!(array.as_primitive::<Date32Type>().value(row), i32::MIN | i32::MAX) => {
                Some("is a date that this destination cannot store; load it as text, or as NULL".to_owned())
            }
            ColumnType::Timestamp { .. } | ColumnType::TimestampTz { .. }
                if !timestamp::is_plain(array.as_primitive::<TimestampMicrosecondType>().value(row)) =>
            {
                Some("is later than this destination can store; load it as text, or as NULL".to_owned())
            }
            _ => None,
        }
    }

    fn check_null(&self) -> Result<()> {
        match self.plan.nullable {
            true => Ok(()),
            false => Err(Error::Refused {
                doing: format!("writing column {:?}", self.plan.name),
                message: "a value is NULL, but the column in the catalog allows no NULL".to_owned(),
                hint: Some("allow NULL in the catalog, or give the column a value".to_owned()),
            }),
        }
    }
}

impl Values {
    fn append(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Values::Plain(cells) => cells.append(row, out),
            Values::Bool(cells) => {
                let start = out.len();
                cells.append(row, out);
                let is_true = out[start..] == *b"t";
                out.truncate(start);
                out.extend_from_slice(if is_true { b"true" } else { b"false" });
            }
            Values::Quoted(cells) => {
                out.push(b'"');
                cells.append(row, out);
                out.push(b'"');
            }
            Values::Digits(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            Values::Text(texts) => {
                serde_json::to_writer(out, texts.value(row)).map_err(|error| Error::File {
                    doing: "cannot write",
                    path: "a text as JSON".to_owned(),
                    source: io::Error::from(error),
                })?
            }
        }
        Ok(())
    }
}
