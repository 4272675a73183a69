//! Infinite intervals, which PostgreSQL has from version 17 on.
//!
//! There they are the two intervals of which all parts are the largest, or all the smallest, and in binary form nothing
//! else tells them from finite ones. To a server before version 17 these two are finite, the ends of its range.

/// Months, days and microseconds of `infinity`.
pub const INFINITY: (i32, i32, i64) = (i32::MAX, i32::MAX, i64::MAX);

/// Months, days and microseconds of `-infinity`.
pub const MINUS_INFINITY: (i32, i32, i64) = (i32::MIN, i32::MIN, i64::MIN);
