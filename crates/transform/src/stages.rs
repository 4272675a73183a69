//! All steps of a flow: steps with expressions, which DuckDB evaluates, and the other steps, which this crate runs
//! itself.
//!
//! Consecutive steps with expressions are one stage, with one statement; each other step is a stage of its own. The
//! rows that a stage keeps, with the columns that it adds, go into the next one.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::RecordBatch;

use crate::distinct::{DistinctRunner, DistinctSpec, PlannedDistinct, RowPlace};
use crate::error::{RunError, StepError, arrow_error};
use crate::evaluator::Evaluator;
use crate::lookup::MEMBERS_BYTES;
use crate::lookup_step::{LookupSpec, PlannedLookup, looked_up, planned_lookup};
use crate::outcome::{self, RowFault, Stepped};
use crate::plan::Steps;
use crate::planned::{Planned, PlannedStep, StepAction};
use crate::runner::StepRunner;
use crate::spec::{InputColumn, StepSpec};
use crate::unpivot::{Groups, PlannedUnpivot, UnpivotSpec, unpivoted};

/// A step of a flow as it is declared.
#[derive(Clone, Debug)]
pub enum FlowStep {
    /// Derived columns, a condition or a check.
    Expressions(StepSpec),
    /// A lookup.
    Lookup(LookupSpec),
    /// Keeps the first of the rows with equal keys.
    Distinct(DistinctSpec),
    /// Columns that become rows.
    Unpivot(UnpivotSpec),
}

/// The steps of a flow, planned.
#[derive(Clone, Debug)]
pub struct Staged {
    /// The columns of the flow before the first step.
    pub columns: Vec<InputColumn>,
    /// The columns that steps add, in their order.
    pub derived: Vec<InputColumn>,
    /// The steps.
    pub steps: Vec<StagedStep>,
    stages: Vec<Stage>,
}

/// A step that can run.
#[derive(Clone, Debug)]
pub enum StagedStep {
    /// Derived columns, a condition or a check.
    Expressions(PlannedStep),
    /// A lookup.
    Lookup(PlannedLookup),
    /// Keeps the first of the rows with equal keys.
    Distinct(PlannedDistinct),
    /// Columns that become rows.
    Unpivot(PlannedUnpivot),
}

#[derive(Clone, Debug)]
enum Stage {
    Expressions(Arc<Planned>),
    Lookup(Arc<PlannedLookup>),
    Distinct(PlannedDistinct),
    Unpivot(PlannedUnpivot),
}

impl StagedStep {
    /// Its keyword in a package.
    pub fn word(&self) -> &'static str {
        match self {
            StagedStep::Expressions(step) => step.action.word(),
            StagedStep::Lookup(_) => "lookup",
            StagedStep::Distinct(_) => "distinct_on",
            StagedStep::Unpivot(_) => "unpivot",
        }
    }

    /// Columns that it names.
    pub fn named(&self) -> &[String] {
        match self {
            StagedStep::Expressions(step) => &step.named,
            StagedStep::Lookup(lookup) => &lookup.named,
            StagedStep::Distinct(distinct) => &distinct.spec.columns,
            StagedStep::Unpivot(unpivot) => &unpivot.spec.columns,
        }
    }

    /// The columns that it adds.
    pub fn added(&self) -> Vec<InputColumn> {
        match self {
            StagedStep::Expressions(step) => match &step.action {
                StepAction::Derive(columns) => columns
                    .iter()
                    .map(|column| InputColumn {
                        name: column.name.clone(),
                        column_type: column.column_type.clone(),
                    })
                    .collect(),
                StepAction::Where { .. } | StepAction::Check { .. } | StepAction::Output(_) => {
                    Vec::new()
                }
            },
            StagedStep::Lookup(lookup) => lookup.spec.take.clone(),
            StagedStep::Distinct(_) => Vec::new(),
            StagedStep::Unpivot(unpivot) => unpivot.added().to_vec(),
        }
    }

    /// What it does, in a few words for a report: the columns that it adds or compares, its condition, or the name of
    /// its check.
    pub fn what(&self) -> String {
        match self {
            StagedStep::Expressions(step) => match &step.action {
                StepAction::Derive(columns) => {
                    let names: Vec<&str> = columns.iter().map(|it| it.name.as_str()).collect();
                    names.join(", ")
                }
                StepAction::Where { text, .. } => text.clone(),
                StepAction::Check { name, .. } => name.clone(),
                StepAction::Output(output) => output.spec.target.clone(),
            },
            StagedStep::Lookup(lookup) => lookup.spec.name.clone(),
            StagedStep::Distinct(distinct) => distinct.spec.columns.join(", "),
            StagedStep::Unpivot(unpivot) => unpivot.what(),
        }
    }
}

