//! Verification: computes counts and sums over the rows while they are loaded, and compares them with the database and
//! with the numbers that came with the files. They must agree before anything is switched in.
//!
//! The loader's sums are computed over the converted columns (a [`Tally`]), before anything is encoded, so they detect
//! a fault of an encoder, of the network or of the database's storage. This module computes the count of rows, and the
//! sums of numbers that a trailer, a control file or the package promises. A driver compares other sums with its
//! database through [`DriverSums`]. All sums are exact ([`ExactSum`]), whatever their size.

pub(crate) mod column_sums;
pub(crate) mod driver_sums;
pub(crate) mod error;
pub(crate) mod plan;
pub(crate) mod tally;

pub(crate) use column_sums::ColumnSums;
pub(crate) use driver_sums::DriverSums;
pub use error::VerifyError;
pub(crate) use inrush_destination::sums::ExactSum;
pub(crate) use plan::VerifyPlan;
pub(crate) use tally::Tally;
