//! The loader's side of `verify = "rows"`: a hash of each row, column by column, over each value in the form in which
//! the server stores it.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use inrush_destination::sums::{ColumnForm, SumForm};
use inrush_rows::timestamp;

use super::hash::{of_bytes, of_row, of_u32};
use super::jsonb;
use super::numeric;

/// Days from 1970-01-01 to 2000-01-01, PostgreSQL's first day.
const DAYS_1970_TO_2000: i32 = 10_957;

/// Adds a column to the hashes of a batch's rows. Returns the sum of the column's own hashes.
pub(super) fn add(
    form: ColumnForm,
    array: &ArrayRef,
    rows: &mut [u64],
    scratch: &mut Vec<u8>,
) -> i128 {
    match form {
        ColumnForm::Bool => {
            let values = array.as_boolean().values();
            each(array, rows, |row| of_u32(u32::from(values.value(row))))
        }
        ColumnForm::Number(form) => numbers(form, array, rows, scratch),
        ColumnForm::Float4 => {
            let values = array.as_primitive::<Float32Type>().values();
            each(array, rows, |row| of_bytes(&values[row].to_be_bytes()))
        }
        ColumnForm::Float8 => {
            let values = array.as_primitive::<Float64Type>().values();
            each(array, rows, |row| of_bytes(&values[row].to_be_bytes()))
        }
        ColumnForm::Money => {
            let values = array.as_primitive::<Decimal128Type>().values();
            // The converter accepts at most 64 bits.
            each(array, rows, |row| {
                of_bytes(&(values[row] as i64).to_be_bytes())
            })
        }
        ColumnForm::Text | ColumnForm::Enum | ColumnForm::Json => {
            texts(array, rows, |text| of_bytes(text.as_bytes()))
        }
        ColumnForm::PaddedText => texts(array, rows, |text| {
            of_bytes(text.trim_end_matches(' ').as_bytes())
        }),
        ColumnForm::Jsonb => texts(array, rows, |text| {
            scratch.clear();
            // The stored form of `jsonb`: the version number 1, then the text of the value.
            scratch.push(1);
            jsonb::append_canonical(text, scratch);
            of_bytes(scratch)
        }),
        ColumnForm::Bytea => {
            let values = array.as_binary_view();
            each(array, rows, |row| of_bytes(values.value(row)))
        }
        ColumnForm::Uuid | ColumnForm::TimeTz => {
            let values = array.as_fixed_size_binary();
            each(array, rows, |row| of_bytes(values.value(row)))
        }
        ColumnForm::Date => dates(array, rows),
        ColumnForm::Time => {
            let values = array.as_primitive::<Time64MicrosecondType>().values();
            each(array, rows, |row| of_bytes(&values[row].to_be_bytes()))
        }
        ColumnForm::Timestamp | ColumnForm::TimestampTz => {
            let values = array.as_primitive::<TimestampMicrosecondType>().values();
            each(array, rows, |row| {
                of_bytes(&timestamp::to_postgres(values[row]).to_be_bytes())
            })
        }
        ColumnForm::Interval => intervals(array, rows),
        ColumnForm::Opaque => presence(array, rows),
    }
}

fn numbers(form: SumForm, array: &ArrayRef, rows: &mut [u64], scratch: &mut Vec<u8>) -> i128 {
    match form {
        SumForm::Int16 => {
            let values = array.as_primitive::<Int16Type>().values();
            each(array, rows, |row| of_u32(i32::from(values[row]) as u32))
        }
        SumForm::Int32 => {
            let values = array.as_primitive::<Int32Type>().values();
            each(array, rows, |row| of_u32(values[row] as u32))
        }
        SumForm::Int64 => {
            let values = array.as_primitive::<Int64Type>().values();
            each(array, rows, |row| of_bytes(&values[row].to_be_bytes()))
        }
        SumForm::Decimal { scale } => {
            let values = array.as_primitive::<Decimal128Type>().values();
            each(array, rows, |row| {
                scratch.clear();
                numeric::of_decimal(values[row], scale, scratch);
                of_bytes(scratch)
            })
        }
        SumForm::DecimalText { scale } => texts(array, rows, |text| {
            scratch.clear();
            numeric::of_text(text, scale, scratch);
            of_bytes(scratch)
        }),
    }
}

#[inline]
fn texts(array: &ArrayRef, rows: &mut [u64], mut hash: impl FnMut(&str) -> u64) -> i128 {
    let values = array.as_string_view();
    each(array, rows, |row| hash(values.value(row)))
}

fn dates(array: &ArrayRef, rows: &mut [u64]) -> i128 {
    let values = array.as_primitive::<Date32Type>().values();
    each(array, rows, |row| {
        let days = match values[row] {
            infinite @ (i32::MIN | i32::MAX) => infinite,
            days => days.wrapping_sub(DAYS_1970_TO_2000),
        };
        of_u32(days as u32)
    })
}

fn intervals(array: &ArrayRef, rows: &mut [u64]) -> i128 {
    let fields = array.as_struct().columns();
    let months = fields[0].as_primitive::<Int32Type>().values();
    let days = fields[1].as_primitive::<Int32Type>().values();
    let microseconds = fields[2].as_primitive::<Int64Type>().values();
    each(array, rows, |row| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&microseconds[row].to_be_bytes());
        bytes[8..12].copy_from_slice(&days[row].to_be_bytes());
        bytes[12..].copy_from_slice(&months[row].to_be_bytes());
        of_bytes(&bytes)
    })
}

/// For values that only the server reads: true if there is a value. `num_nonnulls` returns 0 or 1.
fn presence(array: &ArrayRef, rows: &mut [u64]) -> i128 {
    let mut sum = 0;
    for (row, slot) in rows.iter_mut().enumerate() {
        let hash = of_u32(u32::from(array.is_valid(row)));
        *slot = of_row(*slot, hash);
        sum += i128::from(hash as i64);
    }
    sum
}

/// Adds the hash of each row's value, 0 for NULL.
#[inline]
fn each(array: &dyn Array, rows: &mut [u64], mut hash: impl FnMut(usize) -> u64) -> i128 {
    let mut sum = 0;
    let mut put = |slot: &mut u64, hash: u64| {
        *slot = of_row(*slot, hash);
        sum += i128::from(hash as i64);
    };
    match array.nulls().filter(|nulls| nulls.null_count() > 0) {
        None => {
            for (row, slot) in rows.iter_mut().enumerate() {
                put(slot, hash(row));
            }
        }
        Some(nulls) => {
            for (row, slot) in rows.iter_mut().enumerate() {
                let hash = if nulls.is_valid(row) { hash(row) } else { 0 };
                put(slot, hash);
            }
        }
    }
    sum
}
