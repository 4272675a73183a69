//! The types that a column can be guessed to have, in the words of SQL and of the converters.

use crate::column::ColumnType;

/// The type that a column seems to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeGuess {
    /// `true`, `false`, `t`, `f`.
    Boolean,
    /// 32 bits.
    Integer,
    /// 64 bits.
    BigInt,
    /// Exact decimals.
    Numeric {
        /// Digits in all.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// 64 bits of floating point.
    Double,
    /// Days; ISO 8601 where no format is said.
    Date {
        /// In strftime's letters.
        format: Option<String>,
    },
    /// Times of day.
    Time,
    /// Dates with times and without an offset from UTC.
    Timestamp {
        /// In strftime's letters.
        format: Option<String>,
    },
    /// Dates with times and an offset from UTC.
    TimestampTz {
        /// In strftime's letters.
        format: Option<String>,
    },
    /// UUIDs with hyphens.
    Uuid,
    /// JSON objects and arrays.
    Json,
    /// Anything.
    Text,
}

impl TypeGuess {
    /// In PostgreSQL's words.
    pub fn sql(&self) -> String {
        match self {
            TypeGuess::Boolean => "boolean".to_owned(),
            TypeGuess::Integer => "integer".to_owned(),
            TypeGuess::BigInt => "bigint".to_owned(),
            TypeGuess::Numeric { precision, scale } => format!("numeric({precision},{scale})"),
            TypeGuess::Double => "double precision".to_owned(),
            TypeGuess::Date { .. } => "date".to_owned(),
            TypeGuess::Time => "time".to_owned(),
            TypeGuess::Timestamp { .. } => "timestamp".to_owned(),
            TypeGuess::TimestampTz { .. } => "timestamptz".to_owned(),
            TypeGuess::Uuid => "uuid".to_owned(),
            TypeGuess::Json => "json".to_owned(),
            TypeGuess::Text => "text".to_owned(),
        }
    }

    /// Whether it is one of numbers, which would lose what codes have.
    pub fn is_number(&self) -> bool {
        self.column_type().is_number()
    }

    /// The format that its values are written in, where that is not ISO 8601.
    pub fn format(&self) -> Option<&str> {
        match self {
            TypeGuess::Date { format }
            | TypeGuess::Timestamp { format }
            | TypeGuess::TimestampTz { format } => format.as_deref(),
            _ => None,
        }
    }

    /// The type that the load would convert to.
    pub(super) fn column_type(&self) -> ColumnType {
        const FRACTION_DIGITS: u8 = 6;
        match self {
            TypeGuess::Boolean => ColumnType::Bool,
            TypeGuess::Integer => ColumnType::Int32,
            TypeGuess::BigInt => ColumnType::Int64,
            TypeGuess::Numeric { precision, scale } => ColumnType::Decimal {
                precision: *precision,
                scale: *scale,
            },
            TypeGuess::Double => ColumnType::Float64,
            TypeGuess::Date { .. } => ColumnType::Date,
            TypeGuess::Time => ColumnType::Time {
                fraction_digits: FRACTION_DIGITS,
            },
            TypeGuess::Timestamp { .. } => ColumnType::Timestamp {
                fraction_digits: FRACTION_DIGITS,
            },
            TypeGuess::TimestampTz { .. } => ColumnType::TimestampTz {
                fraction_digits: FRACTION_DIGITS,
            },
            TypeGuess::Uuid => ColumnType::Uuid,
            TypeGuess::Json => ColumnType::Json,
            TypeGuess::Text => ColumnType::Text {
                characters_max: None,
                blank_padded: false,
            },
        }
    }
}
