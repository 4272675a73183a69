//! Rows of a batch that a destination did not take, each with its reason.

use arrow_array::RecordBatch;
use inrush_rows::reject::RejectCode;

/// The outcome of writing a batch: rows before [`rest`](Written::rest) that are not listed were taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows with a value that the destination cannot hold, in the order of the batch.
    pub misfits: Vec<Misfit>,
    /// Rows that the destination refused because of its constraints or existing rows, in the order of the batch. None
    /// of them is a misfit. Only a unit that was begun with [`LoadMethod::Careful`](crate::LoadMethod::Careful) has
    /// such rows.
    pub refused: Vec<RefusedRow>,
    /// The first row that was not handled, if the destination stopped before the last one; it is larger than 0. The
    /// engine counts the rows that were not taken, and calls again with the rest of the batch. So a careful load ends
    /// soon after the limit of rejects is exceeded.
    pub rest: Option<usize>,
}

impl Written {
    /// The number of rows that were not taken.
    pub fn not_taken(&self) -> usize {
        self.misfits.len() + self.refused.len()
    }
}

/// A row of a batch that a destination cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its place in the batch, counted from 0.
    pub row: usize,
    /// The column at fault, by its index.
    pub column: usize,
    /// The fault, the likely cause and the fix: the end of a sentence that begins with the value.
    pub reason: String,
}

/// A row of a batch that the destination refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedRow {
    /// Its place in the batch, counted from 0.
    pub row: usize,
    /// The column at fault by its index, if it is one column.
    pub column: Option<usize>,
    /// The kind of fault.
    pub code: RejectCode,
    /// The fault, the likely cause and the fix, in the destination's own words if it reports them.
    pub reason: String,
}

/// A batch in a destination's own Arrow types.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// The rows that fit.
    pub batch: RecordBatch,
    /// The values that do not fit, in the order of their rows.
    pub misfits: Vec<Misfit>,
}
