//! One converter per column type, and the loop that each of them runs.
//!
//! `column_converter`, `array`, `key` and `policies` depend on each other: the converter of an array contains the
//! converter of its elements; `column_converter` makes the values of keys; `key` and `policies` read their texts (a
//! bound, a default) with the converter of the column.

use std::sync::Arc;

use arrow_array::types::ArrowPrimitiveType;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StructArray};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use inrush_rows::column::{Column, ColumnType, SpecialType, TIME_TZ_BYTES, interval_fields};

use super::array::Array;
use super::boolean::Boolean;
use super::boolean_words::DeclaredBoolean;
use super::bytea;
use super::date::Date;
use super::decimal::Decimal;
use super::decimal_text::DecimalText;
use super::enumeration::Enumeration;
use super::error::{ConvertError, ValueError};
use super::fields::{Fields, Span, nul_error};
use super::float::Float;
use super::integer::Integer;
use super::interval::Interval;
use super::json::Json;
use super::kernel::{Fault, Kernel, WINDOW_BYTES, trim};
use super::key::KeyValue;
use super::money::Money;
use super::name::Name;
use super::output::Output;
use super::simd::{self, EightKernel, Instructions};
use super::single_byte::SingleByte;
use super::text::{Opaque, Text};
use super::time::Time;
use super::time_tz::TimeTz;
use super::timestamp::{Timestamp, TimestampTz};
use super::unused_settings;
use super::uuid::Uuid;
use super::view_array;
use super::views::{Built, TextCheck};

/// The converter of one column's fields.
pub(super) enum ColumnConverter {
    Bool(Boolean),
    DeclaredBool(DeclaredBoolean),
    Int16(Integer<i16>),
    Int32(Integer<i32>),
    Int64(Integer<i64>),
    Float32(Float<f32>),
    Float64(Float<f64>),
    Decimal(Decimal),
    DecimalText(DecimalText),
    Text(Text),
    Date(Date),
    Time(Time),
    Timestamp(Timestamp),
    TimestampTz(TimestampTz),
    Interval(Interval),
    Uuid(Uuid),
    Binary,
    Json(Json),
    Enum(Enumeration),
    Opaque(Opaque),
    Name(Name),
    SingleByte(SingleByte),
    Money(Money),
    TimeTz(TimeTz),
    Array(Array),
}

impl ColumnConverter {
    /// The converter of a column.
    pub fn new(column: &Column) -> Result<ColumnConverter, ConvertError> {
        unused_settings::refuse(column)?;
        let invalid = |reason: String| ConvertError::TypeInvalid {
            column: column.name.clone(),
            reason,
        };
        Ok(match &column.column_type {
            ColumnType::Bool => match &column.policies.words {
                None => ColumnConverter::Bool(Boolean),
                Some(words) => ColumnConverter::DeclaredBool(DeclaredBoolean::new(column, words)?),
            },
            ColumnType::Int16 => ColumnConverter::Int16(Integer::new()),
            ColumnType::Int32 => ColumnConverter::Int32(Integer::new()),
            ColumnType::Int64 => ColumnConverter::Int64(Integer::new()),
            ColumnType::Float32 => ColumnConverter::Float32(Float::new()),
            ColumnType::Float64 => ColumnConverter::Float64(Float::new()),
            ColumnType::Decimal { precision, scale } => {
                if *precision == 0 || *precision > 38 || scale > precision {
                    return Err(invalid(format!(
                        "decimal({precision}, {scale}) is not possible: a decimal has 1 to 38 digits, and \
                         at most all of them are after the point"
                    )));
                }
                ColumnConverter::Decimal(Decimal::new(*precision, *scale))
            }
            ColumnType::DecimalText { limit } => {
                ColumnConverter::DecimalText(DecimalText::new(*limit))
            }
            ColumnType::Text {
                characters_max,
                blank_padded,
            } => ColumnConverter::Text(Text::new(*characters_max, *blank_padded)),
            ColumnType::Date => ColumnConverter::Date(Date::new(column)?),
            ColumnType::Time { fraction_digits } => {
                ColumnConverter::Time(Time::new(column, *fraction_digits)?)
            }
            ColumnType::Timestamp { fraction_digits } => {
                ColumnConverter::Timestamp(Timestamp::new(column, *fraction_digits)?)
            }
            ColumnType::TimestampTz { fraction_digits } => {
                ColumnConverter::TimestampTz(TimestampTz::new(column, *fraction_digits)?)
            }
            ColumnType::Interval {
                fraction_digits,
                has_infinity,
            } => ColumnConverter::Interval(Interval::new(None, *fraction_digits, *has_infinity)),
            ColumnType::Uuid => ColumnConverter::Uuid(Uuid),
            ColumnType::Binary => ColumnConverter::Binary,
            ColumnType::Json => ColumnConverter::Json(Json::text()),
            ColumnType::Enum { labels } => ColumnConverter::Enum(Enumeration::new(labels)),
            ColumnType::Opaque => ColumnConverter::Opaque(Opaque),
            ColumnType::Special(special) => ColumnConverter::of_special(column, special)?,
        })
    }

