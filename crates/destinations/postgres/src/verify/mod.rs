//! `verify = "sums"` and `"rows"`: what the server makes of the rows that it stores, and what we make of those that are
//! sent, in the server's own terms. Its hash of a record, the form in which it stores a number, the text that it makes of
//! `jsonb` and where it counts days from are made here once more, so that a fault of the encoder is not repeated.
//!
//! [`query`] asks the server, [`sums`] and [`rows`] make our side, column by column as [`form`] says, and [`plan`] tells
//! the rest of the library how many sums there are and holds both sides against each other.

mod form;
mod hash;
mod jsonb;
mod numeric;
mod plan;
mod query;
mod rows;
mod sums;

pub use form::ColumnForm;
pub use plan::{ComparedColumn, Comparison};
pub use query::{by_column, compared, self_test};

#[cfg(test)]
mod tests;
