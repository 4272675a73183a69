//! The kernels of types whose fields have a fixed length.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type,
    Int64Type, Time64MicrosecondType, TimestampMicrosecondType, UInt64Type,
};
use arrow_array::{ArrayRef, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StructArray};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_schema::{DataType, Field, Fields as ArrowFields};
use inrush_rows::timestamp;

use super::error::DecodeError;
use super::fields::Fields;
use super::texts::{self, BadText};
use crate::limits::{DATE_DAYS_MAX, DATE_DAYS_MIN, POSTGRES_EPOCH_DAYS, TIME_MICROSECONDS_MAX};
use crate::pg_type::PgType;

/// Digits of the largest 64-bit number, which `money` is stored as.
const MONEY_PRECISION: u8 = 19;
/// The number of digits after the decimal point of `money` in our sessions.
const MONEY_SCALE: i8 = 2;

/// The array of a column of any type but `numeric`.
pub(super) fn array(
    pg_type: PgType,
    fields: &Fields<'_>,
    block: &Buffer,
    bad_texts: &mut Vec<BadText>,
) -> Result<ArrayRef, DecodeError> {
    Ok(match pg_type {
        PgType::Bool => booleans(fields)?,
        PgType::Int2 => primitive::<Int16Type, 2>(fields, |word| Ok(i16::from_be_bytes(word)))?,
        PgType::Int4 => primitive::<Int32Type, 4>(fields, |word| Ok(i32::from_be_bytes(word)))?,
        PgType::Int8 => primitive::<Int64Type, 8>(fields, |word| Ok(i64::from_be_bytes(word)))?,
        PgType::Float4 => primitive::<Float32Type, 4>(fields, |word| Ok(f32::from_be_bytes(word)))?,
        PgType::Float8 => primitive::<Float64Type, 8>(fields, |word| Ok(f64::from_be_bytes(word)))?,
        PgType::Date => primitive::<Date32Type, 4>(fields, date)?,
        PgType::Time => primitive::<Time64MicrosecondType, 8>(fields, time)?,
        PgType::Timestamp => primitive::<TimestampMicrosecondType, 8>(fields, moment)?,
        PgType::Money => {
            let values =
                of::<Decimal128Type, 8>(fields, |word| Ok(i64::from_be_bytes(word).into()))?;
            Arc::new(values.with_data_type(DataType::Decimal128(MONEY_PRECISION, MONEY_SCALE)))
        }
        PgType::Interval => intervals(fields)?,
        PgType::Uuid => fixed_bytes::<16>(fields)?,
        PgType::TimeTz => fixed_bytes::<12>(fields)?,
        PgType::Char => texts::bytes_of_char(fields)?,
        PgType::Bytea => texts::binary(fields, block)?,
        PgType::Text | PgType::Numeric => texts::array(fields, block, 0, bad_texts)?,
        PgType::Jsonb => texts::jsonb(fields, block, bad_texts)?,
    })
}

