//! Values of a column, from the bytes of TDS ([MS-TDS] 2.2.5.5) to an Arrow array.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::{
    BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, FixedSizeBinaryBuilder,
    Float32Builder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, StringBuilder,
    Time64MicrosecondBuilder, TimestampMicrosecondBuilder,
};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::calendar::DAY_MICROSECONDS;

use crate::collation::{Collation, TextEncoding};
use crate::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN, DATETIME_EPOCH_DAYS};
use crate::type_info::{SqlType, TypeInfo};

/// Digits of a second's fraction in Arrow.
const MICROSECOND_DIGITS: u8 = 6;
const MINUTE_MICROSECONDS: i64 = 60_000_000;

const FINER: &str = "its fraction of a second is finer than a microsecond";
const HALF_CHARACTER: &str = "its text has half of a surrogate pair";
const NOT_UTF8: &str = "its text is not UTF-8";
const NOT_IN_CODE_PAGE: &str = "its text has a byte that is not a character of its code page";

/// The reason why a value is not kept, and the value as text.
pub(super) type Flaw = (&'static str, Vec<u8>);

/// The Arrow type of a column's values. `uniqueidentifier` is 16 bytes, as it is written.
pub fn data_type(sql_type: &SqlType) -> DataType {
    let moment =
        |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    match *sql_type {
        SqlType::Bit => DataType::Boolean,
        SqlType::TinyInt | SqlType::SmallInt => DataType::Int16,
        SqlType::Int => DataType::Int32,
        SqlType::BigInt => DataType::Int64,
        SqlType::Real => DataType::Float32,
        SqlType::Float => DataType::Float64,
        // At most 38 digits.
        SqlType::Decimal {
            precision, scale, ..
        } => DataType::Decimal128(precision, scale as i8),
        SqlType::Money => DataType::Decimal128(19, 4),
        SqlType::SmallMoney => DataType::Decimal128(10, 4),
        SqlType::Date => DataType::Date32,
        SqlType::Time(_) => DataType::Time64(TimeUnit::Microsecond),
        SqlType::DateTime2(_) | SqlType::DateTime | SqlType::SmallDateTime => moment(None),
        SqlType::DateTimeOffset(_) => moment(Some("UTC")),
        SqlType::Char(..)
        | SqlType::VarChar(..)
        | SqlType::NChar(..)
        | SqlType::NVarChar(..)
        | SqlType::Xml => DataType::Utf8,
        SqlType::Binary(_) | SqlType::VarBinary(_) => DataType::Binary,
        SqlType::UniqueIdentifier => DataType::FixedSizeBinary(16),
    }
}

/// The values of a column so far.
#[derive(Debug)]
pub(super) enum Values {
    Bool(BooleanBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Decimal(Decimal128Builder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Moment(TimestampMicrosecondBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Uuid(FixedSizeBinaryBuilder),
}

/// Calls a method that all builders have.
macro_rules! each {
    ($values:expr, $builder:ident => $call:expr) => {
        match $values {
            Values::Bool($builder) => $call,
            Values::Int16($builder) => $call,
            Values::Int32($builder) => $call,
            Values::Int64($builder) => $call,
            Values::Float32($builder) => $call,
            Values::Float64($builder) => $call,
            Values::Decimal($builder) => $call,
            Values::Date($builder) => $call,
            Values::Time($builder) => $call,
            Values::Moment($builder) => $call,
            Values::Text($builder) => $call,
            Values::Bytes($builder) => $call,
            Values::Uuid($builder) => $call,
        }
    };
}

impl Values {
    pub(super) fn new(type_info: &TypeInfo) -> Values {
        let data_type = data_type(&type_info.sql_type);
        match data_type {
            DataType::Boolean => Values::Bool(BooleanBuilder::new()),
            DataType::Int16 => Values::Int16(Int16Builder::new()),
            DataType::Int32 => Values::Int32(Int32Builder::new()),
            DataType::Int64 => Values::Int64(Int64Builder::new()),
            DataType::Float32 => Values::Float32(Float32Builder::new()),
            DataType::Float64 => Values::Float64(Float64Builder::new()),
            DataType::Decimal128(..) => {
                Values::Decimal(Decimal128Builder::new().with_data_type(data_type))
            }
            DataType::Date32 => Values::Date(Date32Builder::new()),
            DataType::Time64(_) => Values::Time(Time64MicrosecondBuilder::new()),
            DataType::Timestamp(..) => {
                Values::Moment(TimestampMicrosecondBuilder::new().with_data_type(data_type))
            }
            DataType::Binary => Values::Bytes(BinaryBuilder::new()),
            DataType::FixedSizeBinary(bytes) => Values::Uuid(FixedSizeBinaryBuilder::new(bytes)),
            _ => Values::Text(StringBuilder::new()),
        }
    }

    pub(super) fn append_null(&mut self) {
        each!(self, builder => builder.append_null());
    }

    pub(super) fn finish(&mut self) -> ArrayRef {
        each!(self, builder => Arc::new(builder.finish()))
    }

    /// Appends a value. If it returns a flaw, NULL was appended. `Err` means that these bytes are no value of the type.
    pub(super) fn append(
        &mut self,
        type_info: &TypeInfo,
        bytes: &[u8],
    ) -> Result<Option<Flaw>, String> {
        let sql_type = type_info.sql_type;
        let wrong = || format!("a value of {type_info} has {} bytes", bytes.len());
        macro_rules! number {
            ($kind:ty) => {
                <$kind>::from_le_bytes(bytes.try_into().map_err(|_| wrong())?)
            };
        }
        match (self, sql_type) {
            (Values::Bool(values), _) => values.append_value(number!(u8) != 0),
            (Values::Int16(values), SqlType::TinyInt) => values.append_value(number!(u8).into()),
            (Values::Int16(values), _) => values.append_value(number!(i16)),
            (Values::Int32(values), _) => values.append_value(number!(i32)),
            (Values::Int64(values), _) => values.append_value(number!(i64)),
            (Values::Float32(values), _) => values.append_value(number!(f32)),
            (Values::Float64(values), _) => values.append_value(number!(f64)),
            (Values::Decimal(values), SqlType::SmallMoney) => {
                values.append_value(number!(i32).into());
            }
            (Values::Decimal(values), SqlType::Money) => {
                // The upper half comes first.
                let halves = number!(u64);
                values.append_value((halves.rotate_left(32) as i64).into());
            }
            (Values::Decimal(values), _) => {
                values.append_value(decimal(bytes).ok_or_else(wrong)?);
            }
            (Values::Date(values), _) => {
                let days = date(bytes).ok_or_else(wrong)?;
                values.append_value(days);
            }
            (Values::Time(values), SqlType::Time(scale)) => {
                match time(bytes, scale).ok_or_else(wrong)? {
                    Ok(microseconds) => values.append_value(microseconds),
                    Err(raw) => {
                        values.append_null();
                        return Ok(Some((FINER, raw)));
                    }
                }
            }
            (Values::Moment(values), _) => match moment(&sql_type, bytes).ok_or_else(wrong)? {
                Ok(microseconds) => values.append_value(microseconds),
                Err(raw) => {
                    values.append_null();
                    return Ok(Some((FINER, raw)));
                }
            },
            (Values::Text(values), _) => match text(&sql_type, bytes) {
                Ok(TextOf::Borrowed(text)) => values.append_value(text),
                Ok(TextOf::Owned(text)) => values.append_value(text),
                Err(reason) => {
                    values.append_null();
                    let raw = String::from_utf8_lossy(bytes).into_owned();
                    return Ok(Some((reason, raw.into_bytes())));
                }
            },
            (Values::Bytes(values), _) => values.append_value(bytes),
            (Values::Uuid(values), _) => {
                let [a, b, c, d, e, f, g, h, rest @ ..]: [u8; 16] =
                    bytes.try_into().map_err(|_| wrong())?;
                let mut written = [0; 16];
                written[..8].copy_from_slice(&[d, c, b, a, f, e, h, g]);
                written[8..].copy_from_slice(&rest);
                // The builder takes values of 16 bytes.
                values
                    .append_value(written)
                    .map_err(|error| error.to_string())?;
            }
            (Values::Time(_), _) => return Err(wrong()),
        }
        Ok(None)
    }
}

/// The number of bytes that a time of day has.
fn time_bytes(scale: u8) -> usize {
    match scale {
        0..=2 => 3,
        3..=4 => 4,
        _ => 5,
    }
}

fn little_endian(bytes: &[u8]) -> u128 {
    let digits = bytes.iter().rev();
    digits.fold(0, |number, byte| number << 8 | u128::from(*byte))
}

/// A sign, then a magnitude of at most 38 digits.
fn decimal(bytes: &[u8]) -> Option<i128> {
    let (sign, magnitude) = bytes.split_first()?;
    if !matches!(magnitude.len(), 4 | 8 | 12 | 16) {
        return None;
    }
    let magnitude = i128::try_from(little_endian(magnitude)).ok()?;
    Some(if *sign == 0 { -magnitude } else { magnitude })
}

/// Days since 1970-01-01.
fn date(bytes: &[u8]) -> Option<i32> {
    let days: &[u8; 3] = bytes.try_into().ok()?;
    // At most 24 bits.
    let days = DATE_DAYS_MIN + little_endian(days) as i32;
    (days <= DATE_DAYS_MAX).then_some(days)
}

/// Microseconds since midnight; `Err` is the time as text if it is finer than a microsecond.
fn time(bytes: &[u8], scale: u8) -> Option<Result<i64, Vec<u8>>> {
    if bytes.len() != time_bytes(scale) || scale > 7 {
        return None;
    }
    // At most 40 bits.
    let ticks = little_endian(bytes) as i64;
    let day = DAY_MICROSECONDS / 1_000_000 * 10i64.pow(scale.into());
    if ticks >= day {
        return None;
    }
    Some(match scale.checked_sub(MICROSECOND_DIGITS) {
        Some(1) if ticks % 10 != 0 => {
            let (seconds, fraction) = (ticks / 10_000_000, ticks % 10_000_000);
            let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
            let text = format!("{hours:02}:{minutes:02}:{:02}.{fraction:07}", seconds % 60);
            Err(text.into_bytes())
        }
        Some(1) => Ok(ticks / 10),
        _ => Ok(ticks * 10i64.pow(u32::from(MICROSECOND_DIGITS - scale))),
    })
}

/// Microseconds since 1970-01-01; `Err` is the time of day as text if it is finer than a microsecond.
fn moment(sql_type: &SqlType, bytes: &[u8]) -> Option<Result<i64, Vec<u8>>> {
    match *sql_type {
        SqlType::DateTime2(scale) => {
            let (of_day, days) = bytes.split_at_checked(time_bytes(scale))?;
            let days = i64::from(date(days)?);
            Some(time(of_day, scale)?.map(|of_day| days * DAY_MICROSECONDS + of_day))
        }
        SqlType::DateTimeOffset(scale) => {
            // The date and the time are in UTC; the offset only says in which zone the value was written.
            let (moment, _offset) = bytes.split_last_chunk::<2>()?;
            self::moment(&SqlType::DateTime2(scale), moment)
        }
        SqlType::DateTime => {
            let (days, ticks) = bytes.split_first_chunk::<4>()?;
            let ticks = i64::from(u32::from_le_bytes(ticks.try_into().ok()?));
            let days = DATETIME_EPOCH_DAYS + i64::from(i32::from_le_bytes(*days));
            if ticks >= 300 * 86_400
                || !(i64::from(DATE_DAYS_MIN)..=DATE_DAYS_MAX.into()).contains(&days)
            {
                return None;
            }
            // The server shows thirds of 10 ms as .000, .003 and .007.
            let milliseconds = (ticks * 10 + 1) / 3;
            Some(Ok(days * DAY_MICROSECONDS + milliseconds * 1_000))
        }
        _ => {
            let (days, minutes) = bytes.split_first_chunk::<2>()?;
            let minutes = i64::from(u16::from_le_bytes(minutes.try_into().ok()?));
            let days = DATETIME_EPOCH_DAYS + i64::from(u16::from_le_bytes(*days));
            (minutes < 1_440).then_some(Ok(days * DAY_MICROSECONDS + minutes * MINUTE_MICROSECONDS))
        }
    }
}

/// A text, without a copy where its bytes are UTF-8 already.
enum TextOf<'a> {
    Borrowed(&'a str),
    Owned(String),
}

fn text<'a>(sql_type: &SqlType, bytes: &'a [u8]) -> Result<TextOf<'a>, &'static str> {
    match sql_type {
        SqlType::Char(_, collation) | SqlType::VarChar(_, collation) => narrow(*collation, bytes),
        _ => {
            let (units, rest) = bytes.as_chunks();
            if !rest.is_empty() {
                return Err("its text has an odd number of bytes");
            }
            let units = units.iter().map(|unit| u16::from_le_bytes(*unit));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            text.map(TextOf::Owned).map_err(|_| HALF_CHARACTER)
        }
    }
}

fn narrow(collation: Collation, bytes: &[u8]) -> Result<TextOf<'_>, &'static str> {
    match collation.encoding() {
        Some(TextEncoding::Utf8) => str::from_utf8(bytes)
            .map(TextOf::Borrowed)
            .map_err(|_| NOT_UTF8),
        // All code pages contain ASCII. Two of its characters differ in code page 932, but Windows reads them as ASCII,
        // too.
        _ if bytes.is_ascii() => str::from_utf8(bytes)
            .map(TextOf::Borrowed)
            .map_err(|_| NOT_UTF8),
        Some(TextEncoding::CodePage(page)) => page
            .decode(bytes)
            .map(TextOf::Owned)
            .ok_or(NOT_IN_CODE_PAGE),
        // A description with an unknown code page is refused.
        None => Err(NOT_IN_CODE_PAGE),
    }
}
