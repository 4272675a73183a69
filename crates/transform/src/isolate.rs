//! Evaluates the steps for a single row for which the careful statement fails as a whole: it runs one statement for
//! each expression.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_select::concat::concat;

use crate::error::RunError;
use crate::planned::{Planned, StepAction};
use crate::runner::Values;
use crate::spec::Otherwise;
use crate::statement;

/// The values of all expressions for one row. `evaluate` runs a statement over this row and returns its only value, or
/// `None` if the row's values made the statement fail. `null` returns the value of a statement that is the same for all
/// rows. An expression after one that failed, or after a condition that does not hold, is not evaluated: its value is
/// NULL.
pub(crate) fn alone(
    planned: &Planned,
    from: &str,
    evaluate: &dyn Fn(&str) -> Result<Option<ArrayRef>, RunError>,
    null: &dyn Fn(String) -> Result<ArrayRef, RunError>,
) -> Result<Vec<Values>, RunError> {
    let mut is_alive = true;
    let mut values = Vec::new();
    for step in &planned.steps {
        let count = match &step.action {
            StepAction::Derive(columns) => columns.len(),
            StepAction::Where { .. } | StepAction::Check { .. } | StepAction::Output(_) => 1,
        };
        for _ in 0..count {
            let expression = values.len();
            let found = match is_alive {
                true => evaluate(&statement::only(planned, from, expression))?,
                false => None,
            };
            let has_failed = is_alive && found.is_none();
            let array = match found {
                Some(array) => array,
                None => null(statement::null_of(planned, from, expression))?,
            };
            is_alive &= !has_failed && leaves_alive(&step.action, &array);
            values.push(Values {
                array,
                failed: Some(BooleanArray::from(vec![has_failed])),
            });
        }
    }
    Ok(values)
}

/// True if a row with this value goes on to the next step.
fn leaves_alive(action: &StepAction, value: &ArrayRef) -> bool {
    match action {
        StepAction::Derive(_) | StepAction::Output(_) => true,
        StepAction::Where { .. } => value.is_valid(0) && value.as_boolean().value(0),
        StepAction::Check { otherwise, .. } => {
            *otherwise == Otherwise::Warn || value.is_null(0) || value.as_boolean().value(0)
        }
    }
}

/// Joins the values of some rows and the values of the rows after them.
pub(crate) fn joined(first: Vec<Values>, second: Vec<Values>) -> Result<Vec<Values>, RunError> {
    let both = first.into_iter().zip(second);
    both.map(|(first, second)| {
        let failed = match (&first.failed, &second.failed) {
            (Some(one), Some(other)) => Some(one.iter().chain(other).collect::<BooleanArray>()),
            _ => None,
        };
        let array = concat(&[first.array.as_ref(), second.array.as_ref()]);
        let array = array.map_err(|error| RunError::Engine {
            message: error.to_string(),
        })?;
        Ok(Values { array, failed })
    })
    .collect()
}
