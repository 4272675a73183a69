//! The inputs of a flow, and the facts that they give about their format and columns: the part of a flow's plan that
//! does not depend on the destination.
//!
//! The engine names no source. The façade's registry has an [`OpenSources`]; the engine calls it once for each run, and
//! plans with the returned [`Sources`].

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::DataType;
use inrush_convert::Converter;
use inrush_package::{ColumnDetail, Flow, Format, Package, Place};
use inrush_rows::cancel::Stop;
use inrush_rows::column::Column;
use inrush_rows::native_type::NativeType;
use inrush_scan::Dialect;
use inrush_source::{ColumnCollation, RangesMark, Source, TableStructure};
use inrush_transform::evaluator::{Evaluator, EvaluatorError};

use crate::error::PlanError;
use crate::reading::columns::{KnownColumns, TargetColumns};
use crate::reading::fields::FieldOrigin;
use crate::reading::since::{NothingNew, SinceAsked};
use crate::steps::AskedSteps;
use crate::{reading::outputs, reading::typed_rows};

/// Makes the sources of one run. Their reads end when the run is asked to stop.
pub type OpenSources<'a> = &'a (dyn Fn(&Stop) -> Arc<dyn Sources> + Sync);

/// Opens the inputs that flows name. It is shared by all plans of a run, because some inputs can be read only once.
pub trait Sources: fmt::Debug + Send + Sync {
    /// Finds and examines the inputs of a flow. Notes for the user are added to `notes`.
    fn look(&self, asked: &FlowAsked<'_>, notes: &mut Vec<String>)
    -> Result<FlowInputs, PlanError>;

    /// Finds the inputs of a flow, and refuses those that cannot be read.
    fn find(&self, asked: &FlowAsked<'_>) -> Result<(), PlanError>;

    /// The evaluator of the steps of flows, for all plans and streams of a run.
    fn step_evaluator(&self) -> Result<Arc<Evaluator>, EvaluatorError> {
        Err(EvaluatorError {
            what: "nothing evaluates its steps: the sources of the program have no evaluator"
                .to_owned(),
            hint: "set RunOptions::open_sources to inrush::open_sources, for example".to_owned(),
        })
    }
}

/// No sources at all, for a caller that has none.
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

/// A flow whose inputs are to be found.
#[derive(Clone, Copy, Debug)]
pub struct FlowAsked<'a> {
    /// The flow.
    pub flow: &'a Flow,
    /// Its name.
    pub name: &'a str,
    /// Relative paths start here.
    pub folder: &'a Path,
    /// The package. A flow may read one of its connections, and flows that read the same one share what is opened.
    pub package: &'a Package,
    /// The columns of its target that can be filled, if the target exists.
    pub filled: Option<&'a [String]>,
    /// What earlier runs have loaded, for a flow with `since`.
    pub since: Option<&'a SinceAsked>,
    /// The ranges that earlier runs have loaded, for a flow with `unchanged_by`.
    pub ranges: &'a [RangesMark],
    /// It is the reference of a lookup: all of its rows are read while the plan is made. Its `connection` is that of the target.
    pub is_reference: bool,
}

impl FlowAsked<'_> {
    /// The place in the package of the setting that names the flow's columns, or of the inputs that name them. `None` if it is
    /// not in a file; the reference of a lookup is not a flow of the package.
    fn place_of_columns(&self) -> Option<Place> {
        let setting = match (&self.flow.source, self.flow.columns.is_empty()) {
            _ if self.is_reference => return None,
            (_, false) => "columns",
            (Some(_), true) => "source",
            (None, true) => "files",
        };
        let flow = self.package.index_of(self.flow);
        let place = self
            .package
            .origin
            .place(&format!("flow[{flow}].{setting}"));
        place.line.is_some().then_some(place)
    }
}

