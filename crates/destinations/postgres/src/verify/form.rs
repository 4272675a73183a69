//! The sum and the hash of a column, by its type in the database.

use inrush_rows::column::{ColumnType, SpecialType};

use crate::engine::verify::SumForm;

/// How a column is summed up and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnForm {
    /// `bool`.
    Bool,
    /// `int2`, `int4`, `int8`, `numeric`.
    Number(SumForm),
    /// `float4`.
    Float4,
    /// `float8`.
    Float8,
    /// `text`, `varchar`.
    Text,
    /// `char(n)`: blanks at its end do not count, as for the type.
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
    /// `money`, by the number that the server stores.
    Money,
    /// `timetz`.
    TimeTz,
    /// A type that only the server reads: we only know whether there is a value.
    Opaque,
}

impl ColumnForm {
    /// The form of a column of this type.
    pub fn new(column_type: &ColumnType) -> ColumnForm {
        match column_type {
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Decimal { .. }
            | ColumnType::DecimalText { .. } => {
                ColumnForm::Number(SumForm::new(column_type).expect("these are numbers"))
            }
            ColumnType::Bool => ColumnForm::Bool,
            ColumnType::Float32 => ColumnForm::Float4,
            ColumnType::Float64 => ColumnForm::Float8,
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
            ColumnType::Json => ColumnForm::Json,
            ColumnType::Enum { .. } => ColumnForm::Enum,
            ColumnType::Opaque => ColumnForm::Opaque,
            ColumnType::Special(special) => match special {
                SpecialType::IntervalOf { .. } => ColumnForm::Interval,
                SpecialType::Name | SpecialType::Byte { .. } => ColumnForm::Text,
                SpecialType::Money { .. } => ColumnForm::Money,
                SpecialType::TimeTz { .. } => ColumnForm::TimeTz,
                SpecialType::Jsonb => ColumnForm::Jsonb,
                SpecialType::Array { .. } => ColumnForm::Opaque,
            },
        }
    }

    /// The measures of its values other than their count, in words; in the order of `sums::add` and `query::sums_of`.
    pub(super) fn measures(self) -> &'static [&'static str] {
        match self {
            ColumnForm::Bool => &["values that are true"],
            ColumnForm::Number(number) => number.measures(),
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
            ColumnForm::Money => &["sum of its smallest coins"],
            ColumnForm::TimeTz => &["sum of microseconds", "sum of seconds behind UTC"],
            ColumnForm::Jsonb | ColumnForm::Opaque => &[],
        }
    }
}
