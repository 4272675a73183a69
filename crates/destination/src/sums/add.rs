//! Adds the values of Arrow columns to sums.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use inrush_rows::timestamp;

use super::exact::ExactSum;
use super::form::ColumnForm;
use super::number::{add_count, whole};

/// The power of ten of a microsecond.
const MICROSECOND_EXPONENT: i32 = -6;

impl ColumnForm {
    /// Adds a column of a batch: its count of values, then the sums that [`ColumnForm::measures`] names.
    ///
    /// The array has the type of [`ColumnType::arrow`](inrush_rows::column_type::ColumnType::arrow).
    pub fn add(self, array: &ArrayRef, sums: &mut [ExactSum]) {
        let (count, sums) = sums.split_first_mut().expect("every column is counted");
        add_count(array, count);
        match self {
            ColumnForm::Bool => {
                let array = array.as_boolean();
                let is_true = match array.nulls() {
                    None => array.values().count_set_bits(),
                    Some(nulls) => (array.values() & nulls.inner()).count_set_bits(),
                };
                sums[0].add(is_true as i128);
            }
            ColumnForm::Number(number) => number.add(array, sums),
            ColumnForm::Float4 => {
                let bits = |value: f32| i128::from(value.to_bits() as i32);
                sums[0].add(whole(array.as_primitive::<Float32Type>(), bits));
            }
            ColumnForm::Float8 => {
                let bits = |value: f64| i128::from(value.to_bits() as i64);
                sums[0].add(whole(array.as_primitive::<Float64Type>(), bits));
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
                // Counted from 1970 again, where 128 bits cannot overflow. The infinities are the smallest and largest
                // 64-bit numbers counted from 2000, so they become numbers that no other timestamp has.
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
            ColumnForm::Money => {
                let values = array.as_primitive::<Decimal128Type>().iter().flatten();
                sums[0].add(values.sum());
            }
            ColumnForm::TimeTz => {
                let values = array.as_fixed_size_binary().iter().flatten();
                for (time, zone) in values.filter_map(<[u8]>::split_first_chunk) {
                    let zone = zone.first_chunk().copied().unwrap_or_default();
                    sums[0].add(i128::from(i64::from_be_bytes(*time)));
                    sums[1].add(i128::from(i32::from_be_bytes(zone)));
                }
            }
            ColumnForm::Jsonb | ColumnForm::Opaque => {}
        }
    }
}