    fn of_special(column: &Column, special: &SpecialType) -> Result<ColumnConverter, ConvertError> {
        Ok(match special {
            SpecialType::IntervalOf {
                fields,
                fraction_digits,
                has_infinity,
            } => ColumnConverter::Interval(Interval::new(
                Some(*fields),
                *fraction_digits,
                *has_infinity,
            )),
            SpecialType::Name => ColumnConverter::Name(Name),
            SpecialType::Byte { has_octal } => {
                ColumnConverter::SingleByte(SingleByte::new(*has_octal))
            }
            SpecialType::Money { scale } => ColumnConverter::Money(Money::new(*scale)),
            SpecialType::TimeTz { fraction_digits } => {
                ColumnConverter::TimeTz(TimeTz::new(column, *fraction_digits)?)
            }
            SpecialType::Jsonb => ColumnConverter::Json(Json::members()),
            SpecialType::Array { element } => ColumnConverter::Array(Array::new(column, element)?),
            // Their bytes are not read.
            SpecialType::Native { .. } => ColumnConverter::Binary,
        })
    }

    /// Converts the fields of a column.
    pub fn array(&self, fields: &Fields<'_>, faults: &mut Vec<Fault>) -> Output {
        let array: ArrayRef = match self {
            ColumnConverter::Bool(kernel) => boolean_array(kernel, fields, faults),
            ColumnConverter::DeclaredBool(kernel) => boolean_array(kernel, fields, faults),
            ColumnConverter::Int16(kernel) => {
                primitive_by_eight::<Int16Type, _>(kernel, fields, faults)
            }
            ColumnConverter::Int32(kernel) => {
                primitive_by_eight::<Int32Type, _>(kernel, fields, faults)
            }
            ColumnConverter::Int64(kernel) => {
                primitive_by_eight::<Int64Type, _>(kernel, fields, faults)
            }
            ColumnConverter::Float32(kernel) => primitive::<Float32Type, _>(kernel, fields, faults),
            ColumnConverter::Float64(kernel) => primitive::<Float64Type, _>(kernel, fields, faults),
            ColumnConverter::Decimal(kernel) => {
                let values = simd::values_by_eight(kernel, fields, faults);
                let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls(fields));
                // The scale is at most 38.
                let data_type = DataType::Decimal128(kernel.precision, kernel.scale as i8);
                Arc::new(array.with_data_type(data_type))
            }
            ColumnConverter::Date(kernel) => {
                primitive_by_eight::<Date32Type, _>(kernel, fields, faults)
            }
            ColumnConverter::Time(kernel) => {
                primitive::<Time64MicrosecondType, _>(kernel, fields, faults)
            }
            ColumnConverter::Timestamp(kernel) => {
                primitive_by_eight::<TimestampMicrosecondType, _>(kernel, fields, faults)
            }
            ColumnConverter::TimestampTz(kernel) => {
                let values = simd::values(kernel, fields, faults);
                let array =
                    PrimitiveArray::<TimestampMicrosecondType>::new(values.into(), nulls(fields));
                Arc::new(array.with_timezone("UTC"))
            }
            ColumnConverter::Interval(kernel) => interval_array(kernel, fields, faults),
            ColumnConverter::Uuid(kernel) => {
                let bytes = simd::values(kernel, fields, faults).into_flattened();
                Arc::new(FixedSizeBinaryArray::new(
                    16,
                    Buffer::from_vec(bytes),
                    nulls(fields),
                ))
            }
            ColumnConverter::Binary => bytea::array(fields, nulls(fields), faults),
            ColumnConverter::Text(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::DecimalText(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::Json(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::Enum(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::Opaque(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::Name(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::SingleByte(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::Array(kernel) => {
                return Output::Text(view_array::build(kernel, fields, nulls(fields), faults));
            }
            ColumnConverter::Money(kernel) => {
                let values = simd::values(kernel, fields, faults);
                let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls(fields));
                let data_type = SpecialType::Money { scale: 2 }.arrow();
                Arc::new(array.with_data_type(data_type))
            }
            ColumnConverter::TimeTz(kernel) => {
                let bytes = simd::values(kernel, fields, faults).into_flattened();
                Arc::new(FixedSizeBinaryArray::new(
                    TIME_TZ_BYTES,
                    Buffer::from_vec(bytes),
                    nulls(fields),
                ))
            }
        };
        Output::Array(array)
    }

    /// The number of values that the kernel has rounded since the last call.
    pub fn take_rounded_count(&self) -> u64 {
        match self {
            ColumnConverter::Time(kernel) => kernel.take_rounded_count(),
            ColumnConverter::Timestamp(kernel) => kernel.take_rounded_count(),
            ColumnConverter::TimestampTz(kernel) => kernel.take_rounded_count(),
            ColumnConverter::TimeTz(kernel) => kernel.take_rounded_count(),
            _ => 0,
        }
    }

    /// Checks a text that the package gives for this column.
    pub fn check_text(&self, text: &[u8]) -> Result<(), ValueError> {
        let mut padded = text.to_vec();
        padded.resize(text.len() + WINDOW_BYTES, 0);
        let spans = [Span {
            start: 0,
            length: text.len() as u32,
        }];
        let fields = Fields {
            spans: &spans,
            is_plain: true,
            null_count: 0,
            text: &padded,
            unescaped: &[],
            ascii: 0..0,
            instructions: Instructions::best(),
        };
        let mut faults = Vec::new();
        if text.contains(&0) {
            return Err(nul_error());
        }
        // The values themselves are not needed.
        let _ = self.array(&fields, &mut faults);
        self.take_rounded_count();
        match faults.pop() {
            Some(fault) => Err(fault.error),
            None => Ok(()),
        }
    }

    /// Checks an element of an array.
    pub fn check_element(&self, text: &str) -> Result<(), ValueError> {
        let field = text.as_bytes();
        let mut scratch = String::new();
        let built = &mut Built::at_end_of(&mut scratch);
        match self {
            ColumnConverter::Bool(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::DeclaredBool(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Int16(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Int32(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Int64(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Float32(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Float64(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Decimal(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Date(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Time(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Timestamp(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::TimestampTz(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::TimeTz(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Interval(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Money(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Uuid(kernel) => kernel.exact(field).map(drop),
            ColumnConverter::Binary => bytea::check(field),
            ColumnConverter::DecimalText(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::Text(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::Json(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::Enum(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::Opaque(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::Name(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::SingleByte(kernel) => kernel.check(text, built).map(drop),
            ColumnConverter::Array(kernel) => kernel.check(text, built).map(drop),
        }
    }

    /// One value of a key column.
    pub fn key_value(&self, text: &str) -> Result<KeyValue, ValueError> {
        let field = text.as_bytes();
        match self {
            ColumnConverter::Int16(kernel) => {
                Ok(KeyValue::Integer(i64::from(kernel.exact(field)?)))
            }
            ColumnConverter::Int32(kernel) => {
                Ok(KeyValue::Integer(i64::from(kernel.exact(field)?)))
            }
            ColumnConverter::Int64(kernel) => Ok(KeyValue::Integer(kernel.exact(field)?)),
            ColumnConverter::Date(kernel) => Ok(KeyValue::Date(kernel.exact(field)?)),
            ColumnConverter::Timestamp(kernel) => Ok(KeyValue::Timestamp(kernel.exact(field)?)),
            ColumnConverter::TimestampTz(kernel) => Ok(KeyValue::Timestamp(kernel.exact(field)?)),
            ColumnConverter::Text(kernel) => {
                let length = kernel.kept_length(field)?;
                Ok(KeyValue::Text(text[..length].to_owned()))
            }
            _ => Err(ValueError::syntax(format!(
                "{:?} cannot be a partition key here: keys are integers, dates, timestamps or text",
                String::from_utf8_lossy(trim(field))
            ))),
        }
    }
}

/// The validity of a column; `None` if it has no NULL.
fn nulls(fields: &Fields<'_>) -> Option<NullBuffer> {
    (fields.null_count > 0).then(|| {
        let bits = simd::present_bits(fields.spans, fields.instructions);
        NullBuffer::new(BooleanBuffer::new(bits.into(), 0, fields.spans.len()))
    })
}

fn primitive<T, K>(kernel: &K, fields: &Fields<'_>, faults: &mut Vec<Fault>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    K: Kernel<Native = T::Native>,
{
    let values = simd::values(kernel, fields, faults);
    Arc::new(PrimitiveArray::<T>::new(
        ScalarBuffer::from(values),
        nulls(fields),
    ))
}

fn primitive_by_eight<T, K>(kernel: &K, fields: &Fields<'_>, faults: &mut Vec<Fault>) -> ArrayRef
where
    T: ArrowPrimitiveType,
    K: EightKernel<Native = T::Native>,
{
    let values = simd::values_by_eight(kernel, fields, faults);
    Arc::new(PrimitiveArray::<T>::new(
        ScalarBuffer::from(values),
        nulls(fields),
    ))
}

fn boolean_array<K>(kernel: &K, fields: &Fields<'_>, faults: &mut Vec<Fault>) -> ArrayRef
where
    K: Kernel<Native = bool>,
{
    let values = simd::values(kernel, fields, faults);
    let bits = BooleanBuffer::collect_bool(values.len(), |row| values[row]);
    Arc::new(BooleanArray::new(bits, nulls(fields)))
}

fn interval_array(kernel: &Interval, fields: &Fields<'_>, faults: &mut Vec<Fault>) -> ArrayRef {
    let values = simd::values(kernel, fields, faults);
    let months = values.iter().map(|value| value.months).collect::<Vec<_>>();
    let days = values.iter().map(|value| value.days).collect::<Vec<_>>();
    let microseconds = values
        .iter()
        .map(|value| value.microseconds)
        .collect::<Vec<_>>();
    Arc::new(StructArray::new(
        interval_fields(),
        vec![
            Arc::new(PrimitiveArray::<Int32Type>::new(months.into(), None)),
            Arc::new(PrimitiveArray::<Int32Type>::new(days.into(), None)),
            Arc::new(PrimitiveArray::<Int64Type>::new(microseconds.into(), None)),
        ],
        nulls(fields),
    ))
}
