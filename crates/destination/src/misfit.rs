//! Values that a destination has no counterpart for.

use arrow_array::RecordBatch;

/// A row of a batch that a destination cannot hold as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Its place in the batch.
    pub row: usize,
    /// The column at fault, by its place.
    pub column: usize,
    /// The fault, the likely cause and the fix: the end of a sentence that begins with the value.
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
