//! The files of a flow, and what they say of how they are written and of their columns: the half of a flow's plan that
//! does not depend on where its rows go.

use std::path::Path;
use std::sync::Arc;

use inrush_convert::Converter;
use inrush_files::{Preview, ResolveOptions, SourceFile};
use inrush_package::{ALL_OTHERS, ColumnDetail, Flow, Format};
use inrush_rows::column::Column;
use inrush_rows::plural::counted;
use inrush_scan::Dialect;

use super::columns::{KnownColumns, TargetColumns};
use super::error::PlanError;
use super::options::PlanOptions;
use super::{declared_encoding, same_headers, sniffed, typed_rows, undeclared_header};

/// Empty files that notes name one by one.
const EMPTY_FILES_NAMED: usize = 20;

/// The files of a flow, looked at.
pub struct FlowFiles {
    /// The files, in their order.
    pub files: Vec<Arc<SourceFile>>,
    /// How they are written.
    pub dialect: Dialect,
    /// The same in the words of a package.
    pub format: Format,
    /// What a person who meets a reject should know, where types were guessed.
    pub reject_hint: Option<String>,
    /// The names in the first header.
    pub header: Option<Vec<String>>,
    details: Vec<ColumnDetail>,
    header_file: Option<Arc<Path>>,
    first_field_count: Option<usize>,
}

impl FlowFiles {
    /// Finds the files of a flow and looks at them; `filled` are the columns of its target that can be filled, where it
    /// exists. What a user should know is added to `notes`.
    pub fn find(
        flow: &Flow,
        name: &str,
        options: &PlanOptions<'_>,
        filled: Option<&[String]>,
        notes: &mut Vec<String>,
    ) -> Result<FlowFiles, PlanError> {
        let files = files(flow, name, options, notes)?;
        notes.extend(declared_encoding::note(
            &files,
            flow.format.text_encoding()?,
        ));
        let sniffed = sniffed::of(flow, &files, filled)?;
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
        let (header, header_file) = match same_headers::first(name, &files, &dialect, notes)? {
            Some((header, file)) => (Some(header), Some(file)),
            None => (None, None),
        };
        details.extend(sniffed.columns);
        Ok(FlowFiles {
            first_field_count: first_field_count(&files, &dialect, &details)?,
            files,
            dialect,
            format: sniffed.format,
            reject_hint: sniffed.reject_hint,
            header,
            details,
            header_file,
        })
    }

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
            header_file: self.header_file.as_deref(),
            first_field_count: self.first_field_count,
            format: &flow.format,
            target_columns,
            key: None,
        }
    }

    /// The columns are resolved: what cannot be converted as declared is told before anything runs.
    pub fn settle(
        &mut self,
        name: &str,
        columns: &mut [Column],
        field_count: usize,
    ) -> Result<(), PlanError> {
        if let Some(table) = self.files[0].table() {
            typed_rows::check(name, table, columns)?;
        }
        // In a file of one column an empty line is an empty field, as COPY reads it.
        self.dialect.blank_lines_are_records = field_count == 1 && !self.dialect.trailing_delimiter;
        let converter = Converter::new(columns, &self.dialect, field_count);
        converter.map(drop).map_err(|error| PlanError::Mismatch {
            flow: name.to_owned(),
            what: error.to_string(),
            hint: "fix the column in `columns`".to_owned(),
        })
    }

    /// What separates fields.
    pub fn delimiter(&self) -> String {
        String::from_utf8_lossy(self.dialect.delimiter.as_bytes()).into_owned()
    }
}

fn files(
    flow: &Flow,
    name: &str,
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<Vec<Arc<SourceFile>>, PlanError> {
    // Paths are shown as they were written: without a dot for the folder that one stands in.
    let folder = options.folder;
    let folder = folder.strip_prefix(".").unwrap_or(folder);
    let resolve = ResolveOptions {
        compression: flow.format.compression,
        encoding: flow.format.text_encoding()?,
        pipes: options.pipes.clone(),
        reader: name,
    };
    let files = inrush_files::resolve_as(flow.files.patterns(), folder, &resolve)?;
    let files: Vec<Arc<SourceFile>> = files.into_iter().map(Arc::new).collect();
    let is_empty = |file: &&Arc<SourceFile>| file.size_bytes == 0 && !file.is_pipe();
    for file in files.iter().filter(is_empty).take(EMPTY_FILES_NAMED) {
        notes.push(format!("{} is empty: it has no rows", file.path.display()));
    }
    let empty_count = files.iter().filter(is_empty).count();
    if empty_count > EMPTY_FILES_NAMED {
        let others = (empty_count - EMPTY_FILES_NAMED) as u64;
        notes.push(format!(
            "{} more of flow {name} {} empty",
            counted(others, "file"),
            if others == 1 { "is" } else { "are" }
        ));
    }
    Ok(files)
}

/// The fields of the first row of all, where the package needs their number: it says to skip all
/// that it does not list, and no header tells how many there are.
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
