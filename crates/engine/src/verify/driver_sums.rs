//! Sums that a driver makes of the rows that are sent, in terms that only it knows.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;

use super::exact::ExactSum;

/// What an engine sums up of each file range for what its database makes of the same rows to be held against. The
/// ledger keeps the sums with those that are made for every engine.
pub trait DriverSums: fmt::Debug + Send + Sync {
    /// How many sums there are.
    fn count(&self) -> usize;

    /// What makes them. It may keep memory from batch to batch.
    fn begin(self: Arc<Self>) -> Box<dyn BatchSums>;
}

/// Adds batch after batch to sums.
pub trait BatchSums: fmt::Debug + Send {
    /// Adds rows that are sent to sums of which there are [`DriverSums::count`].
    fn add(&mut self, batch: &RecordBatch, sums: &mut [ExactSum]);
}
