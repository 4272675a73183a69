//! Chooses the columns that get a dictionary, for each file by its first rows.
//!
//! A dictionary makes repeated values small. If values hardly repeat, it costs time and bytes: each value is hashed,
//! stored, and written with a number, until the dictionary is full and given up. So a sample of the first rows decides.
//! The number of distinct values is estimated from the new values in its two halves: if `a` values were new in the
//! first half and `b` in the second, each further half brings `b/a` times as many as the one before, and all together
//! `a / (1 - b/a)`.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::column_type::ColumnType;
use parquet::basic::Encoding;

use crate::options::Encodings;

/// The most rows of the sample.
pub(super) const SAMPLE_ROWS: usize = 16_384;
/// The most bytes of memory for the sample.
pub(super) const SAMPLE_BYTES: usize = 8 << 20;
/// Bytes of a dictionary, at most. Readers keep it in memory while they read the row group.
pub(super) const DICTIONARY_BYTES_MAX: usize = 1 << 20;
/// If at least this ratio of values is new, the number of distinct values keeps growing.
const GROWS_ON: f64 = 0.9;

/// For each column, true if it should have a dictionary. `rows` is the expected number of rows of a row group; if the
/// sample has all rows, it is their number.
pub(super) fn dictionaries(sample: &[RecordBatch], rows: usize) -> Vec<bool> {
    let columns = sample.first().map_or(0, RecordBatch::num_columns);
    (0..columns)
        .map(|column| {
            let arrays: Vec<&dyn Array> = sample
                .iter()
                .map(|batch| batch.column(column).as_ref())
                .collect();
            pays(&arrays, rows)
        })
        .collect()
}

fn pays(arrays: &[&dyn Array], rows: usize) -> bool {
    let sampled: usize = arrays.iter().map(|array| array.len()).sum();
    let half = sampled / 2;
    let mut seen = HashSet::with_capacity(sampled);
    let mut bytes = 0;
    let mut row = 0;
    let mut in_first_half = 0;
    for array in arrays {
        let known = for_each_hash(*array, &mut |hash, length| {
            if let Some(hash) = hash
                && seen.insert(hash)
            {
                bytes += length;
            }
            row += 1;
            if row == half {
                in_first_half = seen.len();
            }
        });
        if !known {
            // A group or a boolean: the writer decides.
            return true;
        }
    }
    if seen.is_empty() {
        return true;
    }
    let expected = match rows <= sampled {
        true => seen.len() as f64,
        false => expected(in_first_half, seen.len() - in_first_half, rows),
    };
    let bytes_each = bytes as f64 / seen.len() as f64;
    expected * bytes_each <= DICTIONARY_BYTES_MAX as f64 && expected <= rows as f64 / 2.0
}

/// The estimated number of distinct values, from the numbers of new values in the two halves of a sample.
fn expected(first: usize, second: usize, rows: usize) -> f64 {
    let ratio = match first {
        0 => 1.0,
        first => second as f64 / first as f64,
    };
    match ratio < GROWS_ON {
        true => (first as f64 / (1.0 - ratio)).min(rows as f64),
        false => rows as f64,
    }
}

