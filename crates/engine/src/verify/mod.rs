//! Verification: computes counts and sums over the rows while they are loaded, and compares them with the database and
//! with the numbers that came with the files. They must agree before anything is switched in.
//!
//! The loader's sums are computed over the converted columns (a [`Tally`]), before anything is encoded, so they detect
//! a fault of an encoder, of the network or of the database's storage. This module has the count of rows and the sums
//! of numbers that a trailer, a control file or the package promises; a driver's own comparisons with its database are
//! behind [`DriverSums`]. All sums are exact ([`ExactSum`]), whatever their size.

mod column_sums;
mod driver_sums;
mod error;
mod plan;
mod tally;

pub use column_sums::ColumnSums;
pub use driver_sums::{BatchSums, DriverSums};
pub use error::{Difference, VerifyError};
pub use inrush_destination::sums::{ColumnForm, ExactSum, SumForm, add_count, whole};
pub use inrush_source::ContentHash;
pub use plan::{VerifyColumn, VerifyPlan};
pub use tally::Tally;
