//! The columns of a batch as plain slices, and, for each column, the most bytes that its values need in the output.
//! [`values`](super::values) writes values, and relies on these numbers.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::decimal::Precision;
use super::texts::Texts;
use super::ticks::Fraction;
use super::writer::{Null, Prefix};
use crate::code_page::CodePage;
use crate::collation::{Collation, TextEncoding};
use crate::column_metadata::ColumnMetadata;
use crate::limits::MAX_TYPE_BYTES;
use crate::type_info::{Length, SqlType, TypeInfo};

/// NULL of types with a length of one byte before the value: this length is zero.
const NULL_OF_BYTE_LENGTH: Null = Null { bytes: 1, word: 0 };
/// NULL of types with a length of two bytes before the value.
const NULL_OF_SHORT_LENGTH: Null = Null {
    bytes: 2,
    word: u64::MAX,
};
/// NULL of types whose values are sent in chunks.
const NULL_OF_CHUNKS: Null = Null {
    bytes: 8,
    word: u64::MAX,
};

/// Bytes around a value in chunks: the total, the chunk's length, and the end.
const CHUNK_MARKS_BYTES: usize = 16;

/// A column of a batch.
pub(super) struct Column<'a> {
    /// The rows that have a value; `None` if all have one.
    pub(super) validity: Option<&'a BooleanBuffer>,
    pub(super) values: Values<'a>,
    pub(super) null: Null,
    pub(super) is_nullable: bool,
    pub(super) type_info: TypeInfo,
    row_count: usize,
}

