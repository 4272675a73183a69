//! The ends of PostgreSQL's types, in the units that batches carry; those of timestamps stand in
//! [`timestamp`](inrush_rows::timestamp).

/// Days from 1970-01-01 to PostgreSQL's own epoch, 2000-01-01.
pub const POSTGRES_EPOCH_DAYS: i32 = 10_957;

/// The first date, 4714-11-24 BC (Julian day 0), in days since 1970-01-01.
pub const DATE_DAYS_MIN: i32 = -2_451_545 + POSTGRES_EPOCH_DAYS;

/// The last date, 5874897-12-31, in days since 1970-01-01.
pub const DATE_DAYS_MAX: i32 = 2_147_483_493 - 2_451_545 + POSTGRES_EPOCH_DAYS;

/// The last time of day, 24:00:00, in microseconds since midnight.
pub const TIME_MICROSECONDS_MAX: i64 = 86_400_000_000;

/// Digits of a `numeric` before the point, leading zeros not counted: its weight is an
/// int16 that counts groups of four digits.
pub const NUMERIC_DIGITS_BEFORE_POINT_MAX: usize = 131_072;

/// Digits of a `numeric` after the point: its display scale has 14 bits.
pub const NUMERIC_DIGITS_AFTER_POINT_MAX: usize = 16_383;

/// Bytes of one field: the server makes no value of 1 GiB or more, its header included.
pub const FIELD_BYTES_MAX: u32 = 0x3fff_fffb;

/// Columns of a table: a tuple's field count is an int16, and no table has even 1601.
pub const COLUMNS_MAX: usize = i16::MAX as usize;
