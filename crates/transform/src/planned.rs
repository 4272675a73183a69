//! Steps that can run, with their expressions as parts of statements.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use inrush_rows::column_type::ColumnType;

use crate::spec::{InputColumn, Otherwise, OutputSpec};

/// Steps that can run.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The number of steps of the flow before these.
    pub first: usize,
    /// The columns of the flow before the first step.
    pub columns: Vec<InputColumn>,
    /// The indexes of the columns that are passed to DuckDB, ascending.
    pub travelling: Vec<usize>,
    /// The derived columns, in the order of their steps.
    pub derived: Vec<InputColumn>,
    /// The steps.
    pub steps: Vec<PlannedStep>,
}

/// A step that can run.
#[derive(Clone, Debug)]
pub struct PlannedStep {
    /// What it does.
    pub action: StepAction,
    /// Columns that its expressions name, by their names.
    pub named: Vec<String>,
    /// The columns whose infinite dates its condition cannot handle.
    pub finite: FiniteDates,
}

/// What a step does.
#[derive(Clone, Debug)]
pub enum StepAction {
    /// Adds columns.
    Derive(Vec<DerivedColumn>),
    /// Keeps rows.
    Where {
        /// The condition as the package has it.
        text: String,
        /// The condition as a part of a statement.
        sql: String,
    },
    /// Checks rows.
    Check {
        /// The name for people.
        name: String,
        /// The condition as the package has it.
        text: String,
        /// The condition as a part of a statement.
        sql: String,
        /// The consequence for a row that fails.
        otherwise: Otherwise,
    },
    /// Keeps the rows of an output.
    Output(PlannedOutput),
}

/// The outputs of a flow, and the one whose rows are kept.
#[derive(Clone, Debug)]
pub struct PlannedOutput {
    /// The outputs as the package has them.
    pub spec: OutputSpec,
    /// The part of a statement that returns which outputs take a row: a BIGINT with a bit for each output.
    pub sql: String,
}

impl PlannedOutput {
    /// The condition of the output whose rows are kept, and the conditions before it, which must be false.
    pub fn text(&self) -> String {
        let OutputSpec {
            conditions,
            kept,
            each,
            ..
        } = &self.spec;
        let own = conditions.get(*kept).cloned().flatten();
        let before = conditions.iter().take(*kept).filter(|_| !each);
        let before = before
            .flatten()
            .map(|text| format!("({}) IS NOT TRUE", text.trim()));
        let own = own.map(|text| match *kept == 0 || *each {
            true => text.trim().to_owned(),
            false => format!("({})", text.trim()),
        });
        let all: Vec<String> = before.chain(own).collect();
        match all.is_empty() {
            true => "true".to_owned(),
            false => all.join(" AND "),
        }
    }
}

/// A derived column.
#[derive(Clone, Debug)]
pub struct DerivedColumn {
    /// Its name.
    pub name: String,
    /// Its type in batches.
    pub column_type: ColumnType,
    /// Its type as DuckDB writes it, before a cast to a type that batches carry.
    pub found: String,
    /// Its expression as the package has it.
    pub text: String,
    /// Its expression as a part of a statement.
    pub sql: String,
    /// Columns that the expression names, by their names.
    pub named: Vec<String>,
    /// True if the expression may intend a result that is infinite or NaN, so that such a result is not a failure.
    pub may_be_special: bool,
    /// The columns whose infinite dates the expression cannot handle.
    pub finite: FiniteDates,
}

/// The columns of dates whose infinite values an expression cannot handle; none if the expression itself tests for
/// infinity.
#[derive(Clone, Debug, Default)]
pub struct FiniteDates {
    /// Columns in functions that are NULL for such a date.
    pub in_functions: Vec<String>,
    /// Columns in differences of dates. Such a difference is a number even if a date is infinite.
    pub in_differences: Vec<String>,
}

impl Planned {
    /// The first steps, with the columns that they derive.
    pub fn prefix(&self, step_count: usize) -> Planned {
        let steps: Vec<PlannedStep> = self.steps.iter().take(step_count).cloned().collect();
        let derived = steps.iter().map(|step| match &step.action {
            StepAction::Derive(columns) => columns.len(),
            StepAction::Where { .. } | StepAction::Check { .. } | StepAction::Output(_) => 0,
        });
        let derived = derived.sum();
        Planned {
            first: self.first,
            derived: self.derived[..derived].to_vec(),
            steps,
            ..self.clone()
        }
    }

    /// The schema of the batches after the steps.
    pub fn schema(&self) -> SchemaRef {
        let columns = self.columns.iter().chain(&self.derived);
        let fields =
            columns.map(|column| Field::new(&column.name, column.column_type.arrow(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

impl StepAction {
    /// Its keyword in a package.
    pub fn word(&self) -> &'static str {
        match self {
            StepAction::Derive(_) => "derive",
            StepAction::Where { .. } => "where",
            StepAction::Check { .. } => "check",
            StepAction::Output(_) => "output",
        }
    }
}
