//! A column is summed up in a form that depends on its type.

use inrush_rows::column_type::ColumnType;
use inrush_rows::special_type::SpecialType;
use serde::{Deserialize, Serialize};

use super::number::SumForm;

/// How a column is summed up. [`ColumnForm::measures`] names the sums of each form, and their units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnForm {
    /// Booleans.
    Bool,
    /// Whole numbers and decimals.
    Number(SumForm),
    /// Floating-point numbers of 32 bits.
    Float4,
    /// Floating-point numbers of 64 bits.
    Float8,
    /// Texts.
    Text,
    /// Texts of a fixed length: blanks at their end do not count.
    PaddedText,
    /// An enum, by its labels.
    Enum,
    /// JSON, by its text.
    Json,
    /// JSON that the destination stores in another form than the text.
    Jsonb,
    /// Binary values.
    Bytea,
    /// Dates.
    Date,
    /// Times of a day.
    Time,
    /// Timestamps.
    Timestamp,
    /// Timestamps with a time zone.
    TimestampTz,
    /// Intervals.
    Interval,
    /// UUIDs.
    Uuid,
    /// Amounts of money, by the number of their smallest coins.
    Money,
    /// Times of a day with a time zone.
    TimeTz,
    /// A column without an exact measure: its values are only counted.
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
                SpecialType::Array { .. } | SpecialType::Native { .. } => ColumnForm::Opaque,
            },
        }
    }

    /// The number of sums of columns: the count of the values of each, and its measures.
    pub fn sum_count(forms: &[ColumnForm]) -> usize {
        let counts = forms.iter().map(|form| 1 + form.measures().len());
        counts.sum()
    }

    /// The measures of its values other than their count, in words; in the order of [`ColumnForm::add`].
    pub fn measures(self) -> &'static [&'static str] {
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
