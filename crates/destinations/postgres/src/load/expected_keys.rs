//! The range of keys that a unit is expected to have: from its file's first row to its last.
//!
//! With `bounds = "data"`, a unit's CHECK is known only when its rows are loaded, and the server must then read them
//! all again to validate it. Files are usually written in the order of their key, so the first and last row show the
//! bounds beforehand. Then the CHECK is added before the rows are sent, and checking each row costs almost nothing.
//! This is a guess, which is compared with every batch. If it fails, the CHECK is dropped before the batch is sent, and
//! added when all rows are loaded, as without the guess.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use inrush_convert::{KeyType, KeyValue, convert_one};

use crate::plan::{FlowPlan, KeyPlan, UnitPlan, key_text};
use crate::staging::{UnitBounds, Upper};
use crate::unit_transaction::UnitMeasure;

/// The expected range of a unit's keys, and the range of the keys sent so far.
pub struct ExpectedKeys {
    column_index: usize,
    bounds: UnitBounds,
    lower: i64,
    upper: i64,
    /// The smallest and the largest key of the rows sent.
    seen: Option<(i64, i64)>,
}

impl ExpectedKeys {
    /// Guesses the range from the first and last row of a unit's file; `None` if that is not possible.
    pub fn guess(flow: &FlowPlan, unit: UnitPlan<'_>) -> Option<ExpectedKeys> {
        let key = flow.key.as_ref()?;
        let [split] = unit.splits.as_slice() else {
            return None;
        };
        if unit.is_shared || unit.statements.bounds.is_some() {
            return None;
        }
        let column = &flow.columns[key.column_index];
        let field = column.source.field_index()?;
        let (first, last) = flow.source.ends_of(&split.in_source(), field)?;
        let first = convert_one(column, &first).ok()?;
        let last = convert_one(column, &last).ok()?;
        ExpectedKeys::between(key, &first, &last)
    }

    fn between(key: &KeyPlan, first: &KeyValue, last: &KeyValue) -> Option<ExpectedKeys> {
        let (lower, upper) = (first.number()?, last.number()?);
        (lower <= upper).then_some(ExpectedKeys {
            column_index: key.column_index,
            bounds: UnitBounds {
                key: key.column.clone(),
                type_sql: key.type_sql.clone(),
                lower: Some(key_text(first)?),
                upper: Some(Upper::Inclusive(key_text(last)?)),
            },
            lower,
            upper,
            seen: None,
        })
    }

    /// The bounds for the CHECK.
    pub fn bounds(&self) -> &UnitBounds {
        &self.bounds
    }

    /// Records a batch's keys. Returns true if all of them are in the expected range.
    pub fn hold(&mut self, batch: &RecordBatch) -> bool {
        if batch.num_rows() == 0 {
            return true;
        }
        let Some((smallest, largest)) = ends(batch.column(self.column_index)) else {
            return false;
        };
        let (before, after) = self.seen.unwrap_or((smallest, largest));
        self.seen = Some((before.min(smallest), after.max(largest)));
        smallest >= self.lower && largest <= self.upper
    }

    /// True if the rows reached both bounds; otherwise the bounds are wider than the data.
    pub fn is_exact(&self) -> bool {
        self.seen == Some((self.lower, self.upper))
    }

    /// The unit's measure, without a query: `rows` is the count of its COPYs, and the keys are the bounds, because the
    /// CHECK holds and [`is_exact`](ExpectedKeys::is_exact) is true.
    pub fn measured(&self, rows: u64) -> UnitMeasure {
        let upper = match &self.bounds.upper {
            Some(Upper::Inclusive(value) | Upper::Exclusive(value)) => Some(value.clone()),
            None => None,
        };
        UnitMeasure {
            rows,
            key_smallest: self.bounds.lower.clone(),
            key_largest: upper,
        }
    }
}