impl Staged {
    /// Plans the steps of a flow with these columns. All faults are found, in the order of the steps.
    pub fn plan(
        planner: &Steps<'_>,
        columns: &[InputColumn],
        specs: &[FlowStep],
    ) -> Result<Staged, Vec<StepError>> {
        let mut staged = Staged {
            columns: columns.to_vec(),
            derived: Vec::new(),
            steps: Vec::new(),
            stages: Vec::new(),
        };
        let mut faults = Vec::new();
        let has_expressions = |spec: &FlowStep| matches!(spec, FlowStep::Expressions(_));
        let mut first = 0;
        for part in specs.chunk_by(|one, other| has_expressions(one) && has_expressions(other)) {
            let visible: Vec<InputColumn> = staged
                .columns
                .iter()
                .chain(&staged.derived)
                .cloned()
                .collect();
            match part {
                [FlowStep::Lookup(spec)] => match planned_lookup(spec, &visible, first + 1) {
                    Ok(lookup) => {
                        staged.derived.extend(lookup.spec.take.iter().cloned());
                        staged.stages.push(Stage::Lookup(Arc::new(lookup.clone())));
                        staged.steps.push(StagedStep::Lookup(lookup));
                    }
                    Err(more) => {
                        faults.extend(more);
                        // Later steps may use its columns.
                        staged.derived.extend(spec.take.iter().cloned());
                    }
                },
                [FlowStep::Distinct(spec)] => {
                    match PlannedDistinct::plan(spec, &visible, first + 1) {
                        Ok(distinct) => {
                            staged.stages.push(Stage::Distinct(distinct.clone()));
                            staged.steps.push(StagedStep::Distinct(distinct));
                        }
                        Err(more) => faults.extend(more),
                    }
                }
                [FlowStep::Unpivot(spec)] => {
                    match PlannedUnpivot::plan(spec, &visible, first + 1, staged.fan_out()) {
                        Ok(unpivot) => {
                            staged.derived.extend(unpivot.added());
                            staged.stages.push(Stage::Unpivot(unpivot.clone()));
                            staged.steps.push(StagedStep::Unpivot(unpivot));
                        }
                        Err(more) => {
                            faults.extend(more);
                            // Later steps may name its columns, which are missing now.
                            return Err(faults);
                        }
                    }
                }
                expressions => {
                    let specs: Vec<StepSpec> = expressions
                        .iter()
                        .filter_map(|step| match step {
                            FlowStep::Expressions(spec) => Some(spec.clone()),
                            _ => None,
                        })
                        .collect();
                    match planner.plan(&visible, &specs) {
                        Ok(planned) => {
                            let planned = Planned { first, ..planned };
                            staged.derived.extend(planned.derived.iter().cloned());
                            let steps = planned.steps.iter().cloned();
                            staged.steps.extend(steps.map(StagedStep::Expressions));
                            staged.stages.push(Stage::Expressions(Arc::new(planned)));
                        }
                        Err(more) => {
                            let more = more.into_iter().map(|fault| StepError {
                                step: fault.step + first,
                                ..fault
                            });
                            faults.extend(more);
                            // Later stages may use the columns of this one. They are missing now, so faults of those
                            // stages would be false.
                            return Err(faults);
                        }
                    }
                }
            }
            first += part.len();
        }
        staged.note_used();
        match faults.is_empty() {
            true => Ok(staged),
            false => Err(faults),
        }
    }

