//! The steps of a flow before its columns have types: the columns that they use, and the columns that they derive.

use std::collections::BTreeSet;
use std::sync::Arc;

use inrush_package::{
    CheckElse, DISTINCT_BYTES_MAX, Flow, Output, OutputElse, Package, Place, Step, Unpivot,
};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::suggest::{listed, suggestion};
use inrush_transform::distinct::DistinctSpec;
use inrush_transform::evaluator::Evaluator;
use inrush_transform::plan::Steps;
use inrush_transform::spec::{Derivation, InputColumn, Otherwise, OutputSpec, StepSpec};
use inrush_transform::stages::{FlowStep, Staged};
use inrush_transform::unpivot::UnpivotSpec;

use super::OutputPart;
use super::bound::BoundSteps;
use super::distinct;
use super::faults;
use super::reference::{self, ReadReference};
use crate::error::PlanError;
use crate::options::PlanOptions;
use crate::reading::columns::TargetColumns;

/// The steps of a flow whose columns have no types yet.
pub struct AskedSteps<'a> {
    evaluator: Arc<Evaluator>,
    package: &'a Package,
    flow: &'a Flow,
    flow_name: &'a str,
    specs: Vec<FlowStep>,
    /// The columns that steps name, in lower case.
    named: BTreeSet<String>,
}

/// A derived column that is loaded.
pub struct DerivedTarget {
    /// Its index among the derived columns.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its type after the steps.
    pub column_type: ColumnType,
    /// The name of a type that any destination understands, for a new column; `None` if the type has none.
    pub type_name: Option<String>,
    /// Its index among all columns of the target; `None` if the target does not exist yet.
    pub place: Option<usize>,
    /// The number of its step, counted from 1.
    pub step: usize,
    /// The place in the package where it is derived.
    pub derived_at: Place,
}

