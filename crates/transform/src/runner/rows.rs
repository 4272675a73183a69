//! The rows of a batch on their way through the steps, and the effects of an expression's result on them.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array};
use arrow_schema::DataType;

use super::shown::{Shown, infinite_rows};
use crate::outcome::{FaultKind, RowFault};
use crate::planned::FiniteDates;
use crate::spec::{Otherwise, OutputSpec};
use crate::travel;

/// The rows of a batch on their way through the steps.
pub struct Rows {
    /// For each row, true if it is left.
    pub alive: Vec<bool>,
    /// The number of rows that are left.
    pub alive_count: u64,
    /// The faults of the rows that were rejected.
    pub faults: Vec<RowFault>,
}

impl Rows {
    /// Drops a row, if it was not dropped before.
    pub fn drop(&mut self, row: usize) -> bool {
        let was_alive = std::mem::replace(&mut self.alive[row], false);
        self.alive_count -= u64::from(was_alive);
        was_alive
    }
}

/// Drops rows whose result is infinite or NaN although none of their arguments is: an overflow, or a root of a negative
/// number by `pow`. DuckDB reports neither.
pub fn reject_special_numbers(shown: &Shown<'_>, made: &ArrayRef, rows: &mut Rows) {
    for row in infinite_rows(made) {
        if rows.alive[row] && !shown.sees_special_number(row) {
            rows.drop(row);
            let reason = format!(
                "the result of step {} is outside the range of dates",
                shown.number()
            );
            rows.faults
                .push(shown.fault(row, FaultKind::Expression, reason));
        }
    }
    let value: Box<dyn Fn(usize) -> f64> = match made.data_type() {
        DataType::Float32 => {
            let values = made.as_primitive::<Float32Type>();
            Box::new(move |row| f64::from(values.value(row)))
        }
        DataType::Float64 => {
            let values = made.as_primitive::<Float64Type>();
            Box::new(move |row| values.value(row))
        }
        _ => return,
    };
    for row in 0..made.len() {
        if made.is_null(row) || value(row).is_finite() || !rows.alive[row] {
            continue;
        }
        if shown.sees_special_number(row) {
            continue;
        }
        rows.drop(row);
        let number = shown.number();
        let reason = match value(row).is_nan() {
            true => format!(
                "the result of step {number} is not a number (NaN): pow has no result for a negative number and a fraction"
            ),
            false => format!(
                "the result of step {number} is outside the range of its type, DOUBLE or FLOAT"
            ),
        };
        rows.faults
            .push(shown.fault(row, FaultKind::Expression, reason));
    }
}

/// Drops rows for which an expression has no result because a date is infinite: DuckDB returns NULL for a part of such
/// a date, and a number for the days between such a date and another date. `made` are the results.
pub fn reject_infinite_dates(
    shown: &Shown<'_>,
    finite: &FiniteDates,
    made: &ArrayRef,
    rows: &mut Rows,
) {
    let is_number = !matches!(
        made.data_type(),
        DataType::Boolean | DataType::Date32 | DataType::Timestamp(..)
    );
    for name in &finite.in_functions {
        let has_no_value = |row: usize| made.is_null(row) && !shown.has_null(row);
        let reason = "this function is NULL for it";
        reject_infinite(shown, name, &has_no_value, reason, rows);
    }
    for name in finite.in_differences.iter().filter(|_| is_number) {
        let has_value = |row: usize| made.is_valid(row);
        reject_infinite(
            shown,
            name,
            &has_value,
            "no number of days is between",
            rows,
        );
    }
}

fn reject_infinite(
    shown: &Shown<'_>,
    name: &str,
    is_wrong: &dyn Fn(usize) -> bool,
    why: &str,
    rows: &mut Rows,
) {
    for row in shown.infinite_dates(name) {
        if !rows.alive[row] || !is_wrong(row) {
            continue;
        }
        rows.drop(row);
        let reason = format!(
            "the expression of step {} has no result, because `{name}` is infinite ({why}); say what such rows get, as in CASE WHEN \
             isfinite({name}) THEN ... END",
            shown.number()
        );
        rows.faults
            .push(shown.fault(row, FaultKind::Expression, reason));
    }
}

/// A derived column in the form of batches. Rows whose values batches cannot have are dropped.
pub fn taken(shown: &Shown<'_>, array: &ArrayRef, rows: &mut Rows) -> ArrayRef {
    let crossed = travel::out_of_duckdb(array);
    let (kind, reason) = match crossed.array.data_type() {
        DataType::Utf8View => (
            FaultKind::NulByte,
            "the result has a NUL byte, which text in a database cannot hold; remove it with replace(...)",
        ),
        DataType::Date32 => (
            FaultKind::OutOfRange,
            "the result is before 4714-11-24 BC or after 5874897-12-31, and no such date can be loaded",
        ),
        _ => (
            FaultKind::OutOfRange,
            "the result is before 4714 BC, where no timestamp can be loaded",
        ),
    };
    for row in crossed.lost {
        if rows.drop(row) {
            rows.faults.push(shown.fault(row, kind, reason.to_owned()));
        }
    }
    crossed.array
}

/// Checks the rows that are left. Returns the number of rows that failed but are loaded.
pub fn check(
    shown: &Shown<'_>,
    name: &str,
    otherwise: Otherwise,
    holds: &BooleanArray,
    rows: &mut Rows,
) -> u64 {
    let false_count = holds.len() - holds.null_count() - holds.true_count();
    if false_count == 0 {
        return 0;
    }
    let mut warned = 0;
    for row in 0..holds.len() {
        if !rows.alive[row] || holds.is_null(row) || holds.value(row) {
            continue;
        }
        let kind = match otherwise {
            Otherwise::Warn => {
                warned += 1;
                continue;
            }
            Otherwise::Reject => FaultKind::Check,
            Otherwise::Fail => FaultKind::FatalCheck,
        };
        rows.drop(row);
        let reason = format!("the check `{name}` (step {}) is not met", shown.number());
        rows.faults.push(shown.fault(row, kind, reason));
    }
    warned
}

/// Keeps the rows of an output. `takers` are the outputs that take each row. Returns the number of rows that are
/// filtered.
pub fn give(shown: &Shown<'_>, outputs: &OutputSpec, takers: &Int64Array, rows: &mut Rows) -> u64 {
    let own = 1_i64 << outputs.kept;
    let mut filtered = 0;
    for (row, takers) in takers.values().iter().enumerate() {
        if !rows.alive[row] || takers & own != 0 {
            continue;
        }
        rows.drop(row);
        if *takers == 0 && outputs.rejects {
            let reason = format!(
                "no output takes the row: no `when` is true for it (the first one is in {}); correct the row, or add an output \
                 without `when`, or `else = \"filter\"`",
                outputs.place
            );
            rows.faults.push(shown.fault(row, FaultKind::Check, reason));
        } else {
            filtered += 1;
        }
    }
    filtered
}
