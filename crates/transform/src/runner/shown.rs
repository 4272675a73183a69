//! The facts about an expression that a fault reports: the step, and the values that the expression saw.

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::{timestamp, typed_rows};

use crate::outcome::{FaultKind, RowFault};
use crate::plan::names_special_number;
use crate::planned::Planned;
use crate::spec::InputColumn;

/// The facts about an expression that a fault reports.
pub struct Shown<'a> {
    /// The plan of the steps.
    pub planned: &'a Planned,
    /// The rows before the steps.
    pub batch: &'a RecordBatch,
    /// The columns that were derived so far.
    pub derived: &'a [ArrayRef],
    /// The index of the step.
    pub step: usize,
    /// The derived column; `None` for a condition.
    pub column: Option<&'a str>,
    /// The columns that the expression names.
    pub named: &'a [String],
}

/// The rows in which a column of dates or timestamps is infinite.
pub fn infinite_rows(array: &ArrayRef) -> Vec<usize> {
    match array.data_type() {
        DataType::Date32 => rows_with(array.as_primitive::<Date32Type>(), |day| {
            matches!(day, i32::MIN | i32::MAX)
        }),
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            let times = array.as_primitive::<TimestampMicrosecondType>();
            rows_with(times, |time| {
                matches!(time, timestamp::INFINITY | timestamp::MINUS_INFINITY)
            })
        }
        _ => Vec::new(),
    }
}

fn rows_with<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    is_it: impl Fn(T::Native) -> bool,
) -> Vec<usize> {
    // Looking at all numbers first is quick, and almost always ends here.
    if !array.values().iter().any(|value| is_it(*value)) {
        return Vec::new();
    }
    let rows = (0..array.len()).filter(|row| array.is_valid(*row) && is_it(array.value(*row)));
    rows.collect()
}

impl<'a> Shown<'a> {
    /// The values for the condition of a step.
    pub fn of_condition(
        planned: &'a Planned,
        batch: &'a RecordBatch,
        derived: &'a [ArrayRef],
        step: usize,
    ) -> Shown<'a> {
        let named = planned.steps[step].named.as_slice();
        Shown {
            planned,
            batch,
            derived,
            step,
            column: match named {
                [only] => Some(only),
                _ => None,
            },
            named,
        }
    }

    /// The fault of a row.
    pub fn fault(&self, row: usize, kind: FaultKind, reason: String) -> RowFault {
        RowFault {
            row,
            step: self.step,
            column: self.column.map(str::to_owned),
            value: self.value(row),
            kind,
            reason,
        }
    }

    /// The number of the step in its flow, counted from 1.
    pub fn number(&self) -> usize {
        self.planned.first + self.step + 1
    }

    /// A column that the expression names.
    fn array(&self, name: &str) -> Option<&ArrayRef> {
        let is_it = |column: &InputColumn| column.name == name;
        let own = self.planned.columns.iter().position(is_it);
        let own = own.map(|at| self.batch.column(at));
        own.or_else(|| {
            self.derived
                .get(self.planned.derived.iter().position(is_it)?)
        })
    }

    /// The values of the columns that the expression names.
    pub fn values(&self, row: usize) -> Vec<Option<String>> {
        let named = self.named.iter();
        let value = |name: &String| typed_rows::value_text(self.array(name)?, row, false);
        named.map(value).collect()
    }

    /// The values that the expression saw: for one column only the value, for several columns also their names.
    fn value(&self, row: usize) -> Option<String> {
        let text = |name: &String| typed_rows::value_text(self.array(name)?, row, false);
        if let [only] = self.named {
            return text(only);
        }
        let values = self.named.iter().map(|name| {
            let value = text(name).unwrap_or_else(|| "NULL".to_owned());
            format!("{name} = {value}")
        });
        let values: Vec<String> = values.collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// The rows in which a column has an infinite date or timestamp.
    pub fn infinite_dates(&self, name: &str) -> Vec<usize> {
        self.array(name).map_or_else(Vec::new, infinite_rows)
    }

    /// True if a column that the expression names is NULL in a row.
    pub fn has_null(&self, row: usize) -> bool {
        let mut arrays = self.named.iter().filter_map(|name| self.array(name));
        arrays.any(|array| array.is_null(row))
    }

    /// True if a value that the expression saw is infinite or NaN, or a text that names such a number.
    pub fn sees_special_number(&self, row: usize) -> bool {
        let arrays = self.named.iter().filter_map(|name| self.array(name));
        arrays.into_iter().any(|array| {
            let text = match array.data_type() {
                DataType::Float32
                | DataType::Float64
                | DataType::Date32
                | DataType::Timestamp(_, _)
                | DataType::Utf8View => typed_rows::value_text(array, row, false),
                _ => None,
            };
            text.is_some_and(|text| names_special_number(&text))
        })
    }
}
