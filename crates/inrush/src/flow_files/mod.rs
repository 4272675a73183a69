//! Files as the inputs of flows (`files = ...` in a package): finds them, and determines their format.

mod declared_encoding;
mod same_headers;
mod sniffed;
mod undeclared_header;

use std::sync::Arc;

use inrush_files::{
    FileForm, FileSource, Pipes, Preview, ResolveOptions, SourceFile, TableField, TableKind,
    resolve_as,
};
use inrush_package::{ALL_OTHERS, ColumnDetail, Format};
use inrush_plan::reading::flow_inputs::{
    FlowAsked, FlowInputs, InputForm, OpenInputs, Sources, TypedField, TypedInputs,
};
use inrush_plan::{FieldOrigin, PlanError};
use inrush_rows::cancel::Stop;
use inrush_rows::plural::counted;
use inrush_scan::Dialect;
use inrush_sniff::SniffError;
use inrush_source::Source;
use inrush_transform::evaluator::{Evaluator, EvaluatorError};

use self::sniffed::LastGuess;
use crate::flow_steps::FlowSteps;

/// Empty files that notes name one by one.
const EMPTY_FILES_NAMED: usize = 20;

/// The files of all flows of a run.
#[derive(Debug)]
pub struct FlowFiles {
    /// Standard input and named pipes: the same ones for each plan of the run.
    pipes: Pipes,
    last_guess: LastGuess,
    /// The evaluator of steps, for a caller that has only files.
    steps: FlowSteps,
}

impl FlowFiles {
    /// Files whose reads end when the run is asked to stop.
    pub fn new(stop: &Stop) -> FlowFiles {
        FlowFiles {
            pipes: Pipes::new(stop.clone()),
            last_guess: LastGuess::default(),
            steps: FlowSteps::default(),
        }
    }

    fn resolve(&self, asked: &FlowAsked<'_>) -> Result<Vec<Arc<SourceFile>>, PlanError> {
        let FlowAsked {
            flow, name, folder, ..
        } = *asked;
        // Paths are shown as they were written, without a `.` for the folder of a bare file name.
        let folder = folder.strip_prefix(".").unwrap_or(folder);
        let options = ResolveOptions {
            compression: flow.format.compression,
            encoding: flow.format.text_encoding()?,
            pipes: self.pipes.clone(),
            reader: name,
        };
        let files = resolve_as(flow.files.patterns(), folder, &options)?;
        Ok(files.into_iter().map(Arc::new).collect())
    }
}

impl Sources for FlowFiles {
    fn look(
        &self,
        asked: &FlowAsked<'_>,
        notes: &mut Vec<String>,
    ) -> Result<FlowInputs, PlanError> {
        let FlowAsked {
            flow,
            name,
            filled,
            package,
            ..
        } = *asked;
        let files = self.resolve(asked)?;
        note_empty_files(&files, name, notes);
        notes.extend(declared_encoding::note(
            &files,
            flow.format.text_encoding()?,
        ));
        let sniffed = sniffed::of(
            flow,
            &files,
            &self.last_guess,
            filled,
            package.name_bytes_max(),
        )?;
        notes.extend(sniffed.notes);
        let mut dialect = sniffed.dialect;
        let mut details: Vec<ColumnDetail> = flow.column_details()?;
        if sniffed.columns.is_empty() {
            let question = undeclared_header::Question {
                flow: name,
                declared: flow.format.header,
                files: &files,
                details: &details,
                target_columns: filled,
            };
            dialect.header = undeclared_header::has_header(&question, &dialect, notes)?;
        }
        let (header, header_input) = match same_headers::first(name, &files, &dialect, notes)? {
            Some((header, file)) => (Some(header), Some(file)),
            None => (None, None),
        };
        details.extend(sniffed.columns);
        Ok(FlowInputs {
            first_field_count: first_field_count(&files, &dialect, &details)?,
            dialect,
            format: sniffed.format,
            reject_hint: sniffed.reject_hint,
            header,
            header_input,
            details,
            primary_key: Vec::new(),
            structure: None,
            collations: Vec::new(),
            own_columns: sniffed.own_columns,
            nothing_new: None,
            opener: Box::new(LookedAt(files)),
        })
    }

    fn find(&self, asked: &FlowAsked<'_>) -> Result<(), PlanError> {
        self.resolve(asked).map(drop)
    }

    fn step_evaluator(&self) -> Result<Arc<Evaluator>, EvaluatorError> {
        self.steps.evaluator()
    }
}

/// Examined files, until they are opened.
struct LookedAt(Vec<Arc<SourceFile>>);

impl OpenInputs for LookedAt {
    fn typed(&self) -> Option<TypedInputs> {
        let table = self.0.first()?.table()?;
        let column = |field: &TableField| TypedField {
            name: field.name.clone(),
            data_type: field.data_type.clone(),
            is_uuid: field.is_uuid,
            native: None,
        };
        Some(TypedInputs {
            kind: match table.kind {
                TableKind::Parquet => "Parquet files",
                TableKind::Arrow => "Arrow files",
            },
            origin: FieldOrigin::Files,
            columns: table.fields.iter().map(column).collect(),
        })
    }

    fn open(&mut self, form: InputForm<'_>) -> Arc<dyn Source> {
        let form = FileForm {
            header: form.header.map(<[String]>::to_vec),
            trailer_starts_with: form.trailer_starts_with.map(str::to_owned),
            ..FileForm::new(form.dialect.clone())
        };
        let files = std::mem::take(&mut self.0);
        Arc::new(FileSource::new(files, form))
    }
}

/// The dialect and format of rejects of typed rows.
pub fn form_of_typed_rows(declared: &Format) -> Result<(Dialect, Format), PlanError> {
    let sniffed = sniffed::of_table(declared)?;
    Ok((sniffed.dialect, sniffed.format))
}

/// An error of guessing: a failed guess is an error of the plan, a failed read one of the source.
pub fn of_sniff(error: SniffError) -> PlanError {
    match error {
        SniffError::Source(error) => PlanError::Source(error),
        other => PlanError::Guess(Box::new(other)),
    }
}

fn note_empty_files(files: &[Arc<SourceFile>], flow: &str, notes: &mut Vec<String>) {
    let is_empty = |file: &&Arc<SourceFile>| file.size_bytes == 0 && !file.is_pipe();
    for file in files.iter().filter(is_empty).take(EMPTY_FILES_NAMED) {
        notes.push(format!("{} is empty: it has no rows", file.path.display()));
    }
    let empty_count = files.iter().filter(is_empty).count();
    if empty_count > EMPTY_FILES_NAMED {
        let others = (empty_count - EMPTY_FILES_NAMED) as u64;
        notes.push(format!(
            "{} more of flow {flow} {} empty",
            counted(others, "file"),
            if others == 1 { "is" } else { "are" }
        ));
    }
}

/// The number of fields in the first row of all files, if the package needs it: it skips all fields that it does not
/// list, and there is no header.
fn first_field_count(
    files: &[Arc<SourceFile>],
    dialect: &Dialect,
    details: &[ColumnDetail],
) -> Result<Option<usize>, PlanError> {
    if dialect.header || !details.iter().any(|detail| detail.name == ALL_OTHERS) {
        return Ok(None);
    }
    for file in files {
        if let Some(record) = Preview::read(file, dialect, 1)?.records.first() {
            return Ok(Some(record.fields.len()));
        }
    }
    Ok(None)
}
