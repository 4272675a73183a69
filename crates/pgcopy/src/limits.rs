//! The ranges of PostgreSQL's types, in the units of batches; the range of timestamps is in
//! [`timestamp`](inrush_rows::timestamp).

/// Days from 1970-01-01 to PostgreSQL's own epoch, 2000-01-01.
pub const POSTGRES_EPOCH_DAYS: i32 = 10_957;

/// The first date, 4714-11-24 BC (Julian day 0), in days since 1970-01-01.
pub const DATE_DAYS_MIN: i32 = -2_451_545 + POSTGRES_EPOCH_DAYS;

/// The last date, 5874897-12-31, in days since 1970-01-01.
pub const DATE_DAYS_MAX: i32 = 2_147_483_493 - 2_451_545 + POSTGRES_EPOCH_DAYS;

/// The last time of day, 24:00:00, in microseconds since midnight.
pub const TIME_MICROSECONDS_MAX: i64 = 86_400_000_000;

/// The most digits of a `numeric` before the point, without leading zeros: its weight is an int16 that counts groups of
/// four digits.
pub const NUMERIC_DIGITS_BEFORE_POINT_MAX: usize = 131_072;

/// The most digits of a `numeric` after the point: its display scale has 14 bits.
pub const NUMERIC_DIGITS_AFTER_POINT_MAX: usize = 16_383;

/// The most bytes of one field: the server stores no value of 1 GiB or more, including its header.
pub const FIELD_BYTES_MAX: u32 = 0x3fff_fffb;

/// The most columns of a table: a tuple's field count is an int16, and no table has more than 1600.
pub const COLUMNS_MAX: usize = i16::MAX as usize;
