//! Column types that few databases have: PostgreSQL's own, whose values it cuts or rounds silently.
//!
//! This module and `column_type` depend on each other: a column's type may be a special one, and the elements of an
//! array, which is a special type, may have any column type.

use arrow_schema::DataType;
use serde::{Deserialize, Serialize};

use crate::column_type::{ColumnType, interval_fields};

/// Bytes of a time of day with its offset: microseconds since midnight (64 bits), then the seconds that the
/// zone is behind UTC (32 bits), both big-endian.
pub const TIME_TZ_BYTES: i32 = 12;

/// Digits of a 64-bit sum of money.
const MONEY_DIGITS: u8 = 19;

/// Digits after the point of the Arrow type that carries money.
const MONEY_ARROW_SCALE: i8 = 2;

/// A type that few databases have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpecialType {
    /// An interval with some fields (`interval year to month`). The database sets finer fields to zero, so a value with
    /// such fields is rejected.
    IntervalOf {
        /// The fields.
        fields: IntervalFields,
        /// Digits of the second's fraction that are kept, 0 to 6.
        fraction_digits: u8,
        /// True if the destination has infinite intervals.
        has_infinity: bool,
    },
    /// An identifier of at most 63 bytes.
    Name,
    /// One byte (`"char"` in quotes), carried as text: an ASCII character, an empty text for the byte 0, or `\ooo` in
    /// octal from 128 on.
    Byte {
        /// True if the destination reads that octal form.
        has_octal: bool,
    },
    /// A sum of money, carried as the whole number that the database stores: an Arrow decimal of scale 2, which is how
    /// the database reads it with the locale of the load's sessions.
    Money {
        /// Digits after the point by the locale of the database, 0 to 10.
        scale: u8,
    },
    /// A time of day and the offset of its zone; see [`TIME_TZ_BYTES`].
    TimeTz {
        /// Digits of the second's fraction that are kept, 0 to 6.
        fraction_digits: u8,
    },
    /// A JSON document that is stored as its members (`jsonb`), not as its text. A repeated key in an object is
    /// rejected, because only its last member would be kept.
    Jsonb,
    /// An array of any dimensions, carried as its text after each element was checked.
    Array {
        /// The type of its elements.
        element: Box<ColumnType>,
    },
    /// Values in the database's own binary form, which pass unchanged from a source with the same form.
    Native {
        /// The form: [`NativeType::form`](crate::native_type::NativeType::form).
        form: String,
    },
}

impl SpecialType {
    /// The Arrow type for its values in batches.
    pub fn arrow(&self) -> DataType {
        match self {
            SpecialType::IntervalOf { .. } => DataType::Struct(interval_fields()),
            SpecialType::Name
            | SpecialType::Byte { .. }
            | SpecialType::Jsonb
            | SpecialType::Array { .. } => DataType::Utf8View,
            SpecialType::Money { .. } => DataType::Decimal128(MONEY_DIGITS, MONEY_ARROW_SCALE),
            SpecialType::TimeTz { .. } => DataType::FixedSizeBinary(TIME_TZ_BYTES),
            SpecialType::Native { .. } => DataType::BinaryView,
        }
    }
}

/// The fields of an interval, as SQL names them. Fields that are coarser than the first one are also kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IntervalFields {
    /// `year`.
    Year,
    /// `month`.
    Month,
    /// `day`.
    Day,
    /// `hour`.
    Hour,
    /// `minute`.
    Minute,
    /// `second`.
    Second,
    /// `year to month`.
    YearToMonth,
    /// `day to hour`.
    DayToHour,
    /// `day to minute`.
    DayToMinute,
    /// `day to second`.
    DayToSecond,
    /// `hour to minute`.
    HourToMinute,
    /// `hour to second`.
    HourToSecond,
    /// `minute to second`.
    MinuteToSecond,
}

impl IntervalFields {
    /// All of them.
    pub const ALL: [IntervalFields; 13] = [
        IntervalFields::Year,
        IntervalFields::Month,
        IntervalFields::Day,
        IntervalFields::Hour,
        IntervalFields::Minute,
        IntervalFields::Second,
        IntervalFields::YearToMonth,
        IntervalFields::DayToHour,
        IntervalFields::DayToMinute,
        IntervalFields::DayToSecond,
        IntervalFields::HourToMinute,
        IntervalFields::HourToSecond,
        IntervalFields::MinuteToSecond,
    ];

    /// The finest field: finer parts are not kept, and a number without a unit counts this field.
    pub fn last(self) -> IntervalFields {
        match self {
            IntervalFields::YearToMonth => IntervalFields::Month,
            IntervalFields::DayToHour => IntervalFields::Hour,
            IntervalFields::DayToMinute | IntervalFields::HourToMinute => IntervalFields::Minute,
            IntervalFields::DayToSecond
            | IntervalFields::HourToSecond
            | IntervalFields::MinuteToSecond => IntervalFields::Second,
            one => one,
        }
    }

    /// The fields as SQL writes them.
    pub fn words(self) -> &'static str {
        match self {
            IntervalFields::Year => "year",
            IntervalFields::Month => "month",
            IntervalFields::Day => "day",
            IntervalFields::Hour => "hour",
            IntervalFields::Minute => "minute",
            IntervalFields::Second => "second",
            IntervalFields::YearToMonth => "year to month",
            IntervalFields::DayToHour => "day to hour",
            IntervalFields::DayToMinute => "day to minute",
            IntervalFields::DayToSecond => "day to second",
            IntervalFields::HourToMinute => "hour to minute",
            IntervalFields::HourToSecond => "hour to second",
            IntervalFields::MinuteToSecond => "minute to second",
        }
    }
}
