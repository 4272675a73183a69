//! Sums over the rows that are sent, as the destination defines them.

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use inrush_destination::sums::ExactSum;

/// The sums that a destination computes over each split, for comparison with the sums that its database computes over
/// the same rows. The ledger keeps them together with the engine's own sums.
pub trait DestinationSums: fmt::Debug + Send + Sync {
    /// The number of sums.
    fn count(&self) -> usize;

    /// Creates an adder. It may keep memory from batch to batch.
    fn begin(self: Arc<Self>) -> Box<dyn BatchSums>;
}

/// Adds batch after batch to sums.
pub trait BatchSums: fmt::Debug + Send {
    /// Adds the rows of a batch to sums, of which there are [`DestinationSums::count`].
    fn add(&mut self, batch: &RecordBatch, sums: &mut [ExactSum]);
}
