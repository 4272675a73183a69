//! Converts values for DuckDB and back: the numbers that mean infinity differ, and some values exist on one side only.
//!
//! ```text
//!                 in batches                        in DuckDB
//! date            i32::MIN, i32::MAX                -i32::MAX, i32::MAX
//! timestamp       MINUS_INFINITY, INFINITY          -i64::MAX, i64::MAX
//! ```
//!
//! Timestamps of batches after 294247-01-10 do not fit into DuckDB's timestamps, and timestamps of DuckDB before 4714
//! BC do not fit into batches ([`inrush_rows::timestamp`]). Results that are dates outside of PostgreSQL's range do not
//! fit, either ([`inrush_rows::calendar`]). Such a value rejects its row.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BinaryViewArray, PrimitiveArray, StringViewArray};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::calendar::{DAYS_MAX, DAYS_MIN};
use inrush_rows::timestamp;

/// A converted array, and the rows whose values do not exist on the other side. The array has NULL for them.
pub struct Crossed {
    /// The values.
    pub array: ArrayRef,
    /// Indexes of rows, ascending.
    pub lost: Vec<usize>,
}

/// The values of a column for DuckDB.
pub fn into_duckdb(array: &ArrayRef) -> Crossed {
    match array.data_type() {
        DataType::Date32 => crossed(array, array.as_primitive::<Date32Type>(), |day| match day {
            i32::MIN => Some(-i32::MAX),
            day => Some(day),
        }),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let own = array.as_primitive::<TimestampMicrosecondType>();
            crossed(array, own, |time| match time {
                timestamp::INFINITY => Some(i64::MAX),
                timestamp::MINUS_INFINITY => Some(-i64::MAX),
                // The largest number is a moment in batches.
                i64::MAX => None,
                time => timestamp::is_plain(time).then_some(time),
            })
        }
        _ => unchanged(array),
    }
}

/// The values of a result of DuckDB for batches, in the type that batches have.
pub fn out_of_duckdb(array: &ArrayRef) -> Crossed {
    match array.data_type() {
        DataType::Date32 => crossed(array, array.as_primitive::<Date32Type>(), |day| match day {
            i32::MAX => Some(i32::MAX),
            day if day == -i32::MAX => Some(i32::MIN),
            day => (DAYS_MIN..=DAYS_MAX)
                .contains(&i64::from(day))
                .then_some(day),
        }),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let own = array.as_primitive::<TimestampMicrosecondType>();
            crossed(array, own, |time| match time {
                i64::MAX => Some(timestamp::INFINITY),
                time if time == -i64::MAX => Some(timestamp::MINUS_INFINITY),
                time => timestamp::is_plain(time).then_some(time),
            })
        }
        DataType::Utf8 => texts(array, array.as_string::<i32>().value_data(), || {
            Arc::new(StringViewArray::from(array.as_string::<i32>()))
        }),
        DataType::LargeUtf8 => texts(array, array.as_string::<i64>().value_data(), || {
            Arc::new(StringViewArray::from(array.as_string::<i64>()))
        }),
        DataType::Utf8View => {
            let own = array.as_string_view();
            let lost = own.iter().enumerate();
            let lost = lost.filter(|(_, text)| text.is_some_and(has_nul));
            let lost = lost.map(|(row, _)| row).collect();
            Crossed {
                array: Arc::clone(array),
                lost,
            }
        }
        DataType::Binary => {
            unchanged(&(Arc::new(BinaryViewArray::from(array.as_binary::<i32>())) as ArrayRef))
        }
        DataType::LargeBinary => {
            unchanged(&(Arc::new(BinaryViewArray::from(array.as_binary::<i64>())) as ArrayRef))
        }
        _ => unchanged(array),
    }
}

