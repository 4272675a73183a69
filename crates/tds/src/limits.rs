//! The ranges of SQL Server's types, in the units of batches.

use inrush_rows::calendar::{DAY_MICROSECONDS, days_from_civil};

/// The most columns of a description: SQL Server's limit for a SELECT.
pub const COLUMNS_MAX: usize = 4096;

/// The first date, 0001-01-01, in days since 1970-01-01.
pub const DATE_DAYS_MIN: i32 = days_from_civil(1, 1, 1) as i32;

/// The last date, 9999-12-31, in days since 1970-01-01.
pub const DATE_DAYS_MAX: i32 = days_from_civil(9999, 12, 31) as i32;

/// The last time of day in a batch, 23:59:59.999999, in microseconds since midnight. 24:00:00 is not possible.
pub const TIME_MICROSECONDS_MAX: i64 = DAY_MICROSECONDS - 1;

/// The first moment of `datetime2`, in microseconds since 1970-01-01.
pub const DATETIME2_MIN: i64 = DATE_DAYS_MIN as i64 * DAY_MICROSECONDS;

/// The last moment of `datetime2` in a batch, 9999-12-31 23:59:59.999999.
pub const DATETIME2_MAX: i64 = (DATE_DAYS_MAX as i64 + 1) * DAY_MICROSECONDS - 1;

/// Day 0 of `datetime` and `smalldatetime`, 1900-01-01, in days since 1970-01-01.
pub const DATETIME_EPOCH_DAYS: i64 = days_from_civil(1900, 1, 1);

/// The first moment of `datetime`, 1753-01-01.
pub const DATETIME_MIN: i64 = days_from_civil(1753, 1, 1) * DAY_MICROSECONDS;

/// The last moment of `datetime`, 9999-12-31 23:59:59.997.
pub const DATETIME_MAX: i64 = DATETIME2_MAX - 2_999;

/// The first moment of `smalldatetime`, 1900-01-01.
pub const SMALLDATETIME_MIN: i64 = DATETIME_EPOCH_DAYS * DAY_MICROSECONDS;

/// The last moment of `smalldatetime`, 2079-06-06 23:59.
pub const SMALLDATETIME_MAX: i64 =
    (DATETIME_EPOCH_DAYS + u16::MAX as i64 + 1) * DAY_MICROSECONDS - 60_000_000;

/// The most bytes of a value of `varchar(max)`, `nvarchar(max)` and `varbinary(max)`: 2 GiB less one byte.
pub const MAX_TYPE_BYTES: u64 = i32::MAX as u64;

/// The most digits of a `decimal`.
pub const DECIMAL_PRECISION_MAX: u8 = 38;
