//! `verify = "sums"` and `"rows"`: compares the rows that the server stores with the rows that were sent, in the server's own
//! terms. Its hash of a record, the form in which it stores a number, its text of `jsonb` and the day it counts from are made
//! here once more, so that a fault of the encoder is not repeated.
//!
//! [`query`] asks the server, the engine's `ColumnSums` and [`rows`] make our side, column by column as `ColumnForm` says,
//! and [`plan`] tells the engine how many sums there are and compares both sides.

mod hash;
mod jsonb;
mod numeric;
mod plan;
mod query;
mod rows;

pub use plan::{ComparedColumn, Comparison};
pub use query::{by_column, compared, self_test};

#[cfg(test)]
mod tests;