impl<'a> AskedSteps<'a> {
    /// The steps of a flow; `None` if it has none.
    pub fn of(
        package: &'a Package,
        flow: &'a Flow,
        flow_name: &'a str,
        options: &PlanOptions<'_>,
    ) -> Result<Option<AskedSteps<'a>>, PlanError> {
        if !flow.has_steps() {
            return Ok(None);
        }
        let evaluator = options.sources.step_evaluator();
        let evaluator = evaluator.map_err(|error| PlanError::Mismatch {
            flow: flow_name.to_owned(),
            what: error.what,
            hint: error.hint,
        })?;
        let output = output_spec(package, flow);
        let mut expressions: Vec<StepSpec> = flow.steps.iter().filter_map(spec).collect();
        expressions.extend(output.clone());
        let steps =
            Steps::new(&evaluator).map_err(|error| failed(flow_name, &error.to_string()))?;
        let mut named = steps.names(&expressions);
        drop(steps);
        let steps = flow.steps.iter();
        let keys = steps.clone().flat_map(|step| step.on.iter().flatten());
        let distinct = steps.flat_map(|step| step.distinct_on.iter().flatten());
        let unpivoted = flow.steps.iter().flat_map(|step| step.unpivot.iter());
        let unpivoted = unpivoted.flat_map(|unpivot| &unpivot.columns);
        let keys = keys.map(|(name, _)| name).chain(distinct).chain(unpivoted);
        named.extend(keys.map(|name| name.to_ascii_lowercase()));
        let mut specs = Vec::with_capacity(flow.steps.len());
        for (at, step) in flow.steps.iter().enumerate() {
            let reading = ReadReference {
                package,
                flow,
                flow_name,
                connection: package.connection_of(flow).ok(),
                step: at,
                evaluator: &evaluator,
                options,
            };
            specs.extend(if let Some(lookup) = &step.lookup {
                Some(FlowStep::Lookup(reference::read(&reading, step, lookup)?))
            } else if let Some(columns) = &step.distinct_on {
                distinct::refuse_shares(flow_name, at + 1, options)?;
                distinct::refuse_members(flow_name, at + 1, &flow.steps[..at])?;
                Some(FlowStep::Distinct(DistinctSpec {
                    columns: columns.clone(),
                    bytes_max: step.memory_bytes_max.unwrap_or(DISTINCT_BYTES_MAX),
                }))
            } else if let Some(Unpivot {
                columns,
                name,
                value,
            }) = &step.unpivot
            {
                Some(FlowStep::Unpivot(UnpivotSpec {
                    columns: columns.clone(),
                    name: name.clone(),
                    value: value.clone(),
                }))
            } else {
                spec(step).map(FlowStep::Expressions)
            });
        }
        specs.extend(output.map(FlowStep::Expressions));
        Ok(Some(AskedSteps {
            evaluator,
            package,
            flow,
            flow_name,
            specs,
            named,
        }))
    }

    /// True if a step names this column.
    pub fn uses(&self, column: &str) -> bool {
        self.named.contains(&column.to_ascii_lowercase())
    }

    /// True if a step turns this column into rows, so that these rows no longer have it. `known` has all columns that the step
    /// may mean. A column with exactly this name comes first; otherwise case does not matter.
    pub fn unpivots<'c>(&self, column: &str, known: impl Iterator<Item = &'c str> + Clone) -> bool {
        self.flow.unpivoted().any(|own| {
            own == column
                || own.eq_ignore_ascii_case(column) && !known.clone().any(|other| other == own)
        })
    }

    /// True if a step derives this column.
    pub fn derives(&self, column: &str) -> bool {
        self.flow.derives(column)
    }

    /// The target's columns that the source fills: not the derived ones.
    pub fn filled_by_source(&self, target: &TargetColumns) -> Vec<String> {
        let filled = target.filled.iter();
        filled.filter(|name| !self.derives(name)).cloned().collect()
    }

    /// Binds the steps to the columns that are read. `target` has the columns of the target, if it exists.
    pub fn bind(
        &self,
        read: &[Column],
        target: Option<&TargetColumns>,
        target_name: &str,
    ) -> Result<BoundSteps, PlanError> {
        let columns: Vec<InputColumn> = read
            .iter()
            .map(|column| InputColumn {
                name: column.name.clone(),
                column_type: column.column_type.clone(),
            })
            .collect();
        let steps = Steps::new(&self.evaluator);
        let steps = steps.map_err(|error| failed(self.flow_name, &error.to_string()))?;
        let planned = Staged::plan(&steps, &columns, &self.specs)
            .map_err(|errors| faults::of_package(self.package, self.flow, errors))?;
        let loaded = self.loaded(&planned, target, target_name)?;
        // The flows of the other outputs are not planned yet, so it is decided later which of them reports.
        let output = self.flow.output_number.map(|_| OutputPart {
            flow: self.package.index_of(self.flow),
            reports: true,
            each: self.flow.each,
            is_alone: false,
        });
        Ok(BoundSteps::new(
            self.flow_name,
            Arc::clone(&self.evaluator),
            planned,
            loaded,
            self.flow,
            output,
        ))
    }

    /// The derived columns that are loaded. If the target lacks a derived column, a later step must use it.
    fn loaded(
        &self,
        planned: &Staged,
        target: Option<&TargetColumns>,
        target_name: &str,
    ) -> Result<Vec<DerivedTarget>, PlanError> {
        let mut loaded = Vec::new();
        let mut index = 0;
        for (at, (step, declared)) in planned.steps.iter().zip(&self.flow.steps).enumerate() {
            for column in step.added() {
                let own = index;
                index += 1;
                let added = planned.derived.iter().map(|added| added.name.as_str());
                if declared.load == Some(false) || self.unpivots(&column.name, added) {
                    continue;
                }
                let place = match target {
                    None => None,
                    Some(target) => {
                        let place = target.all.iter().position(|name| *name == column.name);
                        let later = planned.steps[at + 1..].iter();
                        let is_used = later
                            .flat_map(|step| step.named())
                            .any(|name| *name == column.name);
                        match place {
                            None if is_used => continue,
                            None => {
                                return Err(self.no_column(
                                    &column.name,
                                    at + 1,
                                    target,
                                    target_name,
                                ));
                            }
                            place => place,
                        }
                    }
                };
                loaded.push(DerivedTarget {
                    index: own,
                    name: column.name.clone(),
                    column_type: column.column_type.clone(),
                    type_name: inrush_rows::type_name::of_column(&column.column_type),
                    place,
                    step: at + 1,
                    derived_at: self.derived_at(at, &column.name),
                });
            }
        }
        Ok(loaded)
    }

    /// The place in the package where a step sets the value of a new column.
    fn derived_at(&self, step: usize, column: &str) -> Place {
        self.package.origin.place(&self.path_of(step, column))
    }

    /// The setting in which a step adds a column.
    fn path_of(&self, step: usize, column: &str) -> String {
        let setting = match &self.flow.steps[step] {
            Step {
                derive: Some(_), ..
            } => format!("derive.{column}"),
            Step {
                lookup: Some(_), ..
            } => format!("take.{column}"),
            _ => "unpivot".to_owned(),
        };
        let flow = self.package.index_of(self.flow);
        format!("flow[{flow}].step[{step}].{setting}")
    }

    fn no_column(
        &self,
        column: &str,
        step: usize,
        target: &TargetColumns,
        target_name: &str,
    ) -> PlanError {
        let names = || target.filled.iter().map(String::as_str);
        let what = format!(
            "step {step} derives `{column}`, but {target_name} has no such column, and no later step uses it; the columns of the \
             target are {}",
            listed(names())
        );
        let hint = match suggestion(column, names()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "add the column to the target, or remove it from the step".to_owned(),
        };
        let place = self
            .package
            .origin
            .key_place(&self.path_of(step - 1, column));
        faults::at(place, what, &hint)
    }
}

