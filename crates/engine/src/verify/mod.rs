//! Verification: counts and sums are made of the rows while they pass, and must agree with those of the files' authors
//! and of the database before anything is switched in.
//!
//! Our side is made of the converted columns (a [`Tally`]), before anything is encoded, so that a fault of
//! an encoder, of the network or of the database's storage shows. Here are the count of rows and the sums of numbers that a
//! trailer, a control file or the package promises; a driver's own comparisons with its database stand behind
//! [`DriverSums`]. All sums are exact ([`ExactSum`]), whatever their size.

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
