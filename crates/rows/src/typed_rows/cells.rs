//! The exact text of values: for numbers, the shortest text that reads back as the same number; ISO 8601 for times;
//! `\x` and hex digits for bytes.
//!
//! A 32-bit float is written as the 64-bit float that it equals, so that neither column type changes it.

use std::io::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType,
    Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    IntervalDayTimeType, IntervalMonthDayNanoType, IntervalYearMonthType, Time32MillisecondType,
    Time32SecondType, Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, BooleanArray, FixedSizeBinaryArray,
    LargeBinaryArray, LargeStringArray, PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, IntervalUnit, TimeUnit};

use super::times;

/// The values of one column of a batch.
pub struct Cells {
    nulls: Option<NullBuffer>,
    values: Values,
}

enum Values {
    /// Values of a type without a text: all count as NULL, and no column can be filled with them.
    Unread,
    Null,
    Boolean(BooleanArray),
    Int8(PrimitiveArray<Int8Type>),
    Int16(PrimitiveArray<Int16Type>),
    Int32(PrimitiveArray<Int32Type>),
    Int64(PrimitiveArray<Int64Type>),
    UInt8(PrimitiveArray<UInt8Type>),
    UInt16(PrimitiveArray<UInt16Type>),
    UInt32(PrimitiveArray<UInt32Type>),
    UInt64(PrimitiveArray<UInt64Type>),
    Float16(PrimitiveArray<Float16Type>),
    Float32(PrimitiveArray<Float32Type>),
    Float64(PrimitiveArray<Float64Type>),
    /// Decimals of up to 128 bits, with the number of digits after the point.
    Decimal32(PrimitiveArray<Decimal32Type>, i8),
    Decimal64(PrimitiveArray<Decimal64Type>, i8),
    Decimal128(PrimitiveArray<Decimal128Type>, i8),
    Decimal256(PrimitiveArray<Decimal256Type>, i8),
    Text(StringArray),
    LargeText(LargeStringArray),
    TextView(StringViewArray),
    Bytes(BinaryArray),
    LargeBytes(LargeBinaryArray),
    BytesView(BinaryViewArray),
    FixedBytes(FixedSizeBinaryArray),
    Uuid(FixedSizeBinaryArray),
    Date32(PrimitiveArray<Date32Type>),
    Date64(PrimitiveArray<Date64Type>),
    /// Times of the day, in this unit.
    Time32(ArrayRef, TimeUnit),
    Time64(ArrayRef, TimeUnit),
    /// Times since 1970, in this unit. The flag is true if they are written with an offset from UTC, and false if their
    /// zone is unnamed.
    Timestamp(PrimitiveArray<Int64Type>, TimeUnit, bool),
    Duration(PrimitiveArray<Int64Type>, TimeUnit),
    Months(PrimitiveArray<IntervalYearMonthType>),
    DayTime(PrimitiveArray<IntervalDayTimeType>),
    MonthDayNano(PrimitiveArray<IntervalMonthDayNanoType>),
    /// Values of a dictionary, to which rows point.
    Dictionary(Vec<usize>, Box<Cells>),
}

/// True if values of a type can be written as text.
pub fn is_readable(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => is_readable(values),
        DataType::List(_)
        | DataType::LargeList(_)
        | DataType::ListView(_)
        | DataType::LargeListView(_)
        | DataType::FixedSizeList(_, _)
        | DataType::Struct(_)
        | DataType::Map(_, _)
        | DataType::Union(_, _)
        | DataType::RunEndEncoded(_, _) => false,
        _ => true,
    }
}

/// Appends a row as a record.
pub fn append_row(columns: &[Cells], row: usize, out: &mut Vec<u8>) {
    for (index, cells) in columns.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        cells.append(row, out);
    }
    out.push(b'\n');
}

impl Cells {
    /// The cells of a column that is not read.
    pub fn unread() -> Cells {
        Cells {
            nulls: None,
            values: Values::Unread,
        }
    }