/// A step with expressions; `None` if it has none.
fn spec(step: &Step) -> Option<StepSpec> {
    if let Some(columns) = &step.derive {
        let columns = columns.iter().map(|(name, expression)| Derivation {
            name: name.clone(),
            expression: expression.clone(),
        });
        return Some(StepSpec::Derive(columns.collect()));
    }
    if let Some(condition) = &step.filter {
        return Some(StepSpec::Where {
            condition: condition.clone(),
        });
    }
    step.check.as_ref().map(|condition| StepSpec::Check {
        name: step.name.clone(),
        condition: condition.clone(),
        otherwise: match step.otherwise.unwrap_or_default() {
            CheckElse::Reject => Otherwise::Reject,
            CheckElse::Warn => Otherwise::Warn,
            CheckElse::Fail => Otherwise::Fail,
        },
    })
}

/// The output that a flow loads, and the other outputs of its source; `None` if it has no outputs.
fn output_spec(package: &Package, flow: &Flow) -> Option<StepSpec> {
    let kept = (flow.output_number? as usize).checked_sub(1)?;
    let conditions = flow.outputs.iter().map(|output| output.when.clone());
    let has_condition = |output: &Output| output.when.is_some();
    let first = flow.outputs.iter().position(has_condition).unwrap_or(0);
    let first = format!("flow[{}].output[{first}].when", package.index_of(flow));
    Some(StepSpec::Output(OutputSpec {
        conditions: conditions.collect(),
        kept,
        target: flow.table.clone(),
        each: flow.each,
        rejects: flow.otherwise.unwrap_or_default() == OutputElse::Reject,
        place: package.origin.place(&first).to_string(),
    }))
}

fn failed(flow: &str, what: &str) -> PlanError {
    PlanError::Mismatch {
        flow: flow.to_owned(),
        what: what.to_owned(),
        hint: "run the same command again; if it fails again, report it with this message"
            .to_owned(),
    }
}
