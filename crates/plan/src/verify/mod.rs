//! Verification: computes counts and sums over the rows while they are loaded, and compares them with the database and
//! with the numbers that came with the files. They must agree before anything is switched in.
//!
//! The loader's sums are computed over the converted columns (a [`Tally`]), before anything is encoded, so they detect
//! a fault of an encoder, of the network or of the database's storage. This module computes the count of rows, and the
//! sums of numbers that a trailer, a control file or the package promises. A destination compares other sums with its
//! database through [`DestinationSums`]. All sums are exact ([`ExactSum`]), whatever their size.

pub mod column_sums;
pub mod destination_sums;
pub mod error;
pub mod plan;
pub mod tally;

pub use column_sums::ColumnSums;
pub use destination_sums::{BatchSums, DestinationSums};
pub use error::VerifyError;
pub use inrush_destination::sums::ExactSum;
pub use plan::VerifyPlan;
pub use tally::Tally;
