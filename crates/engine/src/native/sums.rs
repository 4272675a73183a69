//! Sums of rows as they are sent, which the destination compares with those that it makes of the rows that it has stored.

pub use crate::verify::column_sums::ColumnSums;
pub use crate::verify::driver_sums::{BatchSums, DriverSums};
pub use crate::verify::error::Difference;
pub use crate::verify::plan::VerifyPlan;
pub use crate::verify::tally::Tally;
