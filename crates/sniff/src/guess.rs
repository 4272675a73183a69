//! The sniffer's result: the form of the files, their columns, and unsure guesses.

use std::path::PathBuf;

use inrush_package::{ColumnSpec, Comments, Format, Step, escape_braces};
use inrush_rows::column::Column;
use inrush_rows::plural::counted;

use super::column_guess::ColumnGuess;
use super::form::Form;
use super::mapping;
use super::proposed_checks::ProposedCheck;

/// The guess for the files.
#[derive(Clone, Debug)]
pub struct Guess {
    /// Their form.
    pub form: Form,
    /// The declared part of the format.
    pub(super) declared: Format,
    /// Their columns.
    pub columns: Vec<ColumnGuess>,
    /// The number of rows that were read.
    pub rows: u64,
    /// The number of bytes that were read.
    pub bytes_read: u64,
    /// The number of stored bytes of all files.
    pub bytes_stored: u64,
    /// The number of places that were read.
    pub places: u64,
    /// The files.
    pub files: Vec<PathBuf>,
    /// True if all rows of all files were read, so that the guess is certain.
    pub is_everything: bool,
    /// The names of fields that no column can hold.
    pub left_out: Vec<String>,
    /// True if the files declare their columns themselves.
    pub is_told: bool,
    /// True if the header has no name for the first field. Then the header's line is skipped, and the columns get their
    /// names here.
    pub has_row_names: bool,
    /// Set if the header has one name fewer than the rows have fields, and can be read in several ways. Then a load
    /// refuses the files.
    pub unnamed: Option<super::row_names::Unnamed>,
    /// Observations about the form.
    pub seen: Vec<String>,
    /// Unsure guesses that are not about one column, the most important first.
    pub unsure: Vec<String>,
    /// Proposed checks. All rows that were read pass them.
    pub checks: Vec<ProposedCheck>,
}

impl Guess {
    /// The dialect with which the files are read.
    pub fn dialect(&self) -> inrush_scan::Dialect {
        mapping::dialect(&self.form)
    }

    /// The format of a package.
    pub fn format(&self) -> Format {
        if self.is_told {
            return Format {
                record_bytes_max: self.declared.record_bytes_max,
                ..Format::default()
            };
        }
        let has_numbers = self
            .columns
            .iter()
            .any(|column| column.column_type.is_number());
        Format {
            lossless: self.declared.lossless.or(has_numbers.then_some(true)),
            ..mapping::format(&self.form, &self.declared)
        }
    }

    /// True if numbers that would lose digits, and booleans in unseen spellings, are rejects. This is the default,
    /// because the types are only guessed; a declaration overrides it.
    pub fn is_lossless(&self) -> bool {
        !self.is_told && self.declared.lossless != Some(false)
    }

    /// The columns of a package.
    pub fn columns(&self) -> Vec<ColumnSpec> {
        let mut specs = mapping::column_specs(&self.columns, self.is_lossless());
        specs.extend(self.left_out.iter().map(|field| mapping::skipped(field)));
        specs
    }

    /// The columns for the converters.
    pub fn converter_columns(&self) -> Vec<Column> {
        self.columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                mapping::lossless_column(&column.name, &column.column_type, index)
            })
            .collect()
    }

    /// All unsure guesses, the most important first.
    pub fn all_unsure(&self) -> Vec<String> {
        let of_columns = self.columns.iter().flat_map(|column| {
            column
                .unsure
                .iter()
                .map(|unsure| format!("column {}: {unsure}", column.name))
        });
        self.unsure.iter().cloned().chain(of_columns).collect()
    }

    /// The size of the sample, in one sentence.
    pub fn extent(&self) -> String {
        let files = match self.files.len() {
            1 => "the file".to_owned(),
            count => format!("{count} files"),
        };
        match self.is_everything {
            _ if self.is_told => format!(
                "{files} {} what the columns are, {}",
                if self.files.len() == 1 { "says" } else { "say" },
                counted(self.rows, "row")
            ),
            true => format!("all of {files} was read, {}", counted(self.rows, "row")),
            false => format!(
                "{} at {} of {files} were read, {} of {} bytes",
                counted(self.rows, "row"),
                counted(self.places, "place"),
                self.bytes_read,
                self.bytes_stored
            ),
        }
    }

    /// A hint about guessed types, for the reasons of rejects.
    pub fn reject_hint(&self) -> String {
        format!(
            "the types were guessed from {}: declare them with --columns; or `inrush init --all \
             FILES...` looks at all rows and writes a package in which you can change the types",
            counted(self.rows, "row")
        )
    }

    /// The comments for a package with this guess.
    pub fn comments(&self) -> Comments {
        comments_of(self)
    }
}

/// The comments with the observations and the unsure guesses.
fn comments_of(guess: &Guess) -> Comments {
    let mut beginning = vec![format!(
        "Guessed from {}: {}.",
        named(guess),
        guess.extent()
    )];
    if !guess.is_everything {
        beginning.push("`inrush init --all` looks at every row.".to_owned());
    }
    let unsure = guess.all_unsure();
    if !unsure.is_empty() {
        beginning.push(String::new());
        beginning.push("Unsure:".to_owned());
        beginning.extend(unsure.iter().map(|unsure| format!("- {unsure}")));
    }
    Comments {
        beginning,
        format: guess.seen.clone(),
        columns: guess
            .columns
            .iter()
            .map(|column| {
                let mut lines = vec![column.seen.clone()];
                if !column.why.is_empty() {
                    lines.push(column.why.clone());
                }
                lines
            })
            .collect(),
        checks: guess.checks.iter().map(step).collect(),
    }
}

/// A check as a step of a package. Braces in a word do not mark parameters.
fn step(check: &ProposedCheck) -> Step {
    Step {
        check: Some(escape_braces(&check.condition)),
        name: Some(escape_braces(&check.name)),
        ..Step::default()
    }
}

fn named(guess: &Guess) -> String {
    let first = guess
        .files
        .first()
        .map(|file| file.display().to_string())
        .unwrap_or_default();
    match guess.files.len() {
        0 | 1 => first,
        count => format!("{first} and {} more", count - 1),
    }
}