/// Places of rows in their table.
pub(super) fn tids(fields: &Fields<'_>) -> Result<ArrayRef, DecodeError> {
    primitive::<UInt64Type, 6>(fields, |[a, b, c, d, e, f]| {
        Ok(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    })
}

/// Why a word is not a value of its type.
type Misfit = String;

fn date(word: [u8; 4]) -> Result<i32, Misfit> {
    let days = i32::from_be_bytes(word);
    if days == i32::MIN || days == i32::MAX {
        return Ok(days);
    }
    let since_1970 = days.checked_add(POSTGRES_EPOCH_DAYS);
    since_1970
        .filter(|days| (DATE_DAYS_MIN..=DATE_DAYS_MAX).contains(days))
        .ok_or_else(|| format!("{days} days since 2000-01-01 are outside the range of date"))
}

fn time(word: [u8; 8]) -> Result<i64, Misfit> {
    let microseconds = i64::from_be_bytes(word);
    match (0..=TIME_MICROSECONDS_MAX).contains(&microseconds) {
        true => Ok(microseconds),
        false => Err(format!("{microseconds} microseconds are no time of day")),
    }
}

fn moment(word: [u8; 8]) -> Result<i64, Misfit> {
    let microseconds = i64::from_be_bytes(word);
    let is_infinite = microseconds == i64::MIN || microseconds == i64::MAX;
    let range = timestamp::POSTGRES_MIN..=timestamp::POSTGRES_MAX;
    match is_infinite || range.contains(&microseconds) {
        true => Ok(timestamp::from_postgres(microseconds)),
        false => Err(format!(
            "{microseconds} microseconds since 2000-01-01 are outside the range of timestamp"
        )),
    }
}

fn primitive<T: ArrowPrimitiveType, const N: usize>(
    fields: &Fields<'_>,
    value: impl Fn([u8; N]) -> Result<T::Native, Misfit>,
) -> Result<ArrayRef, DecodeError> {
    Ok(Arc::new(of::<T, N>(fields, value)?))
}

fn of<T: ArrowPrimitiveType, const N: usize>(
    fields: &Fields<'_>,
    value: impl Fn([u8; N]) -> Result<T::Native, Misfit>,
) -> Result<PrimitiveArray<T>, DecodeError> {
    let (values, nulls) = words::<T::Native, N>(fields, value)?;
    Ok(PrimitiveArray::new(values.into(), nulls))
}

/// The values of fields of `N` bytes, and which are NULL.
fn words<V: Default, const N: usize>(
    fields: &Fields<'_>,
    value: impl Fn([u8; N]) -> Result<V, Misfit>,
) -> Result<(Vec<V>, Option<NullBuffer>), DecodeError> {
    let mut values = Vec::with_capacity(fields.len());
    let mut nulls = Nulls::default();
    for (row, field) in fields.iter().enumerate() {
        let Some((_, bytes)) = field else {
            nulls.add(row);
            values.push(V::default());
            continue;
        };
        let Ok(word) = <[u8; N]>::try_from(bytes) else {
            let what = format!("the field has {} bytes, but a value has {N}", bytes.len());
            return Err(fields.fault(row, what));
        };
        values.push(value(word).map_err(|what| fields.fault(row, what))?);
    }
    Ok((values, nulls.finish(fields.len())))
}

/// The rows that are NULL.
#[derive(Default)]
pub(super) struct Nulls(Vec<usize>);

impl Nulls {
    pub(super) fn add(&mut self, row: usize) {
        self.0.push(row);
    }

    pub(super) fn finish(self, row_count: usize) -> Option<NullBuffer> {
        if self.0.is_empty() {
            return None;
        }
        let mut valid = vec![true; row_count];
        for row in self.0 {
            valid[row] = false;
        }
        Some(NullBuffer::from(valid))
    }
}

fn booleans(fields: &Fields<'_>) -> Result<ArrayRef, DecodeError> {
    let (values, nulls) = words::<bool, 1>(fields, |[byte]| match byte {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(format!("a boolean is 0 or 1, not {other}")),
    })?;
    Ok(Arc::new(BooleanArray::new(values.into(), nulls)))
}

fn fixed_bytes<const N: usize>(fields: &Fields<'_>) -> Result<ArrayRef, DecodeError>
where
    [u8; N]: Default,
{
    let (values, nulls) = words::<[u8; N], N>(fields, Ok)?;
    let bytes = Buffer::from_vec(values.into_flattened());
    Ok(Arc::new(FixedSizeBinaryArray::new(N as i32, bytes, nulls)))
}

fn intervals(fields: &Fields<'_>) -> Result<ArrayRef, DecodeError> {
    let (values, nulls) = words::<(i32, i32, i64), 16>(fields, |word| {
        // interval_send: the time as an int64, then days, then months.
        let all = u128::from_be_bytes(word);
        Ok((
            all as u32 as i32,
            (all >> 32) as u32 as i32,
            (all >> 64) as i64,
        ))
    })?;
    let int32 = |of: fn(&(i32, i32, i64)) -> i32| -> ArrayRef {
        Arc::new(PrimitiveArray::<Int32Type>::from_iter_values(
            values.iter().map(of),
        ))
    };
    let microseconds = values.iter().map(|value| value.2);
    let columns: Vec<ArrayRef> = vec![
        int32(|value| value.0),
        int32(|value| value.1),
        Arc::new(PrimitiveArray::<Int64Type>::from_iter_values(microseconds)),
    ];
    let fields = ArrowFields::from(vec![
        Field::new("months", DataType::Int32, false),
        Field::new("days", DataType::Int32, false),
        Field::new("microseconds", DataType::Int64, false),
    ]);
    Ok(Arc::new(StructArray::new(fields, columns, nulls)))
}