    /// The values of a column; `None` if its type has no text.
    pub fn of(column: &ArrayRef, is_uuid: bool) -> Option<Cells> {
        let values = match column.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Boolean(column.as_boolean().clone()),
            DataType::Int8 => Values::Int8(column.as_primitive().clone()),
            DataType::Int16 => Values::Int16(column.as_primitive().clone()),
            DataType::Int32 => Values::Int32(column.as_primitive().clone()),
            DataType::Int64 => Values::Int64(column.as_primitive().clone()),
            DataType::UInt8 => Values::UInt8(column.as_primitive().clone()),
            DataType::UInt16 => Values::UInt16(column.as_primitive().clone()),
            DataType::UInt32 => Values::UInt32(column.as_primitive().clone()),
            DataType::UInt64 => Values::UInt64(column.as_primitive().clone()),
            DataType::Float16 => Values::Float16(column.as_primitive().clone()),
            DataType::Float32 => Values::Float32(column.as_primitive().clone()),
            DataType::Float64 => Values::Float64(column.as_primitive().clone()),
            DataType::Decimal32(_, scale) => {
                Values::Decimal32(column.as_primitive().clone(), *scale)
            }
            DataType::Decimal64(_, scale) => {
                Values::Decimal64(column.as_primitive().clone(), *scale)
            }
            DataType::Decimal128(_, scale) => {
                Values::Decimal128(column.as_primitive().clone(), *scale)
            }
            DataType::Decimal256(_, scale) => {
                Values::Decimal256(column.as_primitive().clone(), *scale)
            }
            DataType::Utf8 => Values::Text(column.as_string().clone()),
            DataType::LargeUtf8 => Values::LargeText(column.as_string().clone()),
            DataType::Utf8View => Values::TextView(column.as_string_view().clone()),
            DataType::Binary => Values::Bytes(column.as_binary().clone()),
            DataType::LargeBinary => Values::LargeBytes(column.as_binary().clone()),
            DataType::BinaryView => Values::BytesView(column.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => match is_uuid {
                true => Values::Uuid(column.as_fixed_size_binary().clone()),
                false => Values::FixedBytes(column.as_fixed_size_binary().clone()),
            },
            DataType::Date32 => Values::Date32(column.as_primitive().clone()),
            DataType::Date64 => Values::Date64(column.as_primitive().clone()),
            DataType::Time32(unit) => Values::Time32(column.clone(), *unit),
            DataType::Time64(unit) => Values::Time64(column.clone(), *unit),
            DataType::Timestamp(unit, zone) => {
                let counts = match unit {
                    TimeUnit::Second => column
                        .as_primitive::<TimestampSecondType>()
                        .reinterpret_cast(),
                    TimeUnit::Millisecond => column
                        .as_primitive::<TimestampMillisecondType>()
                        .reinterpret_cast(),
                    TimeUnit::Microsecond => column
                        .as_primitive::<TimestampMicrosecondType>()
                        .reinterpret_cast(),
                    TimeUnit::Nanosecond => column
                        .as_primitive::<TimestampNanosecondType>()
                        .reinterpret_cast(),
                };
                Values::Timestamp(counts, *unit, zone.is_some())
            }
            DataType::Duration(unit) => {
                let counts = match unit {
                    TimeUnit::Second => column
                        .as_primitive::<DurationSecondType>()
                        .reinterpret_cast(),
                    TimeUnit::Millisecond => column
                        .as_primitive::<DurationMillisecondType>()
                        .reinterpret_cast(),
                    TimeUnit::Microsecond => column
                        .as_primitive::<DurationMicrosecondType>()
                        .reinterpret_cast(),
                    TimeUnit::Nanosecond => column
                        .as_primitive::<DurationNanosecondType>()
                        .reinterpret_cast(),
                };
                Values::Duration(counts, *unit)
            }
            DataType::Interval(IntervalUnit::YearMonth) => {
                Values::Months(column.as_primitive().clone())
            }
            DataType::Interval(IntervalUnit::DayTime) => {
                Values::DayTime(column.as_primitive().clone())
            }
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                Values::MonthDayNano(column.as_primitive().clone())
            }
            DataType::Dictionary(_, _) => {
                let dictionary = column.as_any_dictionary_opt()?;
                let values = Cells::of(dictionary.values(), is_uuid)?;
                // If a dictionary is empty, all rows are NULL.
                let keys = match dictionary.values().is_empty() {
                    true => vec![0; column.len()],
                    false => dictionary.normalized_keys(),
                };
                Values::Dictionary(keys, Box::new(values))
            }
            _ => return None,
        };
        Some(Cells {
            nulls: column.nulls().cloned(),
            values,
        })
    }

    /// Appends a row's value as a field; nothing for NULL.
    pub fn append(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return;
        }
        match &self.values {
            Values::Unread | Values::Null => {}
            Values::Boolean(values) => out.push(match values.value(row) {
                true => b't',
                false => b'f',
            }),
            Values::Int8(values) => append_integer(values.value(row), out),
            Values::Int16(values) => append_integer(values.value(row), out),
            Values::Int32(values) => append_integer(values.value(row), out),
            Values::Int64(values) => append_integer(values.value(row), out),
            Values::UInt8(values) => append_integer(values.value(row), out),
            Values::UInt16(values) => append_integer(values.value(row), out),
            Values::UInt32(values) => append_integer(values.value(row), out),
            Values::UInt64(values) => append_integer(values.value(row), out),
            Values::Float16(values) => append_float(values.value(row).to_f64(), out),
            Values::Float32(values) => append_float(values.value(row).into(), out),
            Values::Float64(values) => append_float(values.value(row), out),
            Values::Decimal32(values, scale) => {
                append_decimal(values.value(row).into(), *scale, out);
            }
            Values::Decimal64(values, scale) => {
                append_decimal(values.value(row).into(), *scale, out);
            }
            Values::Decimal128(values, scale) => append_decimal(values.value(row), *scale, out),
            Values::Decimal256(values, scale) => {
                append_digits(&values.value(row).to_string(), *scale, out);
            }
            Values::Text(values) => append_text(values.value(row).as_bytes(), out),
            Values::LargeText(values) => append_text(values.value(row).as_bytes(), out),
            Values::TextView(values) => append_text(values.value(row).as_bytes(), out),
            Values::Bytes(values) => append_bytes(values.value(row), out),
            Values::LargeBytes(values) => append_bytes(values.value(row), out),
            Values::BytesView(values) => append_bytes(values.value(row), out),
            Values::FixedBytes(values) => append_bytes(values.value(row), out),
            Values::Uuid(values) => append_uuid(values.value(row), out),
            Values::Date32(values) => times::append_date(values.value(row).into(), out),
            Values::Date64(values) => {
                let count = values.value(row);
                match count.checked_rem(times::MILLISECONDS_PER_DAY) {
                    Some(0) => times::append_date(count / times::MILLISECONDS_PER_DAY, out),
                    _ => times::append_timestamp(count, TimeUnit::Millisecond, false, out),
                }
            }
            Values::Time32(values, unit) => {
                let count = match unit {
                    TimeUnit::Second => values.as_primitive::<Time32SecondType>().value(row),
                    _ => values.as_primitive::<Time32MillisecondType>().value(row),
                };
                times::append_clock(count.into(), *unit, out);
            }
            Values::Time64(values, unit) => {
                let count = match unit {
                    TimeUnit::Microsecond => {
                        values.as_primitive::<Time64MicrosecondType>().value(row)
                    }
                    _ => values.as_primitive::<Time64NanosecondType>().value(row),
                };
                times::append_clock(count, *unit, out);
            }
            Values::Timestamp(values, unit, has_zone) => {
                times::append_timestamp(values.value(row), *unit, *has_zone, out);
            }
            Values::Duration(values, unit) => {
                times::append_clock(values.value(row), *unit, out);
            }
            Values::Months(values) => {
                append_integer(values.value(row), out);
                out.extend_from_slice(b" mons");
            }
            Values::DayTime(values) => {
                let value = values.value(row);
                append_integer(value.days, out);
                out.extend_from_slice(b" days ");
                times::append_clock(value.milliseconds.into(), TimeUnit::Millisecond, out);
            }
            Values::MonthDayNano(values) => {
                let value = values.value(row);
                append_integer(value.months, out);
                out.extend_from_slice(b" mons ");
                append_integer(value.days, out);
                out.extend_from_slice(b" days ");
                times::append_clock(value.nanoseconds, TimeUnit::Nanosecond, out);
            }
            Values::Dictionary(keys, values) => values.append(keys[row], out),
        }
    }
}

