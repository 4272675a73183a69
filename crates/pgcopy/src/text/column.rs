//! The columns of a batch by their Arrow types, and how a value of each is written.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{
    Array, BinaryViewArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};

use super::{date_time, escape, format};
use crate::error::ValueFault;
use crate::limits::FIELD_BYTES_MAX;
use crate::pg_type::is_interval;

/// True if values of this Arrow type can be written.
pub(super) fn has_text_form(data_type: &DataType) -> bool {
    match data_type {
        DataType::Boolean
        | DataType::Int16
        | DataType::Int32
        | DataType::Int64
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8View
        | DataType::BinaryView
        | DataType::Date32
        | DataType::Time64(TimeUnit::Microsecond)
        | DataType::Timestamp(TimeUnit::Microsecond, _)
        | DataType::FixedSizeBinary(12 | 16) => true,
        DataType::Decimal128(_, scale) => (0..=38).contains(scale),
        data_type => is_interval(data_type),
    }
}

/// A column of a batch.
pub(super) struct Column<'a> {
    nulls: Option<&'a NullBuffer>,
    values: Values<'a>,
}

enum Values<'a> {
    Bool(&'a BooleanArray),
    Int16(&'a PrimitiveArray<Int16Type>),
    Int32(&'a PrimitiveArray<Int32Type>),
    Int64(&'a PrimitiveArray<Int64Type>),
    Float32(&'a PrimitiveArray<Float32Type>),
    Float64(&'a PrimitiveArray<Float64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>, usize),
    Text(&'a StringViewArray),
    Binary(&'a BinaryViewArray),
    Date(&'a PrimitiveArray<Date32Type>),
    Time(&'a PrimitiveArray<Time64MicrosecondType>),
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>, &'static str),
    Uuid(&'a FixedSizeBinaryArray),
    TimeTz(&'a FixedSizeBinaryArray),
    Interval {
        months: &'a PrimitiveArray<Int32Type>,
        days: &'a PrimitiveArray<Int32Type>,
        microseconds: &'a PrimitiveArray<Int64Type>,
        are_finite: bool,
    },
}

impl<'a> Column<'a> {
    /// The column of an array whose type [`has_text_form`]. If intervals are finite, none of
    /// them stands for infinity.
    pub(super) fn new(array: &'a dyn Array, intervals_are_finite: bool) -> Column<'a> {
        let values = match array.data_type() {
            DataType::Boolean => Values::Bool(array.as_boolean()),
            DataType::Int16 => Values::Int16(array.as_primitive()),
            DataType::Int32 => Values::Int32(array.as_primitive()),
            DataType::Int64 => Values::Int64(array.as_primitive()),
            DataType::Float32 => Values::Float32(array.as_primitive()),
            DataType::Float64 => Values::Float64(array.as_primitive()),
            DataType::Decimal128(_, scale) => {
                Values::Decimal(array.as_primitive(), *scale as usize)
            }
            DataType::Utf8View => Values::Text(array.as_string_view()),
            DataType::BinaryView => Values::Binary(array.as_binary_view()),
            DataType::Date32 => Values::Date(array.as_primitive()),
            DataType::Time64(_) => Values::Time(array.as_primitive()),
            DataType::Timestamp(_, zone) => {
                // The values are in UTC, whatever zone the column has.
                let offset = if zone.is_some() { "+00" } else { "" };
                Values::Timestamp(array.as_primitive(), offset)
            }
            DataType::FixedSizeBinary(12) => Values::TimeTz(array.as_fixed_size_binary()),
            DataType::FixedSizeBinary(_) => Values::Uuid(array.as_fixed_size_binary()),
            DataType::Struct(_) => {
                let fields = array.as_struct().columns();
                Values::Interval {
                    months: fields[0].as_primitive(),
                    days: fields[1].as_primitive(),
                    microseconds: fields[2].as_primitive(),
                    are_finite: intervals_are_finite,
                }
            }
            other => unreachable!("the schema has been checked, but {other} is in it"),
        };
        Column {
            nulls: array.nulls(),
            values,
        }
    }

    /// Appends the field of a row.
    pub(super) fn append(&self, row: usize, out: &mut Vec<u8>) -> Result<(), ValueFault> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            out.extend_from_slice(b"\\N");
            return Ok(());
        }
        match &self.values {
            Values::Bool(array) => out.push(if array.value(row) { b't' } else { b'f' }),
            Values::Int16(array) => format::append_integer(array.value(row).into(), out),
            Values::Int32(array) => format::append_integer(array.value(row).into(), out),
            Values::Int64(array) => format::append_integer(array.value(row), out),
            Values::Float32(array) => format::append_float32(array.value(row), out),
            Values::Float64(array) => format::append_float64(array.value(row), out),
            Values::Decimal(array, scale) => {
                format::append_decimal(array.value(row), *scale, out);
            }
            Values::Text(array) => {
                let text = array.value(row).as_bytes();
                check_length(text)?;
                escape::append_escaped(text, out);
            }
            Values::Binary(array) => {
                let bytes = array.value(row);
                check_length(bytes)?;
                format::append_bytea(bytes, out);
            }
            Values::Date(array) => date_time::append_date(array.value(row), out)?,
            Values::Time(array) => date_time::append_time(array.value(row), out)?,
            Values::Timestamp(array, offset) => {
                date_time::append_timestamp(array.value(row), offset, out)?;
            }
            Values::Uuid(array) => format::append_uuid(array.value(row), out),
            Values::TimeTz(array) => date_time::append_time_tz(array.value(row), out)?,
            Values::Interval {
                months,
                days,
                microseconds,
                are_finite,
            } => {
                let parts = (months.value(row), days.value(row), microseconds.value(row));
                date_time::append_interval(parts, *are_finite, out);
            }
        }
        Ok(())
    }
}

fn check_length(bytes: &[u8]) -> Result<(), ValueFault> {
    if bytes.len() > FIELD_BYTES_MAX as usize {
        let field_bytes = bytes.len() as u64;
        return Err(ValueFault::FieldTooLong { field_bytes });
    }
    Ok(())
}
