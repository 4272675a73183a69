//! The values of a key that have a partition. Rows with other values become rejects before they are sent.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::kernel::Fault;
use super::key::KeyType;

/// The values of a key that have a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySet {
    /// The key's index in the converter's columns.
    pub column_index: usize,
    /// The values.
    pub values: KeyValues,
    /// True if NULL has a partition, too.
    pub takes_null: bool,
    /// The table in words, for a reject.
    pub describe: String,
}

/// Values of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValues {
    /// Integers, days or microseconds as [`KeyType::number`] returns them: ascending ranges that do not overlap.
    Numbers(Vec<RangeInclusive<i64>>),
    /// Texts, each compared byte by byte.
    Texts(BTreeSet<String>),
}

impl KeyValues {
    /// Numbers from ranges in any order.
    pub fn numbers(mut ranges: Vec<RangeInclusive<i64>>) -> KeyValues {
        ranges.retain(|range| !range.is_empty());
        ranges.sort_by_key(|range| *range.start());
        KeyValues::Numbers(ranges)
    }
}

/// Records the rows whose key has no partition.
pub(super) fn check_set(set: &KeySet, array: &ArrayRef, faults: &mut Vec<Fault>) {
    match (&set.values, array.data_type()) {
        (KeyValues::Numbers(ranges), DataType::Int16) => {
            check::<Int16Type>(set, ranges, array, faults);
        }
        (KeyValues::Numbers(ranges), DataType::Int32) => {
            check::<Int32Type>(set, ranges, array, faults);
        }
        (KeyValues::Numbers(ranges), DataType::Int64) => {
            check::<Int64Type>(set, ranges, array, faults);
        }
        (KeyValues::Numbers(ranges), DataType::Date32) => {
            check::<Date32Type>(set, ranges, array, faults);
        }
        (KeyValues::Numbers(ranges), DataType::Timestamp(TimeUnit::Microsecond, _)) => {
            check::<TimestampMicrosecondType>(set, ranges, array, faults);
        }
        (KeyValues::Texts(texts), DataType::Utf8View) => {
            let array = array.as_string_view();
            for row in 0..array.len() {
                if array.is_null(row) {
                    refuse_null(set, row, faults);
                } else if !texts.contains(array.value(row)) {
                    faults.push(fault(set, row, "the key has no partition"));
                }
            }
        }
        // Keys that cannot be checked here are checked by the server.
        _ => {}
    }
}

fn check<T: KeyType>(
    set: &KeySet,
    ranges: &[RangeInclusive<i64>],
    array: &ArrayRef,
    faults: &mut Vec<Fault>,
) {
    let array = array.as_primitive::<T>();
    // Rows of one partition usually follow each other.
    let mut last: Option<&RangeInclusive<i64>> = None;
    for (row, value) in array.values().iter().enumerate() {
        if array.is_null(row) {
            refuse_null(set, row, faults);
            continue;
        }
        let value = T::number(*value);
        if last.is_some_and(|range| range.contains(&value)) {
            continue;
        }
        let after = ranges.partition_point(|range| *range.start() <= value);
        match after.checked_sub(1).map(|index| &ranges[index]) {
            Some(range) if range.contains(&value) => last = Some(range),
            _ => faults.push(fault(set, row, "the key has no partition")),
        }
    }
}

fn refuse_null(set: &KeySet, row: usize, faults: &mut Vec<Fault>) {
    if !set.takes_null {
        faults.push(fault(set, row, "the key is NULL, which has no partition"));
    }
}

fn fault(set: &KeySet, row: usize, what: &str) -> Fault {
    Fault {
        row,
        error: ValueError::new(
            RejectCode::OutsidePartition,
            format!(
                "{what} in {}; fix the row, or add a partition for it: a default partition takes \
                 all rows without another partition",
                set.describe
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Date32Array, Int64Array, StringViewArray, TimestampMicrosecondArray};
    use inrush_rows::timestamp;

    use super::*;

    fn refused(values: KeyValues, takes_null: bool, array: ArrayRef) -> Vec<usize> {
        let set = KeySet {
            column_index: 0,
            values,
            takes_null,
            describe: "t".to_owned(),
        };
        let mut faults = Vec::new();
        check_set(&set, &array, &mut faults);
        faults.iter().map(|fault| fault.row).collect()
    }

    #[test]
    fn numbers_lie_in_a_range_or_have_no_partition() {
        let values = || {
            KeyValues::numbers(vec![
                20..=29,
                0..=9,
                RangeInclusive::new(40, 39),
                i64::MIN..=-100,
            ])
        };
        let keys = [0, 9, 10, 19, 20, 29, 30, -99, -100, i64::MIN, i64::MAX, 5];
        let array: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
        assert_eq!(refused(values(), false, array), [2, 3, 6, 7, 10]);
        let array: ArrayRef = Arc::new(Date32Array::from(vec![Some(3), None, Some(15)]));
        assert_eq!(refused(values(), false, Arc::clone(&array)), [1, 2]);
        assert_eq!(refused(values(), true, array), [2]);
        let array: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        assert_eq!(refused(KeyValues::numbers(Vec::new()), false, array), [0]);
    }

    /// Timestamps beyond 64 bits are represented by numbers that are smaller than all others.
    #[test]
    fn timestamps_lie_in_ranges_as_the_server_sorts_them() {
        let [last, infinity] = [timestamp::POSTGRES_MAX, i64::MAX];
        let values = || KeyValues::numbers(vec![infinity..=infinity, 0..=last]);
        let keys = [
            timestamp::MINUS_INFINITY,
            timestamp::MIN,
            timestamp::from_postgres(-1),
            timestamp::from_postgres(0),
            i64::MAX,
            i64::MIN,
            timestamp::MAX,
            timestamp::INFINITY,
        ];
        let array: ArrayRef = Arc::new(TimestampMicrosecondArray::from(keys.to_vec()));
        assert_eq!(refused(values(), false, array), [0, 1, 2]);
    }

    #[test]
    fn texts_are_listed_or_have_no_partition() {
        let values = || KeyValues::Texts(BTreeSet::from(["a".to_owned(), "it's".to_owned()]));
        let texts = vec![Some("a"), Some("A"), None, Some("it's"), Some("")];
        let array: ArrayRef = Arc::new(StringViewArray::from(texts));
        assert_eq!(refused(values(), false, Arc::clone(&array)), [1, 2, 4]);
        assert_eq!(refused(values(), true, array), [1, 4]);
    }
}