/// Appends a text, in quotes if CSV would read it differently without them.
pub fn append_text(text: &[u8], out: &mut Vec<u8>) {
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r' | b'\\');
    // The loop has no branch for each byte.
    let any_special = text.iter().fold(false, |any, byte| any | is_special(byte));
    if !any_special && !text.is_empty() {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'"', rest) {
        out.extend_from_slice(&rest[..=at]);
        out.push(b'"');
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn append_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"\\x");
    append_hex(bytes, out);
}

/// Appends a UUID as databases write it, with a dash after the 8th, 12th, 16th and 20th digit.
fn append_uuid(bytes: &[u8], out: &mut Vec<u8>) {
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        append_hex(std::slice::from_ref(byte), out);
    }
}

fn append_hex(bytes: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.extend(bytes.iter().flat_map(|byte| {
        [
            DIGITS[usize::from(byte >> 4)],
            DIGITS[usize::from(byte & 15)],
        ]
    }));
}

pub fn append_integer(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Whole numbers below this value fit into 128 bits.
const WHOLE_MAX: f64 = 1e38;

/// The shortest text that reads back as the same number; for a whole number, all digits.
fn append_float(value: f64, out: &mut Vec<u8>) {
    if value.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if value.is_infinite() {
        out.extend_from_slice(if value > 0.0 {
            b"Infinity"
        } else {
            b"-Infinity"
        });
    } else if value == 0.0 {
        // `Display` keeps the sign of zero.
        let _ = write!(out, "{value}");
    } else if value.abs() < WHOLE_MAX && value.trunc() == value {
        append_integer(value as i128, out);
    } else {
        let _ = write!(out, "{value:?}");
    }
}

fn append_decimal(value: i128, scale: i8, out: &mut Vec<u8>) {
    let mut buffer = itoa::Buffer::new();
    match i64::try_from(value) {
        Ok(value) => append_digits(buffer.format(value), scale, out),
        Err(_) => append_digits(buffer.format(value), scale, out),
    }
}

/// Appends a whole number with a point before its last `scale` digits.
fn append_digits(number: &str, scale: i8, out: &mut Vec<u8>) {
    let digits = match number.strip_prefix('-') {
        Some(digits) => {
            out.push(b'-');
            digits.as_bytes()
        }
        None => number.as_bytes(),
    };
    let Ok(scale) = usize::try_from(scale) else {
        out.extend_from_slice(digits);
        if digits != b"0" {
            out.resize(out.len() + usize::from(scale.unsigned_abs()), b'0');
        }
        return;
    };
    if scale == 0 {
        out.extend_from_slice(digits);
    } else if let Some(point) = digits.len().checked_sub(scale).filter(|point| *point > 0) {
        out.extend_from_slice(&digits[..point]);
        out.push(b'.');
        out.extend_from_slice(&digits[point..]);
    } else {
        out.extend_from_slice(b"0.");
        out.resize(out.len() + scale - digits.len(), b'0');
        out.extend_from_slice(digits);
    }
}