    /// Notes, in the steps that turn columns into rows, which of these columns later steps use.
    fn note_used(&mut self) {
        let mut used = BTreeSet::new();
        let mut noted = Vec::new();
        for step in self.steps.iter().rev() {
            if let StagedStep::Unpivot(unpivot) = step {
                let mut unpivot = unpivot.clone();
                unpivot.note_used(&used);
                noted.push(unpivot);
            }
            used.extend(step.named().iter().map(String::as_str));
        }
        let of_steps = self.steps.iter_mut().filter_map(|step| match step {
            StagedStep::Unpivot(unpivot) => Some(unpivot),
            _ => None,
        });
        let of_stages = self.stages.iter_mut().filter_map(|stage| match stage {
            Stage::Unpivot(unpivot) => Some(unpivot),
            _ => None,
        });
        for ((step, stage), noted) in of_steps.zip(of_stages).zip(noted.into_iter().rev()) {
            stage.clone_from(&noted);
            *step = noted;
        }
    }

    /// The first steps, with the columns that they add.
    pub fn prefix(&self, step_count: usize) -> Staged {
        let steps: Vec<StagedStep> = self.steps.iter().take(step_count).cloned().collect();
        let mut left = steps.len();
        let mut stages = Vec::new();
        for stage in &self.stages {
            if left == 0 {
                break;
            }
            stages.push(match stage {
                Stage::Lookup(lookup) => {
                    left -= 1;
                    Stage::Lookup(Arc::clone(lookup))
                }
                Stage::Distinct(distinct) => {
                    left -= 1;
                    Stage::Distinct(distinct.clone())
                }
                Stage::Unpivot(unpivot) => {
                    left -= 1;
                    Stage::Unpivot(unpivot.clone())
                }
                Stage::Expressions(planned) => {
                    let own = planned.prefix(left);
                    left -= own.steps.len();
                    Stage::Expressions(Arc::new(own))
                }
            });
        }
        Staged {
            columns: self.columns.clone(),
            derived: steps.iter().flat_map(StagedStep::added).collect(),
            steps,
            stages,
        }
    }

    /// The steps, if all of them are expressions.
    pub(crate) fn expressions(&self) -> Option<&Planned> {
        match &self.stages[..] {
            [Stage::Expressions(planned)] => Some(planned),
            _ => None,
        }
    }

    /// Bytes of the references and of the numbers of members that are added to them, and the most bytes of the keys of
    /// distinct rows.
    pub fn kept_bytes(&self) -> u64 {
        let bytes = self.steps.iter().map(|step| match step {
            StagedStep::Lookup(lookup) => {
                let members = lookup.members().map_or(0, |_| MEMBERS_BYTES);
                lookup.spec.reference.bytes() + members
            }
            StagedStep::Distinct(distinct) => distinct.spec.bytes_max,
            StagedStep::Expressions(_) | StagedStep::Unpivot(_) => 0,
        });
        bytes.sum()
    }

    /// From now on, rows get numbers that belong to no member of a reference. Such rows are not loaded.
    pub fn rehearse(&self) {
        for step in &self.steps {
            if let StagedStep::Lookup(lookup) = step
                && let Some(members) = lookup.members()
            {
                members.rehearse();
            }
        }
    }

    /// The indexes of the columns that have no values after the steps: columns that became rows and that no later step
    /// uses.
    pub fn unused(&self) -> BTreeSet<usize> {
        let steps = self.steps.iter();
        let unused = steps.filter_map(|step| match step {
            StagedStep::Unpivot(unpivot) => Some(unpivot.unused()),
            _ => None,
        });
        unused.flatten().copied().collect()
    }

    /// The columns that became rows.
    pub fn groups(&self) -> Groups {
        let mut groups = Groups::default();
        for step in &self.steps {
            if let StagedStep::Unpivot(unpivot) = step {
                groups.add(unpivot);
            }
        }
        groups
    }

    /// The most rows that are made of an input row.
    pub fn fan_out(&self) -> u64 {
        let rows = self.steps.iter().map(|step| match step {
            StagedStep::Unpivot(unpivot) => unpivot.fan_out(),
            _ => 1,
        });
        rows.product()
    }