/// Calls `each` with the hash and the bytes of each value, and with `None` for NULL. Returns `false` for types without
/// an estimate.
fn for_each_hash(array: &dyn Array, each: &mut dyn FnMut(Option<u64>, usize)) -> bool {
    macro_rules! numbers {
        ($type:ty, $bytes:expr) => {{
            for value in array.as_primitive::<$type>() {
                // Equal numbers have equal hashes; a multiplication mixes well enough for a set.
                let hash = value.map(|value| (value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                each(hash, $bytes);
            }
        }};
    }
    macro_rules! bytes {
        ($values:expr, $overhead:expr) => {{
            for value in $values {
                let length = value.map_or(0, |value| value.len() + $overhead);
                each(value.map(|value| hash_bytes(value.as_ref())), length);
            }
        }};
    }
    match array.data_type() {
        DataType::Int16 => numbers!(Int16Type, 4),
        DataType::Int32 => numbers!(Int32Type, 4),
        DataType::Int64 => numbers!(Int64Type, 8),
        DataType::Date32 => numbers!(Date32Type, 4),
        DataType::Decimal128(precision, _) => match precision {
            ..=9 => numbers!(Decimal128Type, 4),
            10..=18 => numbers!(Decimal128Type, 8),
            _ => numbers!(Decimal128Type, 16),
        },
        DataType::Time64(TimeUnit::Microsecond) => numbers!(Time64MicrosecondType, 8),
        DataType::Timestamp(TimeUnit::Microsecond, _) => numbers!(TimestampMicrosecondType, 8),
        DataType::Float32 => {
            for value in array.as_primitive::<arrow_array::types::Float32Type>() {
                each(value.map(|value| u64::from(value.to_bits())), 4);
            }
        }
        DataType::Float64 => {
            for value in array.as_primitive::<arrow_array::types::Float64Type>() {
                each(value.map(f64::to_bits), 8);
            }
        }
        DataType::Utf8View => bytes!(array.as_string_view(), 4),
        DataType::BinaryView => bytes!(array.as_binary_view(), 4),
        DataType::FixedSizeBinary(_) => bytes!(array.as_fixed_size_binary(), 0),
        _ => return false,
    }
    true
}

fn hash_bytes(value: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(value);
    hasher.finish()
}

/// The encoding of values without a dictionary.
pub(super) fn fallback(column_type: &ColumnType, encodings: Encodings) -> Option<Encoding> {
    if encodings == Encodings::Plain {
        return None;
    }
    match column_type {
        ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::Date
        | ColumnType::Time { .. }
        | ColumnType::Timestamp { .. }
        | ColumnType::TimestampTz { .. } => Some(Encoding::DELTA_BINARY_PACKED),
        ColumnType::Decimal { precision, .. } if *precision <= 18 => {
            Some(Encoding::DELTA_BINARY_PACKED)
        }
        ColumnType::Text { .. }
        | ColumnType::DecimalText { .. }
        | ColumnType::Json
        | ColumnType::Enum { .. }
        | ColumnType::Opaque
        | ColumnType::Special(_)
        | ColumnType::Binary => Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
        ColumnType::Bool
        | ColumnType::Float32
        | ColumnType::Float64
        | ColumnType::Decimal { .. }
        | ColumnType::Interval { .. }
        | ColumnType::Uuid => None,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringViewArray};

    use super::*;

    const ROWS: usize = 1 << 20;

    fn of(array: ArrayRef, rows: usize) -> bool {
        let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
        dictionaries(&[batch], rows)[0]
    }

    fn numbers(value: impl Fn(u64) -> u64) -> ArrayRef {
        let values = (0..SAMPLE_ROWS as u64).map(|row| value(row) as i64);
        Arc::new(Int64Array::from_iter_values(values))
    }

    /// A number that looks random.
    fn scattered(row: u64) -> u64 {
        (row + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
    }

    #[test]
    fn what_repeats_gets_a_dictionary() {
        assert!(of(numbers(|_| 7), ROWS));
        assert!(of(numbers(|row| scattered(row) % 50), ROWS));
        assert!(of(numbers(|row| scattered(row) % 10_000), ROWS));
        assert!(!of(numbers(|row| scattered(row) % 1_000_000), ROWS));
        // Orders with four lines each: few repeats in the sample, and always new values.
        assert!(!of(numbers(|row| row / 4), ROWS));
        assert!(!of(numbers(|row| row), ROWS));
        // The sample has all rows.
        assert!(of(numbers(|row| row / 4), SAMPLE_ROWS));
        assert!(!of(numbers(|row| row), SAMPLE_ROWS));
    }

    #[test]
    fn long_texts_fill_a_dictionary_sooner() {
        let texts = |length: usize| -> ArrayRef {
            let values =
                (0..SAMPLE_ROWS).map(|row| format!("{:0length$}", scattered(row as u64) % 1000));
            Arc::new(StringViewArray::from_iter_values(values))
        };
        assert!(of(texts(10), ROWS));
        assert!(!of(texts(2000), ROWS));
        let nulls: ArrayRef = Arc::new(StringViewArray::from(vec![None::<&str>; 10]));
        assert!(of(nulls, ROWS));
    }
}
