//! Values of a partition key, and the bounds for them.
//!
//! `column_converter`, `array`, `key` and `policies` depend on each other: the converter of an array contains the
//! converter of its elements; `column_converter` makes the values of keys; `key` and `policies` read their texts (a
//! bound, a default) with the converter of the column.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::column::Column;
use inrush_rows::column_policy::ValueSource;
use inrush_rows::reject::RejectCode;
use inrush_rows::timestamp;
use inrush_scan::{Dialect, MissingFields};

use super::column_converter::ColumnConverter;
use super::error::{ConvertError, ValueError};
use super::kernel::Fault;
use super::policies::FieldPolicy;

/// A value of a partition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyValue {
    /// The value of an integer column of any width.
    Integer(i64),
    /// Days since 1970-01-01.
    Date(i32),
    /// A [timestamp] as batches carry it, with or without a zone.
    Timestamp(i64),
    /// Text. The server's collation decides the order of texts, so they are never compared here.
    Text(String),
}

impl KeyValue {
    /// The key as a number that sorts like the server; `None` for texts, which sort by collation.
    pub fn number(&self) -> Option<i64> {
        match self {
            KeyValue::Integer(value) => Some(*value),
            KeyValue::Timestamp(value) => Some(TimestampMicrosecondType::number(*value)),
            KeyValue::Date(days) => Some(i64::from(*days)),
            KeyValue::Text(_) => None,
        }
    }
}

/// The Arrow types of keys that are numbers.
pub trait KeyType: ArrowPrimitiveType {
    /// A value of an array as the number of [`KeyValue::number`], which sorts like the server.
    fn number(value: Self::Native) -> i64;
}

macro_rules! sorted_as_they_are {
    ($($arrow:ty),*) => {$(
        impl KeyType for $arrow {
            #[inline(always)]
            fn number(value: Self::Native) -> i64 {
                value.into()
            }
        }
    )*};
}

sorted_as_they_are!(Int16Type, Int32Type, Int64Type, Date32Type);

impl KeyType for TimestampMicrosecondType {
    #[inline(always)]
    fn number(value: i64) -> i64 {
        timestamp::to_postgres(value)
    }
}

/// The bounds of a partition. Text is not checked against them, see [`KeyValue::Text`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBounds {
    /// The key's index in the converter's columns.
    pub column_index: usize,
    /// The first value inside; `None` if there is no lower bound.
    pub lower: Option<KeyValue>,
    /// The first value past the end; `None` if there is no upper bound.
    pub upper: Option<KeyValue>,
    /// The partition in words for a reject: `part 3, [1000, 2000)`.
    pub describe: String,
}

impl KeyBounds {
    /// True if the bounds have the type of a column.
    pub(super) fn fits(&self, converter: &ColumnConverter) -> bool {
        [&self.lower, &self.upper]
            .into_iter()
            .flatten()
            .all(|value| {
                matches!(
                    (value, converter),
                    (
                        KeyValue::Integer(_),
                        ColumnConverter::Int16(_)
                            | ColumnConverter::Int32(_)
                            | ColumnConverter::Int64(_)
                    ) | (KeyValue::Date(_), ColumnConverter::Date(_))
                        | (
                            KeyValue::Timestamp(_),
                            ColumnConverter::Timestamp(_) | ColumnConverter::TimestampTz(_)
                        )
                        | (KeyValue::Text(_), ColumnConverter::Text(_))
                )
            })
    }

    fn range(&self) -> (i64, Option<i64>) {
        let lower = self.lower.as_ref().and_then(KeyValue::number);
        let upper = self.upper.as_ref().and_then(KeyValue::number);
        (lower.unwrap_or(i64::MIN), upper)
    }
}

/// Notes the rows whose key is outside of its bounds.
pub(super) fn check_bounds(bounds: &KeyBounds, array: &ArrayRef, faults: &mut Vec<Fault>) {
    match array.data_type() {
        DataType::Int16 => check::<Int16Type>(bounds, array, faults),
        DataType::Int32 => check::<Int32Type>(bounds, array, faults),
        DataType::Int64 => check::<Int64Type>(bounds, array, faults),
        DataType::Date32 => check::<Date32Type>(bounds, array, faults),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            check::<TimestampMicrosecondType>(bounds, array, faults);
        }
        _ => {}
    }
}

fn check<T: KeyType>(bounds: &KeyBounds, array: &ArrayRef, faults: &mut Vec<Fault>) {
    let (lower, upper) = bounds.range();
    let array = array.as_primitive::<T>();
    let is_outside = |value: i64| value < lower || upper.is_some_and(|upper| value >= upper);
    let error = |what: &str| {
        ValueError::new(
            RejectCode::OutsidePartition,
            format!(
                "the key {what} the partition that this file or range is loaded into ({}); likely the \
                 row belongs to another partition, or `bounds` do not match the source",
                bounds.describe
            ),
        )
    };
    for (row, value) in array.values().iter().enumerate() {
        if array.is_null(row) {
            faults.push(Fault {
                row,
                error: error("is NULL, and no range includes NULL, so the row is not in"),
            });
        } else if is_outside(T::number(*value)) {
            faults.push(Fault {
                row,
                error: error("is outside"),
            });
        }
    }
}

/// Converts one value in the same way as the rows of a file. The planner calls it to assign files to partitions, and to
/// check the bounds of packages. Only types that can be a key are supported.
pub fn convert_one(column: &Column, text: &str) -> Result<KeyValue, ValueError> {
    convert_first(column, Some(text))
}

/// Like [`convert_one`], for a field that may be NULL. A key may not be NULL.
pub fn convert_first(column: &Column, text: Option<&str>) -> Result<KeyValue, ValueError> {
    let refused = |error: ConvertError| ValueError::syntax(error.to_string());
    let converter = ColumnConverter::new(column).map_err(refused)?;
    // Text that means NULL in the format was turned into NULL earlier.
    let dialect = Dialect {
        nulls: Vec::new(),
        missing_fields: MissingFields::Null,
        ..Dialect::csv()
    };
    let text = match &column.source {
        ValueSource::Constant(text) => Some(text.as_str()),
        _ => text,
    };
    let null = || {
        ValueError::new(
            RejectCode::NullNotAllowed,
            "a partition key is never NULL; fix the row, or declare a `default` with \
             default_for = \"null\" for the column",
        )
    };
    match FieldPolicy::of(column, &dialect).map_err(refused)? {
        None => converter.key_value(text.ok_or_else(null)?),
        Some(policy) => {
            let text = policy.single(text)?.ok_or_else(null)?;
            converter.key_value(&String::from_utf8_lossy(&text))
        }
    }
}
