//! The outcome of the steps for the rows of a batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};
use serde::{Deserialize, Serialize};

use crate::spec::InputColumn;

/// The rows of a batch after all steps.
#[derive(Debug)]
pub struct Stepped {
    /// The rows that are left. The columns of the flow come first, then the derived columns.
    pub batch: RecordBatch,
    /// The origin of each row: the index of its input row, multiplied by `fan_out`, plus its own index among the rows
    /// that were made of the input row. `None` if the rows are the input rows, each once.
    pub origins: Option<Vec<u64>>,
    /// The most rows that are made of an input row.
    pub fan_out: u64,
    /// The rows that a step rejects, in their order.
    pub faults: Vec<RowFault>,
    /// What each step counted, in the order of the steps.
    pub counts: Vec<StepCount>,
    /// Keys that a lookup did not find, one for each row, with the index of the step.
    pub unmatched_keys: Vec<(usize, String)>,
    /// Bytes of the columns that the steps added, including rows that were dropped.
    pub added_bytes: usize,
}

impl Stepped {
    /// The index of the input row from which this row was made, and the index of this row among all rows that were made
    /// of it.
    pub fn origin(&self, row: usize) -> (usize, u64) {
        origin(self.origins.as_deref(), self.fan_out, row)
    }
}

/// The result of [`Stepped::origin`].
pub fn origin(origins: Option<&[u64]>, fan_out: u64, row: usize) -> (usize, u64) {
    match origins {
        None => (row, 0),
        Some(origins) => ((origins[row] / fan_out) as usize, origins[row] % fan_out),
    }
}

/// The origins of the rows that are kept.
pub(crate) fn origins_of(kept: &BooleanArray) -> Vec<u64> {
    let rows = kept.values().set_indices();
    rows.map(|row| row as u64).collect()
}

/// A batch with more columns.
pub(crate) fn with_columns<'a>(
    batch: &RecordBatch,
    columns: impl IntoIterator<Item = &'a InputColumn>,
    values: Vec<ArrayRef>,
) -> Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let added = columns.into_iter().map(|column| {
        let data_type = column.column_type.arrow();
        Arc::new(Field::new(&column.name, data_type, true))
    });
    let fields: Vec<_> = schema.fields().iter().cloned().chain(added).collect();
    let values = batch.columns().iter().cloned().chain(values).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), values, &options)
}

/// What a step counted. `rows_in + added = rows_out + filtered + rejected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCount {
    /// Rows that reached the step.
    pub rows_in: u64,
    /// Rows that do not fulfil a condition, or that have the key of an earlier row.
    pub filtered: u64,
    /// Rows that became faults.
    pub rejected: u64,
    /// Rows that failed a check and are loaded nevertheless.
    pub warned: u64,
    /// Rows whose key is not in the reference of a lookup, rejected or not.
    #[serde(default)]
    pub unmatched: u64,
    /// Rows that the step made in addition to the rows that reached it.
    #[serde(default)]
    pub added: u64,
}

impl StepCount {
    /// Rows that left the step.
    pub fn rows_out(&self) -> u64 {
        self.rows_in + self.added - self.filtered - self.rejected
    }

    /// Adds the counts of another batch.
    pub fn add(&mut self, other: &StepCount) {
        self.rows_in += other.rows_in;
        self.filtered += other.filtered;
        self.rejected += other.rejected;
        self.warned += other.warned;
        self.unmatched += other.unmatched;
        self.added += other.added;
    }
}

/// A row that a step rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// Its index among the rows that went in.
    pub row: usize,
    /// The index of the step, counted from 0.
    pub step: usize,
    /// The derived column or, for a condition, the only column that it names.
    pub column: Option<String>,
    /// The values of the columns that the expression names: the value alone, or `a = 1, b = 2` for several columns.
    pub value: Option<String>,
    /// The kind of fault.
    pub kind: FaultKind,
    /// The fault, in words.
    pub reason: String,
}

/// The kind of a row's fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An expression failed for the row.
    Expression,
    /// The row fails a check.
    Check,
    /// The row fails a check, and with it the load.
    FatalCheck,
    /// A value does not exist in DuckDB, or a result does not exist in batches.
    OutOfRange,
    /// A text with a NUL byte.
    NulByte,
    /// Its key is not in the reference of a lookup.
    Unmatched,
}
