//! The types of the target's columns, and the Arrow types that fit them.

use arrow_schema::{DataType, TimeUnit};

/// The type of one column in binary COPY.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PgType {
    /// `boolean`: one byte, from Boolean.
    Bool,
    /// `smallint`, from Int16.
    Int2,
    /// `integer`, from Int32.
    Int4,
    /// `bigint`, from Int64.
    Int8,
    /// `real`, from Float32.
    Float4,
    /// `double precision`, from Float64.
    Float8,
    /// `numeric`: groups of four digits, from Decimal128 or from decimal text in Utf8View.
    Numeric,
    /// `text`, `varchar`, `bpchar`, `json`, enums, `name`: the bytes as they are, from
    /// Utf8View.
    Text,
    /// `jsonb`: a version byte and the text, from Utf8View.
    Jsonb,
    /// `date`: days since 2000-01-01, from Date32.
    Date,
    /// `time`: microseconds since midnight, from Time64.
    Time,
    /// `timestamp` with and without time zone: microseconds since 2000-01-01, from Timestamp.
    Timestamp,
    /// `interval`: microseconds, days and months, from a struct of them.
    Interval,
    /// `uuid`: 16 bytes, from FixedSizeBinary(16).
    Uuid,
    /// `bytea`: the bytes as they are, from BinaryView.
    Bytea,
    /// `"char"`: one byte, from Utf8View: an ASCII character, an empty text for the byte 0, or `\ooo` in octal.
    Char,
    /// `money`: the whole number that the server stores, as 64 bits, from Decimal128 of scale 2.
    Money,
    /// `timetz`: microseconds since midnight and seconds west of UTC, from FixedSizeBinary(12) of both.
    TimeTz,
}

impl PgType {
    /// True if a column of this Arrow type can be encoded as this type.
    pub(crate) fn takes(self, data_type: &DataType) -> bool {
        match (self, data_type) {
            (PgType::Bool, DataType::Boolean)
            | (PgType::Int2, DataType::Int16)
            | (PgType::Int4, DataType::Int32)
            | (PgType::Int8, DataType::Int64)
            | (PgType::Float4, DataType::Float32)
            | (PgType::Float8, DataType::Float64)
            | (PgType::Numeric | PgType::Text | PgType::Jsonb | PgType::Char, DataType::Utf8View)
            | (PgType::Money, DataType::Decimal128(_, 2))
            | (PgType::TimeTz, DataType::FixedSizeBinary(12))
            | (PgType::Date, DataType::Date32)
            | (PgType::Time, DataType::Time64(TimeUnit::Microsecond))
            | (PgType::Timestamp, DataType::Timestamp(TimeUnit::Microsecond, _))
            | (PgType::Uuid, DataType::FixedSizeBinary(16))
            | (PgType::Bytea, DataType::BinaryView) => true,
            (PgType::Numeric, DataType::Decimal128(_, scale)) => (0..=38).contains(scale),
            (PgType::Interval, data_type) => is_interval(data_type),
            _ => false,
        }
    }

    /// The Arrow types that fit, for messages.
    pub(crate) fn arrow_types(self) -> &'static str {
        match self {
            PgType::Bool => "Boolean",
            PgType::Int2 => "Int16",
            PgType::Int4 => "Int32",
            PgType::Int8 => "Int64",
            PgType::Float4 => "Float32",
            PgType::Float8 => "Float64",
            PgType::Numeric => "Decimal128 with a scale of 0 to 38, or Utf8View",
            PgType::Text | PgType::Jsonb | PgType::Char => "Utf8View",
            PgType::Money => "Decimal128 with a scale of 2",
            PgType::TimeTz => "FixedSizeBinary(12)",
            PgType::Date => "Date32",
            PgType::Time => "Time64(Microsecond)",
            PgType::Timestamp => "Timestamp(Microsecond)",
            PgType::Interval => {
                "Struct(months: Int32, days: Int32, microseconds: Int64), none of them nullable"
            }
            PgType::Uuid => "FixedSizeBinary(16)",
            PgType::Bytea => "BinaryView",
        }
    }
}

/// True if it is the struct for intervals.
pub(crate) fn is_interval(data_type: &DataType) -> bool {
    let DataType::Struct(fields) = data_type else {
        return false;
    };
    let expected = [
        ("months", DataType::Int32),
        ("days", DataType::Int32),
        ("microseconds", DataType::Int64),
    ];
    fields.len() == expected.len()
        && fields
            .iter()
            .zip(&expected)
            .all(|(field, (name, data_type))| {
                field.name() == name && field.data_type() == data_type && !field.is_nullable()
            })
}