/// The texts; texts with a NUL byte become NULL, because text in a database cannot contain this byte. `bytes` are the
/// bytes of all texts.
fn texts(array: &ArrayRef, bytes: &[u8], view: impl FnOnce() -> ArrayRef) -> Crossed {
    let views = view();
    let lost = match memchr::memchr(0, bytes) {
        None => Vec::new(),
        Some(_) => {
            let texts = views.as_string_view();
            let rows = (0..array.len()).filter(|row| !texts.is_null(*row));
            rows.filter(|row| has_nul(texts.value(*row))).collect()
        }
    };
    Crossed { array: views, lost }
}

fn has_nul(text: &str) -> bool {
    memchr::memchr(0, text.as_bytes()).is_some()
}

fn unchanged(array: &ArrayRef) -> Crossed {
    Crossed {
        array: Arc::clone(array),
        lost: Vec::new(),
    }
}

/// Converts each number of an array by `cross`. Returns the array itself if no number changes.
fn crossed<T: ArrowPrimitiveType>(
    array: &ArrayRef,
    own: &PrimitiveArray<T>,
    cross: impl Fn(T::Native) -> Option<T::Native>,
) -> Crossed {
    // The numbers in the places of NULLs have no meaning, but to check them, too, is quicker than to skip them.
    if own
        .values()
        .iter()
        .all(|value| cross(*value) == Some(*value))
    {
        return unchanged(array);
    }
    let lost = (0..own.len()).filter(|row| !own.is_null(*row) && cross(own.value(*row)).is_none());
    let lost = lost.collect();
    let values = own.iter().map(|value| value.and_then(&cross));
    let values: PrimitiveArray<T> = values.collect();
    Crossed {
        array: Arc::new(values.with_data_type(own.data_type().clone())),
        lost,
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{Date32Array, StringArray, TimestampMicrosecondArray};

    use super::*;

    fn there_and_back(array: ArrayRef) -> (ArrayRef, Vec<usize>) {
        let there = into_duckdb(&array);
        (out_of_duckdb(&there.array).array, there.lost)
    }

    #[test]
    fn infinities_cross_the_border_and_come_back() {
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![
            Some(i32::MIN),
            Some(i32::MAX),
            None,
            Some(-1),
        ]));
        let there = into_duckdb(&dates).array;
        assert_eq!(there.as_primitive::<Date32Type>().value(0), -i32::MAX);
        assert_eq!(there_and_back(Arc::clone(&dates)), (dates, vec![]));

        let times = vec![
            Some(timestamp::MINUS_INFINITY),
            Some(timestamp::INFINITY),
            None,
            Some(timestamp::MIN),
            Some(i64::MAX - 1),
        ];
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC"));
        let there = into_duckdb(&times).array;
        let numbers = there.as_primitive::<TimestampMicrosecondType>();
        assert_eq!((numbers.value(0), numbers.value(1)), (-i64::MAX, i64::MAX));
        assert_eq!(there_and_back(Arc::clone(&times)), (times, vec![]));
    }

    #[test]
    fn moments_that_the_other_side_does_not_have_are_lost() {
        let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![
            Some(0),
            Some(i64::MAX),
            Some(timestamp::MAX),
            None,
        ]));
        let there = into_duckdb(&times);
        assert_eq!((there.lost, there.array.null_count()), (vec![1, 2], 3));
        let times: ArrayRef =
            Arc::new(TimestampMicrosecondArray::from(vec![0, timestamp::MIN - 1]));
        assert_eq!(out_of_duckdb(&times).lost, [1]);
        let (first, last) = (DAYS_MIN as i32, DAYS_MAX as i32);
        let days = vec![first - 1, first, last, last + 1, i32::MAX];
        let days: ArrayRef = Arc::new(Date32Array::from(days));
        assert_eq!(out_of_duckdb(&days).lost, [0, 3]);
    }

    #[test]
    fn texts_with_a_nul_byte_are_lost() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec![
            Some("a"),
            Some("b\0"),
            None,
            Some(""),
        ]));
        let out = out_of_duckdb(&texts);
        assert_eq!(
            (out.array.data_type(), out.lost),
            (&DataType::Utf8View, vec![1])
        );
        let views: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a\0"), None]));
        assert_eq!(out_of_duckdb(&views).lost, [0]);
    }
}
