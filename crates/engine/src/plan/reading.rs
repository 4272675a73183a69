//! The reading of a flow's files: all of a planned flow that does not depend on where its rows go.

use std::sync::Arc;

use inrush_package::{Format, RejectLimit};
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use inrush_source::Source;

use super::expect::ExpectPlan;
use crate::verify::VerifyPlan;

/// What is read of a flow's files, and how.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The flow's name.
    pub name: String,
    /// Its target, as messages name it.
    pub target: String,
    /// Where its rows come from.
    pub source: Arc<dyn Source>,
    /// The columns that the files fill.
    pub columns: Vec<Column>,
    /// Fields of a record.
    pub field_count: usize,
    /// The header that each file must have.
    pub header: Option<Vec<String>>,
    /// How the files are written.
    pub dialect: Dialect,
    /// The same in the words of a package.
    pub format: Format,
    /// What a person who meets a reject should know, where the types were guessed.
    pub reject_hint: Option<String>,
    /// How many rows may be rejected.
    pub reject_limit: RejectLimit,
    /// What is summed up of its rows while they pass.
    pub verify: VerifyPlan,
    /// What is promised of its files.
    pub expect: ExpectPlan,
}
