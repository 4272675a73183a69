//! All steps of a flow: expressions, which DuckDB evaluates, and lookups and distinct rows, which this crate does itself.
//!
//! Consecutive steps with expressions are one stage, with one statement; each other step is a stage of its own. The rows
//! that a stage keeps, with the columns that it adds, go into the next one.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::BooleanBuffer;
use arrow_schema::{Field, Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use inrush_rows::column_type::ColumnType;
use inrush_rows::suggest::suggestion;

use crate::distinct::{DistinctRunner, DistinctSpec, PlannedDistinct, RowPlace};
use crate::error::{RunError, StepError, StepErrorKind, arrow_error};
use crate::evaluator::Evaluator;
use crate::fold::Folds;
use crate::key::KeyClass;
use crate::lookup::{Found, Lookup, MEMBERS_BYTES, Members, Reference, Unmatched};
use crate::outcome::{FaultKind, RowFault, StepCount, Stepped};
use crate::plan::{Planned, PlannedStep, RESERVED, StepAction, Steps};
use crate::runner::StepRunner;
use crate::spec::{InputColumn, StepSpec};
use crate::types::sql_name;

/// A step of a flow as it is declared.
#[derive(Clone, Debug)]
pub enum FlowStep {
    /// Derived columns, a condition or a check.
    Expressions(StepSpec),
    /// A lookup.
    Lookup(LookupSpec),
    /// Of rows with equal keys, the first one.
    Distinct(DistinctSpec),
}

/// A lookup whose reference is in memory.
#[derive(Clone, Debug)]
pub struct LookupSpec {
    /// What is looked up, for people: `warehouse.dim_customer`.
    pub name: String,
    /// The reference.
    pub reference: Arc<Reference>,
    /// The key: a column of the flow, and the column of the reference, with its type, that it is compared with.
    pub on: Vec<(String, InputColumn)>,
    /// Differences between texts of the key that are ignored.
    pub folds: Folds,
    /// The columns that are put beside the rows: their names in the flow, with the types of the reference.
    pub take: Vec<InputColumn>,
    /// What happens to rows whose key is not there.
    pub unmatched: Unmatched,
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
    /// Of rows with equal keys, the first one.
    Distinct(PlannedDistinct),
}

/// A lookup that can run.
#[derive(Clone, Debug)]
pub struct PlannedLookup {
    /// Its declaration.
    pub spec: LookupSpec,
    /// The columns of the flow with the key.
    pub named: Vec<String>,
    lookup: Lookup,
}

impl PlannedLookup {
    /// The members that it adds to its reference, if it does.
    pub fn members(&self) -> Option<&Arc<Members>> {
        match &self.spec.unmatched {
            Unmatched::Add(members) => Some(members),
            Unmatched::Reject | Unmatched::Null | Unmatched::Default(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
enum Stage {
    Expressions(Arc<Planned>),
    Lookup(Arc<PlannedLookup>),
    Distinct(PlannedDistinct),
}

impl StagedStep {
    /// The word of a package for it.
    pub fn word(&self) -> &'static str {
        match self {
            StagedStep::Expressions(step) => step.action.word(),
            StagedStep::Lookup(_) => "lookup",
            StagedStep::Distinct(_) => "distinct_on",
        }
    }

    /// Columns that it names.
    pub fn named(&self) -> &[String] {
        match self {
            StagedStep::Expressions(step) => &step.named,
            StagedStep::Lookup(lookup) => &lookup.named,
            StagedStep::Distinct(distinct) => &distinct.spec.columns,
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
        }
    }

    /// What it does, in a few words for a report: the columns that it adds or compares, its condition, or the name of its check.
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
                expressions => {
                    let specs: Vec<StepSpec> = expressions
                        .iter()
                        .filter_map(|step| match step {
                            FlowStep::Expressions(spec) => Some(spec.clone()),
                            FlowStep::Lookup(_) | FlowStep::Distinct(_) => None,
                        })
                        .collect();
                    match planner.plan(&visible, &specs) {
                        Ok(planned) => {
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
                            // The columns that are missing now would be faults of later stages that are none.
                            return Err(faults);
                        }
                    }
                }
            }
            first += part.len();
        }
        match faults.is_empty() {
            true => Ok(staged),
            false => Err(faults),
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

    /// Bytes of the references and of the numbers of members that are added to them, and the most bytes of the keys of distinct
    /// rows.
    pub fn kept_bytes(&self) -> u64 {
        let bytes = self.steps.iter().map(|step| match step {
            StagedStep::Lookup(lookup) => {
                let members = lookup.members().map_or(0, |_| MEMBERS_BYTES);
                lookup.spec.reference.bytes() + members
            }
            StagedStep::Distinct(distinct) => distinct.spec.bytes_max,
            StagedStep::Expressions(_) => 0,
        });
        bytes.sum()
    }

    /// From now on, rows get numbers that stand for no member of a reference: they are not loaded.
    pub fn rehearse(&self) {
        for step in &self.steps {
            if let StagedStep::Lookup(lookup) = step
                && let Some(members) = lookup.members()
            {
                members.rehearse();
            }
        }
    }

    /// The steps that keep the first of several rows, each with its index.
    pub fn distinct_steps(&self) -> impl Iterator<Item = (usize, &PlannedDistinct)> {
        let steps = self.steps.iter().enumerate();
        steps.filter_map(|(at, step)| match step {
            StagedStep::Distinct(distinct) => Some((at, distinct)),
            StagedStep::Lookup(_) | StagedStep::Expressions(_) => None,
        })
    }
}

fn planned_lookup(
    spec: &LookupSpec,
    visible: &[InputColumn],
    step: usize,
) -> Result<PlannedLookup, Vec<StepError>> {
    let mut faults = Vec::new();
    let fault = |setting: String, text: &str, kind: StepErrorKind| StepError {
        step,
        setting,
        expression: text.to_owned(),
        range: None,
        kind,
    };
    let mut keys = Vec::new();
    let mut named = Vec::new();
    for (name, own) in &spec.on {
        let setting = format!("on.{name}");
        let found = visible.iter().position(|column| column.name == *name);
        let Some(at) = found else {
            let known = || visible.iter().map(|column| column.name.as_str());
            let kind = StepErrorKind::UnknownColumn {
                name: name.clone(),
                suggestion: suggestion(name, known()),
                known: known().map(str::to_owned).collect(),
            };
            faults.push(fault(setting, name, kind));
            continue;
        };
        match key_class(&visible[at].column_type, &own.column_type) {
            Some(class) => keys.push((at, class.folded(spec.folds))),
            None => {
                let kind = StepErrorKind::KeyTypes {
                    column: name.clone(),
                    column_type: sql_name(&visible[at].column_type),
                    reference: own.name.clone(),
                    reference_type: sql_name(&own.column_type),
                };
                faults.push(fault(setting, name, kind));
            }
        }
        named.push(name.clone());
    }
    for column in &spec.take {
        let name = column.name.clone();
        let is_there = |other: &InputColumn| other.name.eq_ignore_ascii_case(&name);
        let kind = if name.to_ascii_lowercase().starts_with(RESERVED) {
            StepErrorKind::Name { name: name.clone() }
        } else if visible.iter().any(is_there) {
            StepErrorKind::HidesColumn { name: name.clone() }
        } else {
            continue;
        };
        faults.push(fault(format!("take.{name}"), &name, kind));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let lookup = Lookup::new(&spec.reference, keys, &spec.unmatched);
    Ok(PlannedLookup {
        spec: spec.clone(),
        named,
        lookup,
    })
}

/// How values of two types are compared; `None` if they cannot be equal.
fn key_class(column: &ColumnType, reference: &ColumnType) -> Option<KeyClass> {
    let class = KeyClass::of(column)?;
    (KeyClass::of(reference) == Some(class)).then_some(class)
}

/// Runs all steps of a flow for one stream.
pub struct StagedRunner {
    stages: Vec<StageRunner>,
    step_count: usize,
}

enum StageRunner {
    Expressions(StepRunner),
    Lookup {
        lookup: Arc<PlannedLookup>,
        schema: SchemaRef,
    },
    Distinct(DistinctRunner),
}

impl StagedRunner {
    /// Opens connections for the steps.
    pub fn new(evaluator: &Evaluator, staged: &Staged) -> Result<StagedRunner, RunError> {
        let mut stages = Vec::with_capacity(staged.stages.len());
        let mut columns = staged.columns.clone();
        for stage in &staged.stages {
            stages.push(match stage {
                Stage::Expressions(planned) => {
                    columns.extend(planned.derived.iter().cloned());
                    StageRunner::Expressions(StepRunner::new(evaluator, planned)?)
                }
                Stage::Lookup(lookup) => {
                    columns.extend(lookup.spec.take.iter().cloned());
                    StageRunner::Lookup {
                        lookup: Arc::clone(lookup),
                        schema: schema(&columns),
                    }
                }
                Stage::Distinct(distinct) => {
                    StageRunner::Distinct(DistinctRunner::new(distinct.clone()))
                }
            });
        }
        Ok(StagedRunner {
            stages,
            step_count: staged.steps.len(),
        })
    }

    /// Passes a batch through all steps. Its columns are those of the plan, in their order. `place` returns the place of a
    /// row of the batch in its source.
    pub fn run(
        &mut self,
        batch: &RecordBatch,
        place: &dyn Fn(usize) -> RowPlace,
    ) -> Result<Stepped, RunError> {
        let mut whole = Stepped {
            batch: batch.clone(),
            kept: None,
            faults: Vec::new(),
            counts: Vec::with_capacity(self.step_count),
            unmatched_keys: Vec::new(),
            added_bytes: 0,
        };
        // For each row that is left, its number among those that went in; `None` if all are left.
        let mut origins: Option<Vec<usize>> = None;
        for stage in &mut self.stages {
            let first = whole.counts.len();
            let origin = |row: usize| origins.as_ref().map_or(row, |origins| origins[row]);
            let stepped = match stage {
                StageRunner::Expressions(runner) => runner.run(&whole.batch)?,
                StageRunner::Lookup { lookup, schema } => looked_up(lookup, schema, &whole.batch)?,
                StageRunner::Distinct(runner) => {
                    runner.run(&whole.batch, &|row| place(origin(row)))?
                }
            };
            whole
                .faults
                .extend(stepped.faults.into_iter().map(|fault| RowFault {
                    row: origin(fault.row),
                    step: fault.step + first,
                    ..fault
                }));
            if let Some(kept) = &stepped.kept {
                origins = Some(kept.values().set_indices().map(origin).collect());
            }
            whole.counts.extend(stepped.counts);
            whole.added_bytes += stepped.added_bytes;
            let keys = stepped.unmatched_keys.into_iter();
            whole
                .unmatched_keys
                .extend(keys.map(|(step, key)| (step + first, key)));
            whole.batch = stepped.batch;
        }
        whole.faults.sort_by_key(|fault| fault.row);
        whole.kept = origins.map(|origins| {
            let mut kept = vec![false; batch.num_rows()];
            for row in origins {
                kept[row] = true;
            }
            BooleanArray::new(BooleanBuffer::from(kept), None)
        });
        Ok(whole)
    }
}

/// Puts the columns of a reference beside the rows.
fn looked_up(
    planned: &PlannedLookup,
    schema: &SchemaRef,
    batch: &RecordBatch,
) -> Result<Stepped, RunError> {
    let Found {
        columns,
        unmatched,
        rejected,
    } = planned.lookup.find(batch)?;
    let mut count = StepCount {
        rows_in: batch.num_rows() as u64,
        unmatched: unmatched.len() as u64,
        ..StepCount::default()
    };
    let added_bytes = columns.iter().map(|it| it.get_buffer_memory_size()).sum();
    let all = batch.columns().iter().cloned().chain(columns).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let all = RecordBatch::try_new_with_options(Arc::clone(schema), all, &options);
    let all = all.map_err(arrow_error)?;
    let keys = unmatched
        .iter()
        .map(|row| planned.lookup.key_text(batch, *row));
    let keys: Vec<String> = keys.collect();
    let mut faults = Vec::new();
    let mut kept = None;
    if !rejected.is_empty() {
        let mut is_kept = vec![true; batch.num_rows()];
        for (row, reason) in rejected {
            is_kept[row] = false;
            faults.push(unmatched_fault(planned, batch, row, reason));
        }
        kept = Some(BooleanArray::new(BooleanBuffer::from(is_kept), None));
    }
    count.rejected = faults.len() as u64;
    Ok(Stepped {
        batch: match &kept {
            None => all,
            Some(kept) => filter_record_batch(&all, kept).map_err(arrow_error)?,
        },
        kept,
        faults,
        counts: vec![count],
        unmatched_keys: keys.into_iter().map(|key| (0, key)).collect(),
        added_bytes,
    })
}

fn unmatched_fault(
    planned: &PlannedLookup,
    batch: &RecordBatch,
    row: usize,
    reason: Option<String>,
) -> RowFault {
    let key = planned.lookup.key_text(batch, row);
    let name = &planned.spec.name;
    let is_null = planned.lookup.has_null(batch, row);
    RowFault {
        row,
        step: 0,
        column: match planned.named.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        },
        reason: match (is_null, reason) {
            (true, _) => {
                format!("the key of the lookup in {name} is NULL, which is equal to nothing: {key}")
            }
            (false, None) => format!("{name} has no row with the key {key}"),
            (false, Some(reason)) => {
                format!("{name} has no row with the key {key}, and {reason}")
            }
        },
        value: match planned.named.as_slice() {
            [_] => planned.lookup.only_value(batch, row),
            _ => Some(key),
        },
        kind: FaultKind::Unmatched,
    }
}

fn schema(columns: &[InputColumn]) -> SchemaRef {
    let fields = columns
        .iter()
        .map(|column| Field::new(&column.name, column.column_type.arrow(), true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
