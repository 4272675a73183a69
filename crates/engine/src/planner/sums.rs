//! Sums of the rows that are sent. The destination compares them with its own sums of the stored rows.

pub use crate::verify::column_sums::ColumnSums;
pub use crate::verify::driver_sums::{BatchSums, DriverSums};
pub use crate::verify::plan::VerifyPlan;
pub use crate::verify::tally::Tally;