/// The examined inputs of a flow.
pub struct FlowInputs {
    /// Their format.
    pub dialect: Dialect,
    /// The format in the words of a package.
    pub format: Format,
    /// A hint for a person who meets a reject, if types were guessed.
    pub reject_hint: Option<String>,
    /// The names in the first header.
    pub header: Option<Vec<String>>,
    /// The input that has this header.
    pub header_input: Option<Arc<Path>>,
    /// The columns that package and inputs name.
    pub details: Vec<ColumnDetail>,
    /// The columns of the primary key that the source has and that a new target may get.
    pub primary_key: Vec<String>,
    /// The indexes and partitions of the source that a new target gets.
    pub structure: Option<TableStructure>,
    /// The collations that the columns of a new target may get.
    pub collations: Vec<ColumnCollation>,
    /// The number of fields of the first row, if it is needed.
    pub first_field_count: Option<usize>,
    /// The columns that the inputs declare themselves, with their types. Empty for inputs of text.
    pub own_columns: Vec<ColumnDetail>,
    /// Why there is nothing to load, if the flow has a mark and nothing above it.
    pub nothing_new: Option<NothingNew>,
    /// Makes a source of the inputs.
    pub opener: Box<dyn OpenInputs>,
}

/// Makes a source of examined inputs.
pub trait OpenInputs: Send {
    /// Their columns, if their rows are typed values.
    fn typed(&self) -> Option<TypedInputs>;

    /// Makes the source, once.
    fn open(&mut self, form: InputForm<'_>) -> Arc<dyn Source>;
}

/// Inputs of typed rows.
#[derive(Clone, Debug)]
pub struct TypedInputs {
    /// The kind of the inputs, as messages name it: `Parquet files`.
    pub kind: &'static str,
    /// The origin of their fields, for messages.
    pub origin: FieldOrigin,
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
    /// The values have 16 bytes and are marked as UUIDs.
    pub is_uuid: bool,
    /// The form of the values, if they are in the source's own binary form.
    pub native: Option<NativeType>,
}

/// The format of inputs, known once their columns are known.
#[derive(Clone, Copy, Debug)]
pub struct InputForm<'a> {
    /// How records and fields are written.
    pub dialect: &'a Dialect,
    /// The header that each input must have.
    pub header: Option<&'a [String]>,
    /// The text that begins the last record of each input, if that is a trailer.
    pub trailer_starts_with: Option<&'a str>,
}

impl FlowInputs {
    /// The facts about the flow's columns that are known before the destination resolves their types.
    pub fn known<'a>(
        &'a self,
        asked: &FlowAsked<'a>,
        target: &'a str,
        target_columns: Option<&'a TargetColumns>,
        steps: Option<&'a AskedSteps<'a>>,
    ) -> KnownColumns<'a> {
        KnownColumns {
            flow: asked.name,
            place: asked.place_of_columns(),
            target,
            details: &self.details,
            header: self.header.as_deref(),
            header_file: self.header_input.as_deref(),
            origin: self
                .opener
                .typed()
                .map_or_else(FieldOrigin::default, |typed| typed.origin),
            first_field_count: self.first_field_count,
            format: &asked.flow.format,
            target_columns,
            key: None,
            steps,
            own_columns: &self.own_columns,
        }
    }

    /// The form of each field whose values are in a source's own binary form; an empty list if the fields are text.
    pub fn natives(&self) -> Vec<Option<NativeType>> {
        let typed = self.opener.typed();
        let fields = typed.into_iter().flat_map(|typed| typed.columns);
        fields.map(|field| field.native).collect()
    }

    /// Refuses values in a source's own binary form, for destinations that have no such form.
    pub fn refuse_native(&self, flow: &str) -> Result<(), PlanError> {
        match self.opener.typed() {
            Some(typed) => typed_rows::refuse_native(flow, &typed),
            None => Ok(()),
        }
    }

    /// Called when the columns are resolved. Refuses columns that cannot be converted as declared, and makes the
    /// source.
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
        // In a file with one column, an empty line is an empty field, as in COPY.
        self.dialect.blank_lines_are_records = field_count == 1 && !self.dialect.trailing_delimiter;
        let converter = Converter::new(columns, &self.dialect, field_count);
        converter.map(drop).map_err(|error| PlanError::Mismatch {
            flow: name.to_owned(),
            what: error.to_string(),
            hint: "fix the column in `columns`".to_owned(),
        })?;
        let trailer = flow.trailer.as_ref();
        let source = self.opener.open(InputForm {
            dialect: &self.dialect,
            header: self.header.as_deref(),
            trailer_starts_with: trailer.map(|trailer| trailer.starts_with.as_str()),
        });
        outputs::check_source(flow, name, &*source)?;
        Ok(source)
    }

    /// The delimiter of fields.
    pub fn delimiter(&self) -> String {
        String::from_utf8_lossy(self.dialect.delimiter.as_bytes()).into_owned()
    }
}
