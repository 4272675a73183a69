//! Our side of `verify = "sums"`: what is summed up of each column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use inrush_wire::timestamp;

use super::exact::ExactSum;
use super::form::ColumnForm;

/// Ten to the power of 19: what a large number is cut at, so that many can be added in 128 bits.
const CUT: i128 = 10_i128.pow(19);
const CUT_EXPONENT: i32 = 19;
/// Numbers of more digits before their point are not added up, where the type does not bound them.
const SMALL_DIGITS_MAX: usize = 1_000;
/// A microsecond is a second times ten to the power of this.
const MICROSECOND_EXPONENT: i32 = -6;

/// Adds a column of a batch: its count of values, then what [`ColumnForm::measures`] names.
pub(super) fn add(form: ColumnForm, array: &ArrayRef, sums: &mut [ExactSum]) {
    let (count, sums) = sums.split_first_mut().expect("every column is counted");
    count.add((array.len() - array.null_count()) as i128);
    match form {
        ColumnForm::Bool => {
            let array = array.as_boolean();
            let is_true = match array.nulls() {
                None => array.values().count_set_bits(),
                Some(nulls) => (array.values() & nulls.inner()).count_set_bits(),
            };
            sums[0].add(is_true as i128);
        }
        ColumnForm::Int2 => sums[0].add(whole(array.as_primitive::<Int16Type>(), i128::from)),
        ColumnForm::Int4 => sums[0].add(whole(array.as_primitive::<Int32Type>(), i128::from)),
        ColumnForm::Int8 => sums[0].add(whole(array.as_primitive::<Int64Type>(), i128::from)),
        ColumnForm::Float4 => {
            let bits = |value: f32| i128::from(value.to_bits() as i32);
            sums[0].add(whole(array.as_primitive::<Float32Type>(), bits));
        }
        ColumnForm::Float8 => {
            let bits = |value: f64| i128::from(value.to_bits() as i64);
            sums[0].add(whole(array.as_primitive::<Float64Type>(), bits));
        }
        ColumnForm::Decimal { scale } => {
            let (low, high) = decimals(array.as_primitive());
            sums[0].add_at(-i32::from(scale), low);
            sums[0].add_at(CUT_EXPONENT - i32::from(scale), high);
        }
        ColumnForm::Numeric { scale } => {
            for text in array.as_string_view().iter().flatten() {
                // The server cannot add what is as large as that.
                let is_small = scale.is_some() || whole_digits(text) <= SMALL_DIGITS_MAX;
                if !is_small || !sums[0].add_text(text) {
                    sums[1].add(1);
                }
            }
        }
        ColumnForm::Text | ColumnForm::Enum | ColumnForm::Json => {
            let texts = array.as_string_view().iter().flatten();
            sums[0].add(texts.map(|text| text.len() as i128).sum());
        }
        ColumnForm::PaddedText => {
            let texts = array.as_string_view().iter().flatten();
            let octets = texts.map(|text| text.trim_end_matches(' ').len() as i128);
            sums[0].add(octets.sum());
        }
        ColumnForm::Bytea => {
            let values = array.as_binary_view().iter().flatten();
            sums[0].add(values.map(|bytes| bytes.len() as i128).sum());
        }
        ColumnForm::Date => sums[0].add(whole(array.as_primitive::<Date32Type>(), i128::from)),
        ColumnForm::Time => {
            let sum = whole(array.as_primitive::<Time64MicrosecondType>(), i128::from);
            sums[0].add_at(MICROSECOND_EXPONENT, sum);
        }
        ColumnForm::Timestamp | ColumnForm::TimestampTz => {
            let array = array.as_primitive::<TimestampMicrosecondType>();
            // From 1970 on again, where 128 bits have no end. The infinities, being the ends of 64
            // bits counted from 2000, come out as numbers that no other timestamp has.
            let since_1970 = |number| {
                i128::from(timestamp::to_postgres(number))
                    + i128::from(timestamp::POSTGRES_EPOCH_MICROSECONDS)
            };
            sums[0].add_at(MICROSECOND_EXPONENT, whole(array, since_1970));
        }
        ColumnForm::Interval => {
            let array = array.as_struct();
            let fields = array.columns();
            let is_valid = |row: usize| array.is_valid(row);
            let months = fields[0].as_primitive::<Int32Type>().values();
            let days = fields[1].as_primitive::<Int32Type>().values();
            let microseconds = fields[2].as_primitive::<Int64Type>().values();
            for row in (0..array.len()).filter(|row| is_valid(*row)) {
                sums[0].add(i128::from(microseconds[row]));
                sums[1].add(i128::from(days[row]));
                sums[2].add(i128::from(months[row]));
            }
        }
        ColumnForm::Uuid => {
            let (mut first, mut second) = (0, 0);
            for value in array.as_fixed_size_binary().iter().flatten() {
                let halves = value.as_chunks::<8>().0;
                first += i128::from(i64::from_be_bytes(halves[0]));
                second += i128::from(i64::from_be_bytes(halves[1]));
            }
            sums[0].add(first);
            sums[1].add(second);
        }
        ColumnForm::Jsonb | ColumnForm::Opaque => {}
    }
}

/// The sum of a batch's values, those of NULLs left out. A batch has few enough rows for 128 bits.
fn whole<T: arrow_array::ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    number: impl Fn(T::Native) -> i128,
) -> i128 {
    match array.null_count() {
        0 => array.values().iter().map(|value| number(*value)).sum(),
        _ => array.iter().flatten().map(number).sum(),
    }
}

/// Digits before the point that count.
fn whole_digits(text: &str) -> usize {
    let unsigned = text.trim_start_matches(['-', '+']);
    let whole = unsigned
        .split_once('.')
        .map_or(unsigned, |(whole, _)| whole);
    whole.trim_start_matches('0').len()
}

/// The sum of a batch's decimals, as one part and another that counts [`CUT`].
fn decimals(array: &PrimitiveArray<Decimal128Type>) -> (i128, i128) {
    let (mut low, mut high) = (0, 0);
    let mut add = |value: i128| match i64::try_from(value) {
        Ok(value) => low += i128::from(value),
        Err(_) => {
            high += value / CUT;
            low += value % CUT;
        }
    };
    match array.null_count() {
        0 => array.values().iter().for_each(|value| add(*value)),
        _ => array.iter().flatten().for_each(add),
    }
    (low, high)
}
