//! Infinite intervals, which PostgreSQL has from version 17 on.
//!
//! They are the two intervals whose parts are all the largest, or all the smallest, values; nothing else in the binary
//! form distinguishes them. To a server before version 17 these two are finite: the ends of its range.

/// Months, days and microseconds of `infinity`.
pub const INFINITY: (i32, i32, i64) = (i32::MAX, i32::MAX, i64::MAX);

/// Months, days and microseconds of `-infinity`.
pub const MINUS_INFINITY: (i32, i32, i64) = (i32::MIN, i32::MIN, i64::MIN);
