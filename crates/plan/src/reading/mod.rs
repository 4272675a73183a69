//! The reading of a flow's files: the part of a planned flow that does not depend on the destination.

pub mod column_text;
pub mod columns;
pub mod expect;
pub mod fields;
pub mod flow_inputs;
pub mod flow_reading;
mod name_index;
pub mod outputs;
pub mod range_marks;
pub mod resolved_columns;
pub mod since;
pub mod source_paces;
pub mod test_source;
pub mod typed_rows;

use std::sync::Arc;

use inrush_convert::{ConvertError, Converter, RunStamp};
use inrush_package::{Format, RejectLimit};
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use inrush_source::{InputKind, Source};
use inrush_transform::stages::StagedStep;

use crate::reading::expect::ExpectPlan;
use crate::steps::{Given, GivenPlan, StepPlan};
use crate::verify::VerifyPlan;

/// The reading of a flow's files: columns, dialect, limits and sums.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The flow's name.
    pub name: String,
    /// Its target, as messages name it.
    pub target: String,
    /// The source of its rows.
    pub source: Arc<dyn Source>,
    /// The columns that are loaded.
    pub columns: Vec<Column>,
    /// The steps that rows pass before they are loaded, if there are any.
    pub steps: Option<Arc<StepPlan>>,
    /// Fields of a record.
    pub field_count: usize,
    /// The header that each file must have.
    pub header: Option<Vec<String>>,
    /// The dialect of the files.
    pub dialect: Dialect,
    /// The same format in the words of a package.
    pub format: Format,
    /// A hint for the reasons of rejects, if the types were guessed.
    pub reject_hint: Option<String>,
    /// The limit of rejected rows.
    pub reject_limit: RejectLimit,
    /// The sums that are computed over its rows.
    pub verify: VerifyPlan,
    /// The numbers that are promised for its files.
    pub expect: ExpectPlan,
}

impl Reading {
    /// True if `is_it` is true for one of its steps.
    pub fn has_step(&self, is_it: impl Fn(&StagedStep) -> bool) -> bool {
        let steps = self.steps.iter();
        steps.flat_map(|steps| &steps.planned.steps).any(is_it)
    }

    /// The steps that the destination evaluates.
    pub fn given_steps(&self) -> Option<&GivenPlan> {
        match &self.steps.as_ref()?.given {
            Given::ToDestination(given) => Some(given),
            Given::Unasked | Given::Refused(_) => None,
        }
    }

    /// The kind of its inputs.
    pub fn input_kind(&self) -> InputKind {
        match self.source.input_count() {
            0 => InputKind::File,
            _ => self.source.input(0).kind(),
        }
    }

    /// The columns that are read from the source: with steps, those before the first step.
    pub fn read_columns(&self) -> &[Column] {
        match &self.steps {
            Some(steps) => &steps.read,
            None => &self.columns,
        }
    }

    /// The most rows of the target that a record becomes.
    pub fn fan_out(&self) -> u64 {
        let steps = self.steps.as_ref();
        steps.map_or(1, |steps| steps.planned.fan_out())
    }

    /// The converter from the records of the source to the columns that are read. If steps follow, all columns allow
    /// NULL, because a step may filter such rows. Fails if the columns do not fit the fields.
    pub fn converter(&self, stamp: RunStamp) -> Result<Converter, ConvertError> {
        let nulls_pass = |column: &Column| Column {
            nullable: true,
            ..column.clone()
        };
        let nullable: Vec<Column>;
        let columns = match &self.steps {
            None => &self.columns,
            Some(steps) => {
                nullable = steps.read.iter().map(nulls_pass).collect();
                &nullable
            }
        };
        let converter = Converter::new(columns, &self.dialect, self.field_count)?;
        Ok(converter.with_run(stamp))
    }
}
