//! What was read is what the database holds: counts, sums and hashes that both sides make of the
//! same rows, each by itself, and that must agree before anything is switched in.
//!
//! Our side is made of the converted columns (a [`Tally`]), before anything is encoded: a fault of
//! an encoder, of the wire or of the server's storage shows. The server's side is one query over
//! the staging table (`statements`), which reads what it stores and not what it was sent. Numbers
//! of both are exact ([`ExactSum`]), whatever their size.
//!
//! A column is summed up, and hashed, by its [`ColumnForm`], which the plan chooses once.

mod content;
mod error;
mod exact;
mod form;
mod hash;
mod jsonb;
mod numeric;
mod plan;
mod rows;
mod statements;
mod sums;
mod tally;

pub use content::ContentHash;
pub use error::{Difference, VerifyError};
pub use exact::ExactSum;
pub use form::ColumnForm;
pub use hash::self_test;
pub use plan::{VerifyColumn, VerifyPlan};
pub use tally::Tally;

#[cfg(test)]
mod tests;
