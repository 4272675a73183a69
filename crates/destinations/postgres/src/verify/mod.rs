//! `verify = "sums"` and `"rows"`: compares the rows that the server stores with the rows that were sent, in the
//! server's own terms. Its hash of a record, its stored form of a number, its text of `jsonb` and its first day are
//! implemented here a second time, so that a fault of the encoder is not repeated.
//!
//! [`query`] makes the queries for the server. The engine's `ColumnSums` and [`rows`] compute the loader's side, column
//! by column, according to `ColumnForm`. [`plan`] tells the engine how many sums there are, and compares both sides.

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
