//! The inputs of a flow, and what they say of how they are written and of their columns: the half of a flow's plan that
//! does not depend on where its rows go.
//!
//! The engine names no source. The façade's registry has an [`OpenSources`]; a driver calls it once for each run, and plans
//! with the [`Sources`] that come back.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;
use inrush_convert::Converter;
use inrush_package::{ColumnDetail, Flow, Format};
use inrush_rows::cancel::Stop;
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use inrush_source::Source;

use super::columns::{KnownColumns, TargetColumns};
use super::error::PlanError;
use super::typed_rows;

/// Makes the sources of one run, whose reads end when the stop is asked.
pub type OpenSources = fn(&Stop) -> Arc<dyn Sources>;

/// Opens what the flows of a package name: the same for each plan of a run, so that what can be read only once is read once.
pub trait Sources: fmt::Debug + Send + Sync {
    /// Finds the inputs of a flow and looks at them. What a user should know is added to `notes`.
    fn look(&self, asked: &FlowAsked<'_>, notes: &mut Vec<String>)
    -> Result<FlowInputs, PlanError>;

    /// Finds the inputs of a flow, and refuses those that cannot be read.
    fn find(&self, asked: &FlowAsked<'_>) -> Result<(), PlanError>;
}

/// No sources at all: what a caller has that names none.
pub fn no_sources(_stop: &Stop) -> Arc<dyn Sources> {
    Arc::new(NoSources)
}

#[derive(Debug)]
struct NoSources;

impl NoSources {
    fn refusal(asked: &FlowAsked<'_>) -> PlanError {
        PlanError::Mismatch {
            flow: asked.name.to_owned(),
            what: "nothing opens its files: the program names no sources".to_owned(),
            hint: "set RunOptions::open_sources, for example to inrush::open_sources".to_owned(),
        }
    }
}

impl Sources for NoSources {
    fn look(&self, asked: &FlowAsked<'_>, _: &mut Vec<String>) -> Result<FlowInputs, PlanError> {
        Err(NoSources::refusal(asked))
    }

    fn find(&self, asked: &FlowAsked<'_>) -> Result<(), PlanError> {
        Err(NoSources::refusal(asked))
    }
}

/// A flow whose inputs are wanted.
#[derive(Clone, Copy, Debug)]
pub struct FlowAsked<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its name.
    pub name: &'a str,
    /// Relative paths start here.
    pub folder: &'a Path,
    /// The columns of its target that can be filled, where it exists.
    pub filled: Option<&'a [String]>,
}

/// The inputs of a flow, looked at.
pub struct FlowInputs {
    /// How they are written.
    pub dialect: Dialect,
    /// The same in the words of a package.
    pub format: Format,
    /// What a person who meets a reject should know, where types were guessed.
    pub reject_hint: Option<String>,
    /// The names in the first header.
    pub header: Option<Vec<String>>,
    /// The input that it stands in.
    pub header_input: Option<Arc<Path>>,
    /// What package and inputs say of the columns.
    pub details: Vec<ColumnDetail>,
    /// The fields of the first row, where their number is needed.
    pub first_field_count: Option<usize>,
    /// Makes a source of them.
    pub opener: Box<dyn OpenInputs>,
}

/// Makes a source of inputs that were looked at.
pub trait OpenInputs: Send {
    /// Their columns, if their rows are typed values.
    fn typed(&self) -> Option<TypedInputs>;

    /// Makes the source, once.
    fn open(&mut self, form: InputForm<'_>) -> Arc<dyn Source>;
}

/// Inputs of typed rows.
#[derive(Clone, Debug)]
pub struct TypedInputs {
    /// What they are, in a word: `Parquet`.
    pub kind: &'static str,
    /// Their columns.
    pub columns: Vec<TypedField>,
}

/// A column of inputs of typed rows.
#[derive(Clone, Debug)]
pub struct TypedField {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
}

/// What is known of the form of inputs once their columns are.
#[derive(Clone, Copy, Debug)]
pub struct InputForm<'a> {
    /// How records and fields are written.
    pub dialect: &'a Dialect,
    /// The header that each must have.
    pub header: Option<&'a [String]>,
    /// How the last record of each begins, where that is a trailer and no row.
    pub trailer_starts_with: Option<&'a str>,
}

impl FlowInputs {
    /// What is known of the flow's columns before anybody is asked for types.
    pub fn known<'a>(
        &'a self,
        flow: &'a Flow,
        name: &'a str,
        target: &'a str,
        target_columns: Option<&'a TargetColumns>,
    ) -> KnownColumns<'a> {
        KnownColumns {
            flow: name,
            target,
            details: &self.details,
            header: self.header.as_deref(),
            header_file: self.header_input.as_deref(),
            first_field_count: self.first_field_count,
            format: &flow.format,
            target_columns,
            key: None,
        }
    }

    /// The columns are resolved: what cannot be converted as declared is told before anything runs. Makes the inputs a source.
    pub fn settle(
        &mut self,
        flow: &Flow,
        name: &str,
        columns: &mut [Column],
        field_count: usize,
    ) -> Result<Arc<dyn Source>, PlanError> {
        if let Some(typed) = self.opener.typed() {
            typed_rows::check(name, &typed, columns)?;
        }
        // In a file of one column an empty line is an empty field, as COPY reads it.
        self.dialect.blank_lines_are_records = field_count == 1 && !self.dialect.trailing_delimiter;
        let converter = Converter::new(columns, &self.dialect, field_count);
        converter.map(drop).map_err(|error| PlanError::Mismatch {
            flow: name.to_owned(),
            what: error.to_string(),
            hint: "fix the column in `columns`".to_owned(),
        })?;
        let trailer = flow.trailer.as_ref();
        Ok(self.opener.open(InputForm {
            dialect: &self.dialect,
            header: self.header.as_deref(),
            trailer_starts_with: trailer.map(|trailer| trailer.starts_with.as_str()),
        }))
    }

    /// What separates fields.
    pub fn delimiter(&self) -> String {
        String::from_utf8_lossy(self.dialect.delimiter.as_bytes()).into_owned()
    }
}
