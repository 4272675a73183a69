//! What the steps did with the rows of a batch.

use arrow_array::{BooleanArray, RecordBatch};
use serde::{Deserialize, Serialize};

/// The rows of a batch after all steps.
#[derive(Debug)]
pub struct Stepped {
    /// The rows that are left, with the columns of the flow and then the derived ones.
    pub batch: RecordBatch,
    /// For each row that went in, whether it is left; `None` if all are.
    pub kept: Option<BooleanArray>,
    /// The rows that a step rejects, in their order.
    pub faults: Vec<RowFault>,
    /// What each step counted, in the order of the steps.
    pub counts: Vec<StepCount>,
    /// Keys that a lookup did not find, one for each row, with the index of the step.
    pub unmatched_keys: Vec<(usize, String)>,
    /// Bytes of the columns that the steps added, also for rows that are not left.
    pub added_bytes: usize,
}

/// What a step counted. `rows_in = rows_out + filtered + rejected`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCount {
    /// Rows that reached the step.
    pub rows_in: u64,
    /// Rows that a condition did not keep, or whose key an earlier row has.
    pub filtered: u64,
    /// Rows that became faults.
    pub rejected: u64,
    /// Rows that failed a check and are loaded nevertheless.
    pub warned: u64,
    /// Rows whose key is not in the reference of a lookup, rejected or not.
    #[serde(default)]
    pub unmatched: u64,
}

impl StepCount {
    /// Rows that left the step.
    pub fn rows_out(&self) -> u64 {
        self.rows_in - self.filtered - self.rejected
    }

    /// Adds the counts of another batch.
    pub fn add(&mut self, other: &StepCount) {
        self.rows_in += other.rows_in;
        self.filtered += other.filtered;
        self.rejected += other.rejected;
        self.warned += other.warned;
        self.unmatched += other.unmatched;
    }
}

/// A row that a step rejects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// Its index among the rows that went in.
    pub row: usize,
    /// The index of the step, counted from 0.
    pub step: usize,
    /// The column: the derived one, or the only one that the condition names.
    pub column: Option<String>,
    /// The values of the columns that the expression names: the value alone, or `a = 1, b = 2` of several.
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
