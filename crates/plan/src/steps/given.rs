//! Steps that the destination evaluates itself, in the statement by which it adds rows: decided here, once for each plan.
//!
//! A destination tells only how many rows it has added. So the steps are given to it only if this number is enough for an
//! exact account, and if the whole statement fails for a row that a step might reject. If the statement fails, the rows of
//! the unit pass the engine's own steps.

use std::sync::Arc;

use inrush_convert::AfterSteps;
use inrush_destination::{Destination, GivenColumn, GivenSteps};
use inrush_package::Verify;
use inrush_rows::column::Column;
use inrush_source::Source;
use inrush_transform::in_destination::{self, Loaded, Parts};
use inrush_transform::outcome::StepCount;

use super::StepPlan;
use crate::error::PlanError;
use crate::step_tally::StepTally;

/// Whether the destination evaluates the steps of a flow.
#[derive(Clone, Debug)]
pub enum Given {
    /// The destination has no statement that steps could be in.
    Unasked,
    /// It does not; the reason is the end of a sentence after `because`.
    Refused(String),
    /// It does.
    ToDestination(Arc<GivenPlan>),
}

/// Steps that the destination evaluates.
#[derive(Clone, Debug)]
pub struct GivenPlan {
    /// What the destination gets.
    pub steps: GivenSteps,
    /// The number of steps.
    count: usize,
    /// The index of the step whose condition leaves rows out, if there is one.
    filter: Option<usize>,
}

impl Given {
    /// The plan of the steps, with the decision. `columns` are those that are loaded.
    pub fn ask(
        destination: &dyn Destination,
        plan: Arc<StepPlan>,
        columns: &[Column],
        verify: Verify,
        source: &dyn Source,
    ) -> Result<Arc<StepPlan>, PlanError> {
        if !destination.evaluates_steps() {
            return Ok(plan);
        }
        let given = match parts(&plan, columns, verify, source) {
            Err(why) => Given::Refused(why),
            Ok(parts) => {
                let given = GivenPlan::new(&plan, parts);
                match destination.refuses_steps(&given.steps)? {
                    Some(why) => Given::Refused(why),
                    None => Given::ToDestination(Arc::new(given)),
                }
            }
        };
        let plan = Arc::unwrap_or_clone(plan);
        Ok(Arc::new(StepPlan { given, ..plan }))
    }

    /// The decision in a sentence, for a plan.
    pub fn words(&self) -> Option<String> {
        match self {
            Given::Unasked => None,
            Given::Refused(why) => Some(format!(
                "the steps are evaluated before the rows are sent, because {why}"
            )),
            Given::ToDestination(_) => Some(
                "the steps are a part of the statement that adds the rows; if it fails for a row, this unit and the later ones \
                 pass the steps before they are sent"
                    .to_owned(),
            ),
        }
    }
}

/// The statement; the error is the reason why there is none.
fn parts(
    plan: &StepPlan,
    columns: &[Column],
    verify: Verify,
    source: &dyn Source,
) -> Result<Parts, String> {
    if verify != Verify::Count {
        return Err("the values of the loaded rows are summed up, as `verify` asks".to_owned());
    }
    if plan.output.is_some() {
        return Err("the flow has several outputs".to_owned());
    }
    let inputs = (0..source.input_count()).map(|input| source.input(input));
    if inputs.into_iter().any(|input| !input.is_read_again()) {
        return Err(
            "the source is read once, and a unit in which a step fails is read again".to_owned(),
        );
    }
    let names: Vec<&str> = plan
        .read
        .iter()
        .map(|column| column.name.as_str())
        .chain(plan.planned.derived.iter().map(|it| it.name.as_str()))
        .collect();
    let mut loaded = Vec::with_capacity(columns.len());
    for (column, after) in columns.iter().zip(&plan.after) {
        match after {
            AfterSteps::Taken(index) => loaded.push(Loaded {
                name: names[*index],
                nullable: column.nullable,
            }),
            AfterSteps::Converted(_) => {
                return Err(format!(
                    "`{}` has another type in the target than its expression, and each value is checked",
                    column.name
                ));
            }
        }
    }
    in_destination::of(&plan.planned, &loaded)
}

impl GivenPlan {
    fn new(plan: &StepPlan, parts: Parts) -> GivenPlan {
        let columns = plan.read.iter().map(|column| GivenColumn {
            name: column.name.clone(),
            column_type: column.column_type.clone(),
        });
        GivenPlan {
            steps: GivenSteps {
                columns: columns.collect(),
                version: plan.evaluator.version(),
                session: parts.session,
                before: parts.before,
                after: parts.after,
            },
            count: plan.planned.steps.len(),
            filter: parts.filter,
        }
    }

    /// The counts of the steps, if they got `given` rows and kept `kept` of them, and rejected none. `None` if steps without
    /// a condition kept fewer rows than they got, or if there are more rows than before.
    pub fn tally(&self, given: u64, kept: u64) -> Option<StepTally> {
        let filtered = given.checked_sub(kept);
        let filtered = filtered.filter(|filtered| self.filter.is_some() || *filtered == 0)?;
        let counts = (0..self.count).map(|step| StepCount {
            rows_in: match self.filter.is_some_and(|filter| step > filter) {
                true => kept,
                false => given,
            },
            filtered: match self.filter == Some(step) {
                true => filtered,
                false => 0,
            },
            ..StepCount::default()
        });
        Some(StepTally {
            counts: counts.collect(),
            ..StepTally::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(count: usize, filter: Option<usize>) -> GivenPlan {
        GivenPlan {
            steps: GivenSteps {
                columns: Vec::new(),
                version: String::new(),
                session: Vec::new(),
                before: String::new(),
                after: String::new(),
            },
            count,
            filter,
        }
    }

    #[test]
    fn rows_that_are_missing_were_filtered_by_the_condition() {
        let tally = plan(3, Some(1)).tally(10, 7).expect("a condition");
        let numbers: Vec<_> = tally
            .counts
            .iter()
            .map(|count| (count.rows_in, count.filtered, count.rows_out()))
            .collect();
        assert_eq!(numbers, [(10, 0, 10), (10, 3, 7), (7, 0, 7)]);
    }

    #[test]
    fn rows_without_a_reason_to_be_missing_are_an_error() {
        plan(2, None).tally(10, 10).expect("all rows");
        assert!(plan(2, None).tally(10, 9).is_none(), "no condition");
        assert!(plan(2, Some(0)).tally(10, 11).is_none(), "too many rows");
    }
}
