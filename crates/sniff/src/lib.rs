//! Guesses the format of files and their columns, from samples taken all over them, and names each unsure guess.
//!
//! Each stage has a type for the facts that are known after it. [`sample`] reads pieces of the files. [`known`] has the
//! facts that need no look at the rows, and skips lines. [`choose_form`] finds the form, by a [`contest`] of every
//! delimiter and way of quoting. [`rows`] finds the first row, by a [`look`] at the rows: [`evidence`] collects facts
//! about each column, and tries [`candidates`] with the load's own converters; [`header_detection`] distinguishes names
//! from rows; [`choose_type`] chooses types. [`conclude`] makes the guess, for which [`trial_conversion`] converts all
//! samples once more, exactly as the load would. Nothing here is random: the same files always give the same guess.
//!
//! A guess is never looser than the load: a type is guessed only if the converters accept all sampled values. If two
//! types are possible, the one that changes nothing (text) is chosen, and a note names the other.

mod candidates;
mod choose_form;
mod choose_type;
mod clean;
mod column_guess;
mod conclude;
mod contest;
mod cut_sample;
mod dates;
mod error;
mod evidence;
mod facts;
mod form;
mod guess;
mod header_detection;
mod kinds;
mod known;
mod look;
mod mapping;
mod names;
mod numbers;
mod proposed_checks;
pub mod row_names;
mod rows;
mod sample;
mod sentence_parts;
pub mod tables;
mod tally;
mod text;
mod titles;
mod trial_conversion;
mod unsure;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_package::{Format, POSTGRES_NAME_BYTES_MAX};

pub use column_guess::ColumnGuess;
pub use error::SniffError;
pub use form::{Form, FormEscape};
pub use guess::Guess;
pub use kinds::{BooleanSpelling, TypeGuess};
pub use names::table_name;
pub use proposed_checks::ProposedCheck;
pub use sentence_parts::FilePlace;

use known::{BelowSkipped, Known};
use rows::Rows;
use sample::{Extent, Samples};

/// The options of a guess.
#[derive(Clone, Debug, Default)]
pub struct SniffOptions {
    /// The declared part of the format. If anything but compression, encoding, skip_lines and lossless is declared,
    /// nothing of the form is guessed.
    pub format: Format,
    /// True if all rows of all files are read, not samples.
    pub everything: bool,
    /// The most bytes of the names of columns; `None`: as many as PostgreSQL takes.
    pub name_bytes_max: Option<usize>,
}

impl SniffOptions {
    fn name_bytes_max(&self) -> usize {
        self.name_bytes_max.unwrap_or(POSTGRES_NAME_BYTES_MAX)
    }
}

/// Guesses the format and the columns of the files.
pub fn sniff(files: &[Arc<SourceFile>], options: &SniffOptions) -> Result<Guess, SniffError> {
    sniff_within(files, options, &Extent::default())
}

fn sniff_within(
    files: &[Arc<SourceFile>],
    options: &SniffOptions,
    extent: &Extent,
) -> Result<Guess, SniffError> {
    if let Some(told) = tables::told(files, options)? {
        return Ok(told);
    }
    let samples = text_samples(files, &options.format, extent)?;
    let known = Known::of(files, &options.format)?;
    let below = BelowSkipped::of(samples, &known);
    let choice = known.choice(&below);
    let rows = Rows::find(&known, below, choice)?;
    let rows = match options.everything {
        true => rows.with_everything(files)?,
        false => rows,
    };
    Ok(rows.guess(files, options))
}

/// Reads pieces of the files, and checks that they are text.
fn text_samples(
    files: &[Arc<SourceFile>],
    format: &Format,
    extent: &Extent,
) -> Result<Samples, SniffError> {
    let samples = sample::take(files, extent)?;
    text::check(files, &samples, format.terminator.is_some())?;
    if !is_declared(format) {
        text::check_first_lines(&samples)?;
    }
    Ok(samples)
}

/// True if any setting of the records' form is declared.
pub fn is_declared(format: &Format) -> bool {
    Format {
        compression: None,
        encoding: None,
        skip_lines: None,
        lossless: None,
        ..format.clone()
    } != Format::default()
}
