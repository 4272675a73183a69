//! The last stage: makes the guess from the rows that were found.

use std::sync::Arc;

use inrush_files::SourceFile;

use super::choose_form::FormChoice;
use super::choose_type::Decision;
use super::column_guess::ColumnGuess;
use super::evidence::Evidence;
use super::guess::Guess;
use super::rows::Rows;
use super::{SniffOptions, form, names, trial_conversion, unsure};

impl Rows {
    /// The guess, with all that is unsure.
    pub(super) fn guess(self, files: &[Arc<SourceFile>], options: &SniffOptions) -> Guess {
        let choice = self.look.choice;
        let evidence = self.look.evidence;
        let (mut columns, name_changes) = columns(
            &choice,
            &evidence,
            self.look.decisions,
            self.names.as_deref(),
            options.name_bytes_max(),
        );
        let checks = trial_conversion::verify(&self.samples, &choice, &mut columns);
        let mut unsure = choice.unsure;
        if let Some(delimiter) = self.declared_separator {
            unsure.push(format!(
                "the first line declares the delimiter, {}: it is read as a row or the header, \
                 unless the declared format has skip_lines = 1",
                form::shown(&[delimiter])
            ));
        }
        unsure.extend(unsure::of_rows(&choice.form, &evidence, &self.samples));
        unsure.extend(name_changes);
        unsure.extend(unsure::of_extent(
            files.len(),
            &self.samples,
            options.everything,
        ));
        Guess {
            form: choice.form,
            declared: options.format.clone(),
            columns,
            checks,
            rows: evidence.rows,
            bytes_read: self.samples.bytes_count(),
            bytes_stored: files.iter().map(|file| file.size_bytes).sum(),
            places: evidence.places - evidence.places_unused,
            files: files.iter().map(|file| file.path.to_path_buf()).collect(),
            is_everything: self.is_everything,
            left_out: Vec::new(),
            is_told: false,
            has_row_names: self.names.is_some(),
            unnamed: self.unnamed,
            seen: choice.seen,
            unsure,
        }
    }
}

/// The columns with their names, and the notes about changed names. `named` are names for files that the load reads
/// without a header.
fn columns(
    choice: &FormChoice,
    evidence: &Evidence,
    decisions: Vec<Decision>,
    named: Option<&[String]>,
    name_bytes_max: usize,
) -> (Vec<ColumnGuess>, Vec<String>) {
    let header = evidence
        .first_records
        .first()
        .filter(|_| choice.form.header)
        .map(|first| first.fields.clone());
    let (names, changes) = match header.as_deref().or(named) {
        Some(names) => names::of_header(names, name_bytes_max),
        None => (names::of_numbers(decisions.len()), Vec::new()),
    };
    let columns = names
        .into_iter()
        .zip(decisions)
        .enumerate()
        .map(|(index, (name, decision))| ColumnGuess {
            name,
            field: header.as_ref().map(|header| header[index].clone()),
            column_type: decision.column_type,
            seen: decision.seen,
            why: decision.why,
            unsure: decision.unsure,
        })
        .collect();
    (columns, changes)
}
