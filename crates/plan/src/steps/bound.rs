//! Steps that are bound to the columns that are read, and the columns that are loaded after them.

use std::sync::Arc;

use inrush_convert::AfterSteps;
use inrush_package::{Flow, Step};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::column_policy::ValueSource;
use inrush_source::Source;
use inrush_transform::evaluator::Evaluator;
use inrush_transform::stages::{Staged, StagedStep};
use serde_json::{Value, json};

use super::{DerivedTarget, Given, OutputPart, StepPlan, distinct, faults, fit};
use crate::error::PlanError;
use crate::identity::description::Description;
use crate::reading::fields::FieldOrigin;
use crate::reading::flow_inputs::{TypedField, TypedInputs};
use crate::reading::typed_rows;

/// Steps whose expressions are bound to typed columns.
pub struct BoundSteps {
    flow_name: String,
    evaluator: Arc<Evaluator>,
    planned: Staged,
    derived: Vec<DerivedTarget>,
    description: Description,
    output: Option<OutputPart>,
}

impl BoundSteps {
    /// `derived` are the derived columns that are loaded; `output` is [`StepPlan::output`].
    pub(super) fn new(
        flow_name: &str,
        evaluator: Arc<Evaluator>,
        planned: Staged,
        derived: Vec<DerivedTarget>,
        flow: &Flow,
        output: Option<OutputPart>,
    ) -> BoundSteps {
        BoundSteps {
            description: describe(flow, &planned, &evaluator),
            flow_name: flow_name.to_owned(),
            evaluator,
            planned,
            derived,
            output,
        }
    }

    /// The derived columns that are loaded, in the order of their steps.
    pub fn derived(&self) -> &[DerivedTarget] {
        &self.derived
    }

    /// A derived column as a column of the target.
    pub fn column(derived: &DerivedTarget, column_type: ColumnType, nullable: bool) -> Column {
        Column {
            nullable,
            source: ValueSource::Derived,
            ..Column::new(&derived.name, column_type, 0)
        }
    }

    /// Makes the plan. `read` are the columns that are read. `passed` are the indexes, in `read`, of the columns that are
    /// loaded unchanged. `loaded` has these columns first, and then the derived ones. Refuses a derived column that cannot go
    /// into its column of the target, and a source that the steps do not allow.
    pub fn plan(
        self,
        read: Vec<Column>,
        passed: &[usize],
        loaded: &mut [Column],
        source: &dyn Source,
    ) -> Result<StepPlan, PlanError> {
        let BoundSteps {
            flow_name,
            evaluator,
            planned,
            derived,
            mut description,
            output,
        } = self;
        let mut after: Vec<AfterSteps> = passed
            .iter()
            .map(|index| AfterSteps::Taken(*index))
            .collect();
        let inputs = TypedInputs {
            kind: "steps",
            origin: FieldOrigin::Database,
            columns: planned
                .columns
                .iter()
                .chain(&planned.derived)
                .map(|column| TypedField {
                    name: column.name.clone(),
                    data_type: column.column_type.arrow(),
                    is_uuid: column.column_type == ColumnType::Uuid,
                    native: None,
                })
                .collect(),
        };
        for (column, derived) in loaded[passed.len()..].iter_mut().zip(&derived) {
            let index = read.len() + derived.index;
            if column.column_type == derived.column_type {
                after.push(AfterSteps::Taken(index));
                continue;
            }
            let mut checked = [Column {
                source: ValueSource::Field(index),
                ..column.clone()
            }];
            let refused = |what: &str, hint: &str| {
                let what = format!("step {}: {what}", derived.step);
                faults::at(derived.derived_at.clone(), what, hint)
            };
            let never = fit::never_fits(derived, &inputs.columns[index], &column.column_type);
            if let Some((what, hint)) = never {
                return Err(refused(&what, &hint));
            }
            typed_rows::check(&flow_name, &inputs, &mut checked).map_err(|error| match error {
                PlanError::Mismatch { what, hint, .. } => refused(&what, &hint),
                error => error,
            })?;
            column.policies = checked[0].policies.clone();
            after.push(AfterSteps::Converted(index));
        }
        description.say("read", crate::identity::description::columns(&read));
        if let Some((step, distinct)) = planned.distinct_steps().next() {
            distinct::refuse_source(&flow_name, step + 1, &distinct.spec.columns, source)?;
            description.say("inputs", distinct::states(source));
        }
        Ok(StepPlan {
            evaluator,
            planned: Arc::new(planned),
            read,
            after,
            description,
            output,
            given: Given::Unasked,
        })
    }
}

/// The steps in fixed names, for the identity of units. They include the version of DuckDB, because functions may change, and
/// the keys and values of references.
fn describe(flow: &Flow, planned: &Staged, evaluator: &Evaluator) -> Description {
    let mut said = Description::default();
    let steps = flow.steps.iter().zip(&planned.steps);
    said.say("duckdb", evaluator.version())
        .say("steps", steps.map(step).collect::<Vec<Value>>());
    if let Some(number) = flow.output_number {
        let conditions = flow.outputs.iter().map(|output| json!(output.when));
        // The conditions of all outputs decide which rows this output takes, and which rows no output takes.
        said.say("outputs", conditions.collect::<Vec<Value>>())
            .say("output", number)
            .say_unless("each", flow.each, &false)
            .say_word("else", flow.otherwise.unwrap_or_default());
    }
    said
}

fn step((step, planned): (&Step, &StagedStep)) -> Value {
    let Step {
        derive,
        filter,
        check,
        // The name of a check changes no row.
        name: _,
        otherwise,
        load,
        lookup,
        on,
        fold,
        take,
        unmatched,
        distinct_on,
        // The memory limit does not change any row.
        memory_bytes_max: _,
        unpivot,
    } = step;
    // The rows of a reference are described by their digest. A reference to which runs add members changes with each run, so it
    // is described by its name; the number of a key stays the same.
    let reference = match planned {
        StagedStep::Lookup(planned) if planned.members().is_some() => Some(json!(lookup)),
        StagedStep::Lookup(planned) => Some(json!(planned.spec.reference.digest())),
        StagedStep::Expressions(_) | StagedStep::Distinct(_) | StagedStep::Unpivot(_) => None,
    };
    let mut said = Description::default();
    said.say_some("derive", derive.as_ref().map(|columns| json!(columns)))
        .say_some("where", filter.clone())
        .say_some("check", check.clone())
        .say_word("else", otherwise.unwrap_or_default())
        .say_unless("load", load.unwrap_or(true), &true)
        .say_some("reference", reference)
        .say_some("on", on.as_ref().map(|on| json!(on)))
        .say_some("fold", (!fold.patterns().is_empty()).then(|| json!(fold)))
        .say_some("take", take.as_ref().map(|take| json!(take)))
        .say_some("unmatched", unmatched.as_ref().map(|it| json!(it)))
        .say_some("distinct_on", distinct_on.clone())
        .say_some("unpivot", unpivot.as_ref().map(|it| json!(it)));
    said.into()
}