    /// The steps that keep the first of several rows, each with its index.
    pub fn distinct_steps(&self) -> impl Iterator<Item = (usize, &PlannedDistinct)> {
        let steps = self.steps.iter().enumerate();
        steps.filter_map(|(at, step)| match step {
            StagedStep::Distinct(distinct) => Some((at, distinct)),
            _ => None,
        })
    }
}

/// Runs all steps of a flow for one stream.
pub struct StagedRunner {
    stages: Vec<StageRunner>,
    step_count: usize,
}

enum StageRunner {
    Expressions(StepRunner),
    Lookup(Arc<PlannedLookup>),
    Distinct(DistinctRunner),
    Unpivot(PlannedUnpivot),
}

impl StagedRunner {
    /// Opens connections for the steps.
    pub fn new(evaluator: &Evaluator, staged: &Staged) -> Result<StagedRunner, RunError> {
        let mut stages = Vec::with_capacity(staged.stages.len());
        for stage in &staged.stages {
            stages.push(match stage {
                Stage::Expressions(planned) => {
                    StageRunner::Expressions(StepRunner::new(evaluator, planned)?)
                }
                Stage::Lookup(lookup) => StageRunner::Lookup(Arc::clone(lookup)),
                Stage::Distinct(distinct) => {
                    StageRunner::Distinct(DistinctRunner::new(distinct.clone()))
                }
                Stage::Unpivot(unpivot) => StageRunner::Unpivot(unpivot.clone()),
            });
        }
        Ok(StagedRunner {
            stages,
            step_count: staged.steps.len(),
        })
    }

    /// Passes a batch through all steps. It must have the columns of the plan, in their order. `place` returns the
    /// place of a row of the batch in its source. The error [`RunError::TooManyRows`] asks for the same rows in smaller
    /// batches.
    pub fn run(
        &mut self,
        batch: &RecordBatch,
        place: &dyn Fn(usize) -> RowPlace,
    ) -> Result<Stepped, RunError> {
        let mut whole = Stepped {
            batch: batch.clone(),
            origins: None,
            fan_out: 1,
            faults: Vec::new(),
            counts: Vec::with_capacity(self.step_count),
            unmatched_keys: Vec::new(),
            added_bytes: 0,
        };
        let mut groups = Groups::default();
        for stage in &mut self.stages {
            let first = whole.counts.len();
            let (origins, fan_out) = (whole.origins.take(), whole.fan_out);
            let origin = |row: usize| outcome::origin(origins.as_deref(), fan_out, row);
            let stepped = match stage {
                StageRunner::Expressions(runner) => {
                    runner.run(&whole.batch, batch.num_rows() > 1)?
                }
                StageRunner::Lookup(lookup) => looked_up(lookup, &whole.batch)?,
                StageRunner::Distinct(runner) => runner.run(&whole.batch, &|row| {
                    let (row, part) = origin(row);
                    RowPlace { part, ..place(row) }
                })?,
                StageRunner::Unpivot(unpivot) => {
                    unpivoted(unpivot, &whole.batch).map_err(arrow_error)?
                }
            };
            whole.faults.extend(stepped.faults.into_iter().map(|fault| {
                let (row, part) = origin(fault.row);
                let mut reason = fault.reason;
                groups.say(&mut reason, part);
                RowFault {
                    row,
                    step: fault.step + first,
                    reason,
                    ..fault
                }
            }));
            if let StageRunner::Unpivot(unpivot) = stage {
                groups.add(unpivot);
            }
            let own = stepped.fan_out;
            let through = |id: &u64| {
                let (row, part) = origin((id / own) as usize);
                (row as u64 * fan_out + part) * own + id % own
            };
            let left = stepped.origins.as_ref();
            let left = left.map(|left| left.iter().map(through).collect());
            whole.origins = left.or(origins);
            whole.fan_out = fan_out * own;
            whole.counts.extend(stepped.counts);
            whole.added_bytes += stepped.added_bytes;
            let keys = stepped.unmatched_keys.into_iter();
            whole
                .unmatched_keys
                .extend(keys.map(|(step, key)| (step + first, key)));
            whole.batch = stepped.batch;
        }
        whole.faults.sort_by_key(|fault| fault.row);
        Ok(whole)
    }
}
