//! The reading of a flow's files: the part of a planned flow that does not depend on the destination.

use std::sync::Arc;

use inrush_convert::Converter;
use inrush_package::{Format, RejectLimit};
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use inrush_source::Source;

use super::expect::ExpectPlan;
use crate::error::Error;
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
    /// The columns that the files fill.
    pub columns: Vec<Column>,
    /// Fields of a record.
    pub field_count: usize,
    /// The header that each file must have.
    pub header: Option<Vec<String>>,
    /// The dialect of the files.
    pub dialect: Dialect,
    /// The same in the words of a package.
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
    /// A converter of its records. Fails if its columns do not fit its fields.
    pub fn converter(&self) -> Result<Converter, Error> {
        Converter::new(&self.columns, &self.dialect, self.field_count).map_err(|source| {
            Error::Convert {
                flow: self.name.clone(),
                source,
            }
        })
    }
}