/// Values by the way in which they are written. A slice has as many elements as the batch has rows.
pub(super) enum Values<'a> {
    Bit(&'a BooleanBuffer, Prefix),
    TinyInt(&'a [i16], Prefix),
    SmallInt(&'a [i16], Prefix),
    Int(&'a [i32], Prefix),
    BigInt(&'a [i64], Prefix),
    Real(&'a [f32], Prefix),
    Float(&'a [f64], Prefix),
    Decimal(&'a [i128], Precision),
    Money(&'a [i128], Prefix),
    SmallMoney(&'a [i128], Prefix),
    Date(&'a [i32]),
    Time(&'a [i64], Fraction),
    DateTime2(&'a [i64], Fraction),
    DateTimeOffset(&'a [i64], Fraction),
    DateTime(&'a [i64], Prefix),
    SmallDateTime(&'a [i64], Prefix),
    UniqueIdentifier(&'a [[u8; 16]]),
    Text(Text<'a>),
}

/// Texts or bytes of a column.
pub(super) struct Text<'a> {
    pub(super) texts: Texts<'a>,
    pub(super) form: TextForm,
    /// True if values are sent in chunks: `(max)`.
    pub(super) is_chunked: bool,
    pub(super) limit: Limit,
}

/// The form in which a text is written.
pub(super) enum TextForm {
    /// Unchanged: UTF-8, bytes, and ASCII in any code page.
    AsIs,
    /// Text in a code page. [`Column::check`] encodes it, so that every text's length is known.
    CodePage(CodePage, EncodedTexts),
    /// Text in UTF-16.
    Utf16,
}

/// Texts of all rows, one after the other.
#[derive(Default)]
pub(super) struct EncodedTexts {
    pub(super) bytes: Vec<u8>,
    /// The end of each row's text, which begins at the end of the previous one.
    pub(super) ends: Vec<usize>,
}

/// The lengths that a column accepts.
#[derive(Clone, Copy)]
pub(super) enum Limit {
    /// At most this many bytes.
    Bytes(u64),
    /// At most this many units of UTF-16.
    Units(u64),
    /// Exactly this number of bytes.
    ExactBytes(u16),
}

impl<'a> Column<'a> {
    /// The column of an array; `None` if its Arrow type does not fit.
    pub(super) fn new(target: &ColumnMetadata, array: &'a dyn Array) -> Option<Column<'a>> {
        let type_info = target.type_info;
        if !takes(&type_info, array.data_type()) {
            return None;
        }
        let prefix = |byte| Prefix {
            byte,
            bytes: usize::from(!type_info.is_fixed),
        };
        let decimals = || &array.as_primitive::<Decimal128Type>().values()[..];
        let moments = || &array.as_primitive::<TimestampMicrosecondType>().values()[..];
        let values = match type_info.sql_type {
            SqlType::Bit => Values::Bit(array.as_boolean().values(), prefix(1)),
            SqlType::TinyInt => {
                Values::TinyInt(array.as_primitive::<Int16Type>().values(), prefix(1))
            }
            SqlType::SmallInt => {
                Values::SmallInt(array.as_primitive::<Int16Type>().values(), prefix(2))
            }
            SqlType::Int => Values::Int(array.as_primitive::<Int32Type>().values(), prefix(4)),
            SqlType::BigInt => {
                Values::BigInt(array.as_primitive::<Int64Type>().values(), prefix(8))
            }
            SqlType::Real => Values::Real(array.as_primitive::<Float32Type>().values(), prefix(4)),
            SqlType::Float => {
                Values::Float(array.as_primitive::<Float64Type>().values(), prefix(8))
            }
            SqlType::Decimal {
                precision, bytes, ..
            } => Values::Decimal(decimals(), Precision::new(precision, bytes)),
            SqlType::Money => Values::Money(decimals(), prefix(8)),
            SqlType::SmallMoney => Values::SmallMoney(decimals(), prefix(4)),
            SqlType::Date => Values::Date(array.as_primitive::<Date32Type>().values()),
            SqlType::Time(digits) => Values::Time(
                array.as_primitive::<Time64MicrosecondType>().values(),
                Fraction::new(digits),
            ),
            SqlType::DateTime2(digits) => Values::DateTime2(moments(), Fraction::new(digits)),
            SqlType::DateTimeOffset(digits) => {
                Values::DateTimeOffset(moments(), Fraction::new(digits))
            }
            SqlType::DateTime => Values::DateTime(moments(), prefix(8)),
            SqlType::SmallDateTime => Values::SmallDateTime(moments(), prefix(4)),
            SqlType::UniqueIdentifier => {
                Values::UniqueIdentifier(array.as_fixed_size_binary().value_data().as_chunks().0)
            }
            SqlType::Char(bytes, collation) => narrow_text(array, Length::Bytes(bytes), collation)?,
            SqlType::VarChar(length, collation) => narrow_text(array, length, collation)?,
            SqlType::NChar(bytes, _) => wide_text(array, Length::Bytes(bytes)),
            SqlType::NVarChar(length, _) => wide_text(array, length),
            SqlType::Xml => wide_text(array, Length::Max),
            SqlType::Binary(bytes) => binary(array, Length::Bytes(bytes), Limit::ExactBytes(bytes)),
            SqlType::VarBinary(length) => binary(array, length, bytes_limit(length)),
        };
        let null = match &values {
            Values::Text(text) if text.is_chunked => NULL_OF_CHUNKS,
            Values::Text(_) => NULL_OF_SHORT_LENGTH,
            _ => NULL_OF_BYTE_LENGTH,
        };
        Some(Column {
            validity: array
                .nulls()
                .filter(|nulls| nulls.null_count() > 0)
                .map(|nulls| nulls.inner()),
            values,
            null,
            is_nullable: target.is_nullable(),
            type_info,
            row_count: array.len(),
        })
    }

    /// The number of rows of the array.
    pub(super) fn row_count(&self) -> usize {
        self.row_count
    }

    /// True if any row is NULL.
    pub(super) fn has_nulls(&self) -> bool {
        self.validity.is_some()
    }

    /// True if a row has a value.
    pub(super) fn is_valid(&self, row: usize) -> bool {
        self.validity.is_none_or(|bits| bits.value(row))
    }

    /// The number of rows whose value and validity can be read: at least the number of rows of the array.
    pub(super) fn readable_rows(&self) -> usize {
        let value_count = match &self.values {
            Values::Bit(bits, _) => bits.len(),
            Values::TinyInt(values, _) | Values::SmallInt(values, _) => values.len(),
            Values::Int(values, _) | Values::Date(values) => values.len(),
            Values::BigInt(values, _)
            | Values::Time(values, _)
            | Values::DateTime2(values, _)
            | Values::DateTimeOffset(values, _)
            | Values::DateTime(values, _)
            | Values::SmallDateTime(values, _) => values.len(),
            Values::Real(values, _) => values.len(),
            Values::Float(values, _) => values.len(),
            Values::Decimal(values, _)
            | Values::Money(values, _)
            | Values::SmallMoney(values, _) => values.len(),
            Values::UniqueIdentifier(values) => values.len(),
            Values::Text(text) => match &text.form {
                TextForm::CodePage(_, encoded) => encoded.ends.len(),
                TextForm::AsIs | TextForm::Utf16 => text.texts.len(),
            },
        };
        self.validity
            .map_or(value_count, |bits| bits.len().min(value_count))
    }

    /// The most bytes that all rows need in the output, after [`Column::check`].
    pub(super) fn bytes_max(&self) -> usize {
        let (value_bytes, text_bytes) = match &self.values {
            Values::Bit(..) | Values::TinyInt(..) => (2, 0),
            Values::SmallInt(..) => (3, 0),
            Values::Int(..)
            | Values::Real(..)
            | Values::SmallMoney(..)
            | Values::SmallDateTime(..) => (5, 0),
            Values::BigInt(..) | Values::Float(..) | Values::Money(..) | Values::DateTime(..) => {
                (9, 0)
            }
            Values::Decimal(_, precision) => (1 + usize::from(precision.value_bytes), 0),
            Values::Date(_) => (4, 0),
            Values::Time(_, fraction) => (1 + fraction.time_bytes, 0),
            Values::DateTime2(_, fraction) => (4 + fraction.time_bytes, 0),
            Values::DateTimeOffset(_, fraction) => (6 + fraction.time_bytes, 0),
            Values::UniqueIdentifier(_) => (17, 0),
            Values::Text(text) => (
                if text.is_chunked {
                    CHUNK_MARKS_BYTES
                } else {
                    2
                },
                match &text.form {
                    TextForm::AsIs => self.text_bytes(&text.texts),
                    TextForm::CodePage(_, encoded) => encoded.bytes.len(),
                    TextForm::Utf16 => 2 * self.text_bytes(&text.texts),
                },
            ),
        };
        value_bytes * self.row_count + text_bytes
    }

    /// The bytes of all texts that are not NULL.
    fn text_bytes(&self, texts: &Texts<'_>) -> usize {
        match self.validity {
            None => texts.lengths().map(|length| length as usize).sum(),
            Some(validity) => validity
                .set_indices()
                .map(|row| texts.length(row) as usize)
                .sum(),
        }
    }
}

/// True if a column of this Arrow type can be encoded as this type of SQL Server.
pub(super) fn takes(type_info: &TypeInfo, data_type: &DataType) -> bool {
    match (type_info.sql_type, data_type) {
        (SqlType::Bit, DataType::Boolean)
        | (SqlType::TinyInt | SqlType::SmallInt, DataType::Int16)
        | (SqlType::Int, DataType::Int32)
        | (SqlType::BigInt, DataType::Int64)
        | (SqlType::Real, DataType::Float32)
        | (SqlType::Float, DataType::Float64)
        | (SqlType::Money | SqlType::SmallMoney, DataType::Decimal128(_, 4))
        | (SqlType::Date, DataType::Date32)
        | (SqlType::Time(_), DataType::Time64(TimeUnit::Microsecond))
        | (
            SqlType::DateTime2(_) | SqlType::DateTime | SqlType::SmallDateTime,
            DataType::Timestamp(TimeUnit::Microsecond, None),
        )
        | (SqlType::DateTimeOffset(_), DataType::Timestamp(TimeUnit::Microsecond, Some(_)))
        | (SqlType::UniqueIdentifier, DataType::FixedSizeBinary(16))
        | (SqlType::Binary(_) | SqlType::VarBinary(_), DataType::BinaryView)
        | (
            SqlType::Char(..)
            | SqlType::VarChar(..)
            | SqlType::NChar(..)
            | SqlType::NVarChar(..)
            | SqlType::Xml,
            DataType::Utf8View,
        ) => true,
        (SqlType::Decimal { scale, .. }, DataType::Decimal128(_, found)) => {
            i16::from(*found) == i16::from(scale)
        }
        _ => false,
    }
}

/// The Arrow type that can be encoded as a type of SQL Server, for messages.
pub(super) fn arrow_type(type_info: &TypeInfo) -> String {
    let name = match type_info.sql_type {
        SqlType::Bit => "Boolean",
        SqlType::TinyInt | SqlType::SmallInt => "Int16",
        SqlType::Int => "Int32",
        SqlType::BigInt => "Int64",
        SqlType::Real => "Float32",
        SqlType::Float => "Float64",
        SqlType::Decimal { scale, .. } => return format!("Decimal128 with a scale of {scale}"),
        SqlType::Money | SqlType::SmallMoney => "Decimal128 with a scale of 4",
        SqlType::Date => "Date32",
        SqlType::Time(_) => "Time64(Microsecond)",
        SqlType::DateTime2(_) | SqlType::DateTime | SqlType::SmallDateTime => {
            "Timestamp(Microsecond) without a zone"
        }
        SqlType::DateTimeOffset(_) => "Timestamp(Microsecond) with a zone",
        SqlType::UniqueIdentifier => "FixedSizeBinary(16)",
        SqlType::Binary(_) | SqlType::VarBinary(_) => "BinaryView",
        SqlType::Char(..)
        | SqlType::VarChar(..)
        | SqlType::NChar(..)
        | SqlType::NVarChar(..)
        | SqlType::Xml => "Utf8View",
    };
    name.to_owned()
}

fn narrow_text(array: &dyn Array, length: Length, collation: Collation) -> Option<Values<'_>> {
    let form = match collation.encoding()? {
        TextEncoding::Utf8 => TextForm::AsIs,
        TextEncoding::CodePage(code_page) => TextForm::CodePage(code_page, EncodedTexts::default()),
    };
    Some(text(
        Texts::new(array.as_string_view()),
        form,
        length,
        bytes_limit(length),
    ))
}

fn wide_text(array: &dyn Array, length: Length) -> Values<'_> {
    let units = match bytes_limit(length) {
        Limit::Bytes(bytes) => Limit::Units(bytes / 2),
        other => other,
    };
    text(
        Texts::new(array.as_string_view()),
        TextForm::Utf16,
        length,
        units,
    )
}

fn binary(array: &dyn Array, length: Length, limit: Limit) -> Values<'_> {
    text(
        Texts::new(array.as_binary_view()),
        TextForm::AsIs,
        length,
        limit,
    )
}

fn text(texts: Texts<'_>, form: TextForm, length: Length, limit: Limit) -> Values<'_> {
    Values::Text(Text {
        texts,
        form,
        is_chunked: length == Length::Max,
        limit,
    })
}

fn bytes_limit(length: Length) -> Limit {
    Limit::Bytes(match length {
        Length::Bytes(bytes) => bytes.into(),
        Length::Max => MAX_TYPE_BYTES,
    })
}