/// The smallest and the largest key; `None` if one is NULL or they are not numbers.
fn ends(keys: &ArrayRef) -> Option<(i64, i64)> {
    match keys.data_type() {
        DataType::Int16 => ends_of::<Int16Type>(keys),
        DataType::Int32 => ends_of::<Int32Type>(keys),
        DataType::Int64 => ends_of::<Int64Type>(keys),
        DataType::Date32 => ends_of::<Date32Type>(keys),
        DataType::Timestamp(TimeUnit::Microsecond, _) => ends_of::<TimestampMicrosecondType>(keys),
        _ => None,
    }
}

fn ends_of<T: KeyType>(keys: &ArrayRef) -> Option<(i64, i64)> {
    if keys.null_count() > 0 {
        return None;
    }
    let values = keys.as_primitive::<T>().values().iter();
    let numbers = values.map(|value| T::number(*value));
    Some((numbers.clone().min()?, numbers.max()?))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int32Array, TimestampMicrosecondArray};
    use inrush_rows::timestamp;

    use super::*;
    use crate::plan::KeyKind;

    fn expected(first: KeyValue, last: KeyValue) -> Option<ExpectedKeys> {
        let key = KeyPlan {
            column: "k".to_owned(),
            column_index: 0,
            collation: None,
            type_sql: "integer".to_owned(),
            kind: KeyKind::Integer,
            rule: String::new(),
        };
        ExpectedKeys::between(&key, &first, &last)
    }

    fn batch(keys: &[Option<i32>]) -> RecordBatch {
        let array: ArrayRef = Arc::new(Int32Array::from(keys.to_vec()));
        RecordBatch::try_from_iter([("k", array)]).expect("one column")
    }

    #[test]
    fn keys_are_held_against_the_first_and_the_last_row() {
        let mut expected = expected(KeyValue::Integer(3), KeyValue::Integer(9)).expect("ordered");
        assert!(expected.hold(&batch(&[Some(3), Some(8)])));
        assert!(!expected.is_exact(), "the last row has not come");
        assert!(expected.hold(&batch(&[])));
        assert!(expected.hold(&batch(&[Some(9)])));
        assert!(expected.is_exact());
        assert_eq!(expected.measured(3).key_largest.as_deref(), Some("9"));
        assert!(!expected.hold(&batch(&[Some(4), Some(10)])));
        assert!(!expected.is_exact());
    }

    #[test]
    fn what_is_not_in_order_or_has_no_order_here_is_not_guessed() {
        assert!(expected(KeyValue::Integer(9), KeyValue::Integer(3)).is_none());
        let text = |text: &str| KeyValue::Text(text.to_owned());
        assert!(expected(text("a"), text("b")).is_none());
        // The CHECK has no bound for infinity, for years before 1, and for years after 9999.
        assert!(expected(KeyValue::Date(i32::MIN), KeyValue::Date(0)).is_none());
        assert!(expected(KeyValue::Date(-800_000), KeyValue::Date(0)).is_none());
        let late = [timestamp::INFINITY, timestamp::MAX, i64::MAX];
        for late in late.map(KeyValue::Timestamp) {
            assert!(expected(KeyValue::Timestamp(0), late).is_none());
        }
    }

    /// Timestamps beyond 64 bits are represented by numbers that are smaller than all others.
    #[test]
    fn late_timestamps_are_not_as_expected() {
        for late in [timestamp::INFINITY, timestamp::MAX, i64::MIN] {
            let mut expected =
                expected(KeyValue::Timestamp(0), KeyValue::Timestamp(9)).expect("ordered");
            let batch = |keys: Vec<i64>| {
                let array: ArrayRef = Arc::new(TimestampMicrosecondArray::from(keys));
                RecordBatch::try_from_iter([("k", array)]).expect("one column")
            };
            assert!(expected.hold(&batch(vec![9, 0])));
            assert!(expected.is_exact());
            assert!(!expected.hold(&batch(vec![5, late])));
            assert!(!expected.is_exact());
        }
    }

    #[test]
    fn a_null_is_not_as_expected() {
        let mut expected = expected(KeyValue::Integer(3), KeyValue::Integer(9)).expect("ordered");
        assert!(!expected.hold(&batch(&[Some(3), None])));
    }
}
