//! Types of columns: which values fit, and the Arrow type that carries them.
//!
//! This module and `special_type` depend on each other: a column's type may be a special one, and the elements of an
//! array, which is a special type, may have any column type.

use arrow_schema::{DataType, Field, Fields, TimeUnit};
use serde::{Deserialize, Serialize};

use crate::special_type::SpecialType;

/// The type of a column, with the limits for its values. It defines which values fit; how they are sent depends on the
/// destination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnType {
    /// `t`, `f`, `true`, `false`, `y`, `n`, `yes`, `no`, `on`, `off`, `1`, `0` in any case.
    Bool,
    /// 16 bits, signed.
    Int16,
    /// 32 bits, signed.
    Int32,
    /// 64 bits, signed.
    Int64,
    /// 32 bits, IEEE 754; `NaN` and `Infinity` included.
    Float32,
    /// 64 bits, IEEE 754; `NaN` and `Infinity` included.
    Float64,
    /// At most 38 digits, `scale` of them after the point; more than that is a reject.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point, 0 to `precision`.
        scale: u8,
    },
    /// Any number of digits, carried as its checked text in plain notation
    /// (`-?digits[.digits]`, no exponent).
    DecimalText {
        /// The most digits in all, and after the point, if the type limits them. A negative scale counts zeros before
        /// the point.
        limit: Option<(u16, i16)>,
    },
    /// Text.
    Text {
        /// The most characters.
        characters_max: Option<u32>,
        /// Blanks at the end do not count, as in `char(n)`.
        blank_padded: bool,
    },
    /// Days since 1970-01-01; `i32::MIN` and `i32::MAX` stand for the infinities.
    Date,
    /// Microseconds since midnight, 24:00:00 included.
    Time {
        /// Digits of the second's fraction that are kept, 0 to 6.
        fraction_digits: u8,
    },
    /// Microseconds since 1970-01-01T00:00:00 of an unnamed zone. `inrush_rows::timestamp` says which numbers stand for
    /// the infinities and for times outside the range of 64 bits.
    Timestamp {
        /// Digits of the second's fraction that are kept, 0 to 6.
        fraction_digits: u8,
    },
    /// Microseconds since 1970-01-01T00:00:00Z. The same numbers as in `Timestamp` stand for the infinities and for
    /// times outside the range.
    TimestampTz {
        /// Digits of the second's fraction that are kept, 0 to 6.
        fraction_digits: u8,
    },
    /// Months, days and microseconds, kept apart.
    Interval {
        /// Digits of the second's fraction that are kept, 0 to 6.
        fraction_digits: u8,
        /// True if the destination has infinite intervals; `inrush_rows::interval` says which parts stand for them.
        has_infinity: bool,
    },
    /// 16 bytes.
    Uuid,
    /// Bytes, written `\x...` or in the escape form.
    Binary,
    /// A JSON document, kept as written.
    Json,
    /// One of these labels.
    Enum {
        /// The labels.
        labels: Vec<String>,
    },
    /// A type that has no encoder here: its text goes to the destination as it is.
    Opaque,
    /// A type that few databases have.
    Special(SpecialType),
}

impl ColumnType {
    /// `numeric(precision, scale)`: 128-bit numbers if they have at most 38 digits and the point is among them,
    /// otherwise texts of digits within that limit.
    pub fn numeric(precision: u16, scale: i16) -> ColumnType {
        match (u8::try_from(precision), u8::try_from(scale)) {
            (Ok(precision @ 1..=38), Ok(scale)) if scale <= precision => {
                ColumnType::Decimal { precision, scale }
            }
            _ => ColumnType::DecimalText {
                limit: Some((precision, scale)),
            },
        }
    }

    /// True if its values are numbers.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            ColumnType::Int16
                | ColumnType::Int32
                | ColumnType::Int64
                | ColumnType::Float32
                | ColumnType::Float64
                | ColumnType::Decimal { .. }
                | ColumnType::DecimalText { .. }
        )
    }

    /// The Arrow type for its values in batches.
    pub fn arrow(&self) -> DataType {
        match self {
            ColumnType::Bool => DataType::Boolean,
            ColumnType::Int16 => DataType::Int16,
            ColumnType::Int32 => DataType::Int32,
            ColumnType::Int64 => DataType::Int64,
            ColumnType::Float32 => DataType::Float32,
            ColumnType::Float64 => DataType::Float64,
            ColumnType::Decimal { precision, scale } => {
                // The scale is at most 38.
                DataType::Decimal128(*precision, *scale as i8)
            }
            ColumnType::DecimalText { .. }
            | ColumnType::Text { .. }
            | ColumnType::Json
            | ColumnType::Enum { .. }
            | ColumnType::Opaque => DataType::Utf8View,
            ColumnType::Date => DataType::Date32,
            ColumnType::Time { .. } => DataType::Time64(TimeUnit::Microsecond),
            ColumnType::Timestamp { .. } => DataType::Timestamp(TimeUnit::Microsecond, None),
            ColumnType::TimestampTz { .. } => {
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
            }
            ColumnType::Interval { .. } => DataType::Struct(interval_fields()),
            ColumnType::Uuid => DataType::FixedSizeBinary(16),
            ColumnType::Binary => DataType::BinaryView,
            ColumnType::Special(special) => special.arrow(),
        }
    }
}

/// The fields of an interval. Arrow's own `MonthDayNano` cannot hold times past 292 years,
/// which an interval of PostgreSQL can.
pub fn interval_fields() -> Fields {
    Fields::from(vec![
        Field::new("months", DataType::Int32, false),
        Field::new("days", DataType::Int32, false),
        Field::new("microseconds", DataType::Int64, false),
    ])
}
