//! How a column is summed up and hashed, by its type in the database.

use inrush_wire::PgType;

use crate::column::ColumnType;

/// How a column is summed up and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnForm {
    /// `bool`.
    Bool,
    /// `int2`.
    Int2,
    /// `int4`.
    Int4,
    /// `int8`.
    Int8,
    /// `float4`.
    Float4,
    /// `float8`.
    Float8,
    /// `numeric` of at most 38 digits.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// `numeric` of any size.
    Numeric {
        /// Digits after the point that the type stores; those of the value where it has no bound.
        scale: Option<u16>,
    },
    /// `text`, `varchar`.
    Text,
    /// `char(n)`: blanks at its end do not count, as the type has it.
    PaddedText,
    /// An enum, by its labels.
    Enum,
    /// `json`, by its text.
    Json,
    /// `jsonb`, by the text that the server makes of it.
    Jsonb,
    /// `bytea`.
    Bytea,
    /// `date`.
    Date,
    /// `time`.
    Time,
    /// `timestamp`.
    Timestamp,
    /// `timestamptz`.
    TimestampTz,
    /// `interval`.
    Interval,
    /// `uuid`.
    Uuid,
    /// A type that the server alone understands: whether there is a value is all that we know.
    Opaque,
}

impl ColumnForm {
    /// The form of a column of this type, sent by this encoder.
    pub fn new(column_type: &ColumnType, wire: Option<PgType>) -> ColumnForm {
        match column_type {
            ColumnType::Bool => ColumnForm::Bool,
            ColumnType::Int16 => ColumnForm::Int2,
            ColumnType::Int32 => ColumnForm::Int4,
            ColumnType::Int64 => ColumnForm::Int8,
            ColumnType::Float32 => ColumnForm::Float4,
            ColumnType::Float64 => ColumnForm::Float8,
            ColumnType::Decimal { scale, .. } => ColumnForm::Decimal { scale: *scale },
            ColumnType::DecimalText { limit } => ColumnForm::Numeric {
                // A negative scale stores no digit after the point.
                scale: limit.map(|(_, scale)| scale.max(0) as u16),
            },
            ColumnType::Text {
                blank_padded: true, ..
            } => ColumnForm::PaddedText,
            ColumnType::Text { .. } => ColumnForm::Text,
            ColumnType::Date => ColumnForm::Date,
            ColumnType::Time { .. } => ColumnForm::Time,
            ColumnType::Timestamp { .. } => ColumnForm::Timestamp,
            ColumnType::TimestampTz { .. } => ColumnForm::TimestampTz,
            ColumnType::Interval { .. } => ColumnForm::Interval,
            ColumnType::Uuid => ColumnForm::Uuid,
            ColumnType::Binary => ColumnForm::Bytea,
            ColumnType::Json if wire == Some(PgType::Jsonb) => ColumnForm::Jsonb,
            ColumnType::Json => ColumnForm::Json,
            ColumnType::Enum { .. } => ColumnForm::Enum,
            ColumnType::Opaque => ColumnForm::Opaque,
        }
    }

    /// Whether its sum is one of numbers.
    pub fn is_number(self) -> bool {
        matches!(
            self,
            ColumnForm::Int2
                | ColumnForm::Int4
                | ColumnForm::Int8
                | ColumnForm::Decimal { .. }
                | ColumnForm::Numeric { .. }
        )
    }

    /// What is summed up of its values beside their count, in words; in the order of
    /// `sums::add` and `statements::sums_of`.
    pub(super) fn measures(self) -> &'static [&'static str] {
        match self {
            ColumnForm::Bool => &["values that are true"],
            ColumnForm::Int2 | ColumnForm::Int4 | ColumnForm::Int8 | ColumnForm::Decimal { .. } => {
                &["sum"]
            }
            ColumnForm::Numeric { scale: Some(_) } => &["sum"],
            ColumnForm::Numeric { scale: None } => &["sum", "values of 1e1000 and more"],
            ColumnForm::Float4 | ColumnForm::Float8 => &["sum of bits as integers"],
            ColumnForm::Text
            | ColumnForm::PaddedText
            | ColumnForm::Enum
            | ColumnForm::Json
            | ColumnForm::Bytea => &["octets"],
            ColumnForm::Date => &["sum of days since 1970"],
            ColumnForm::Time => &["sum of seconds"],
            ColumnForm::Timestamp | ColumnForm::TimestampTz => &["sum of seconds since 1970"],
            ColumnForm::Interval => &["sum of microseconds", "sum of days", "sum of months"],
            ColumnForm::Uuid => &["sum of first halves", "sum of second halves"],
            ColumnForm::Jsonb | ColumnForm::Opaque => &[],
        }
    }
}
