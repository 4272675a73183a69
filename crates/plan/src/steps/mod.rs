//! The steps of a flow in its plan: their expressions are read before the columns have types ([`AskedSteps`]), and bound to
//! the columns afterwards ([`StepPlan`]).
//!
//! A flow with steps has two lists of columns. Columns that are read come from the source; each has the type of the target's
//! column of the same name, or else the one that the package or the source declares. Columns that are loaded come out of the last
//! step: columns that pass the steps unchanged, and derived ones.

mod asked;
mod bound;
mod distinct;
pub mod faults;
mod fit;
mod given;
mod members;
mod print;
mod reference;
mod reference_rows;

use std::sync::Arc;

use inrush_convert::AfterSteps;
use inrush_rows::column::Column;
use inrush_transform::evaluator::Evaluator;
use inrush_transform::lookup_step::PlannedLookup;
use inrush_transform::stages::{Staged, StagedStep};

pub use asked::{AskedSteps, DerivedTarget};
pub use bound::BoundSteps;
pub use given::{Given, GivenPlan};
pub use inrush_transform::lookup::{MemberKey, MemberNumbers, Members};
pub use members::AskedMembers;
pub use print::lines;

use super::identity::description::Description;

/// The most rows that pass the steps together.
pub const ROWS_MAX: usize = 8_192;

/// The steps of a flow, ready to run.
#[derive(Clone, Debug)]
pub struct StepPlan {
    /// DuckDB, which evaluates their expressions, for all streams.
    pub evaluator: Arc<Evaluator>,
    /// The steps, bound to the columns that are read.
    pub planned: Arc<Staged>,
    /// The columns that are read.
    pub read: Vec<Column>,
    /// The origin of each column that is loaded.
    pub after: Vec<AfterSteps>,
    /// The description of the steps, for the identity of units.
    pub description: Description,
    /// The output that the flow loads, if rows go to several.
    pub output: Option<OutputPart>,
    /// Whether the destination evaluates the steps.
    pub given: Given,
}

/// The part of a flow that loads one of several outputs.
#[derive(Clone, Copy, Debug)]
pub struct OutputPart {
    /// The index of the flow in its package.
    pub flow: usize,
    /// The flow reports rows that cannot be read or that a step rejects. Of the flows that load the outputs of one source, only the
    /// first one does; for the others such rows are filtered.
    pub reports: bool,
    /// A row goes to each output that takes it.
    pub each: bool,
    /// No other flow reads these rows: a replay loads rows that only the target of this output has refused.
    pub is_alone: bool,
}

impl StepPlan {
    /// True if the flow reports rows that cannot be read or that a step rejects.
    pub fn reports(&self) -> bool {
        self.output.is_none_or(|output| output.reports)
    }
}

impl StepPlan {
    /// The lookup of a step, by its index; `None` if the step is not a lookup.
    pub fn lookup(&self, step: usize) -> Option<&PlannedLookup> {
        match self.planned.steps.get(step)? {
            StagedStep::Lookup(lookup) => Some(lookup),
            StagedStep::Expressions(_) | StagedStep::Distinct(_) | StagedStep::Unpivot(_) => None,
        }
    }

    /// The first step from `first` on that uses a column.
    pub fn step_that_names(&self, column: &str, first: usize) -> Option<usize> {
        let mut later = self.planned.steps.iter().enumerate().skip(first);
        let found = later.find(|(_, step)| step.named().iter().any(|name| name == column));
        found.map(|(at, _)| at)
    }
}
