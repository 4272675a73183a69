//! Guesses how files are written and what their columns are, from samples taken all over them,
//! and says what is unsure.
//!
//! The way: [`sample`] takes pieces of the files; [`contest`] finds the form, by trying every
//! delimiter and way of quoting; [`evidence`] collects what the rows show, column by column, with
//! [`candidates`] run through the load's own converters; [`header`] tells names from rows;
//! [`decide`] makes types of it; [`verify`] converts all samples once more, exactly as the load
//! would. Nothing here is chance: two looks at the same files give the same guess.
//!
//! A guess is never looser than the load: what the converters refuse is not guessed, and where
//! two types fit, the one that changes nothing is taken (text), and the other is told.

mod candidates;
mod clean;
mod comments;
mod contest;
mod cut;
mod dates;
mod decide;
mod error;
mod evidence;
mod facts;
mod form;
mod guess;
mod header;
mod kinds;
mod mapping;
mod names;
mod numbers;
mod place;
mod sample;
mod tally;
mod text;
mod unsure;
mod verify;
mod words;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use crate::package::{Format, Preset};
use crate::source::SourceFile;

pub use error::SniffError;
pub use form::{Form, FormEscape};
pub use guess::{ColumnGuess, Guess};
pub use kinds::TypeGuess;
pub use names::table_name;
pub use place::Place;

use contest::Verdict;
use decide::Decision;
use evidence::Evidence;
use sample::{Extent, Samples};

/// What is to be guessed.
#[derive(Clone, Debug, Default)]
pub struct SniffOptions {
    /// What is declared of the format. Where anything but compression and encoding is, it is taken
    /// as declared and nothing of it guessed.
    pub format: Format,
    /// Look at all rows of all files, and not at samples.
    pub everything: bool,
}

/// Guesses what the files hold.
pub fn sniff(files: &[Arc<SourceFile>], options: &SniffOptions) -> Result<Guess, SniffError> {
    sniff_within(files, options, &Extent::default())
}

fn sniff_within(
    files: &[Arc<SourceFile>],
    options: &SniffOptions,
    extent: &Extent,
) -> Result<Guess, SniffError> {
    let samples = sample::take(files, extent)?;
    text::check(files, &samples, options.format.terminator.is_some())?;
    let name = files
        .first()
        .map(|file| file.path.to_string_lossy().into_owned())
        .unwrap_or_default();
    let is_declared = is_declared(&options.format);
    let mut verdict = match is_declared {
        true => contest::declared(&samples, mapping::form_of(&options.format.dialect(&name)?)),
        false => contest::choose(&samples, Preset::of_file(&name)),
    };
    let usual_header = Preset::of_file(&name).map(|preset| preset.dialect().header);
    let (mut evidence, mut decisions) =
        look(&samples, &mut verdict, is_declared, usual_header, &name)?;
    let mut is_everything = samples.is_everything;
    if options.everything && !is_everything {
        evidence = Evidence::of_files(files, &verdict.form, verdict.field_count)?;
        is_everything = true;
        decisions = decide_all(&evidence, is_everything);
    }
    let (mut columns, name_changes) = columns(&verdict, &evidence, decisions);
    verify::verify(&samples, &verdict, &mut columns);
    let mut unsure = verdict.unsure.clone();
    unsure.extend(unsure::of_rows(&verdict.form, &evidence));
    unsure.extend(name_changes);
    unsure.extend(unsure::of_extent(files.len(), &samples, options.everything));
    Ok(Guess {
        form: verdict.form,
        declared: options.format.clone(),
        columns,
        rows: evidence.rows,
        bytes_read: samples.bytes_count(),
        bytes_stored: files.iter().map(|file| file.size_bytes).sum(),
        places: evidence.places - evidence.places_unused,
        files: files.iter().map(|file| file.path.to_path_buf()).collect(),
        is_everything,
        seen: verdict.seen,
        unsure,
    })
}

/// Whether anything but compression and encoding is declared.
pub fn is_declared(format: &Format) -> bool {
    Format {
        compression: None,
        encoding: None,
        ..format.clone()
    } != Format::default()
}

/// Looks at the rows of the samples, and tells a header from a row on the way.
fn look(
    samples: &Samples,
    verdict: &mut Verdict,
    is_declared: bool,
    usual_header: Option<bool>,
    name: &str,
) -> Result<(Evidence, Vec<Decision>), SniffError> {
    let field_count = verdict.field_count;
    let without_first = Evidence::of_samples(samples, &verdict.form, field_count, true);
    if without_first.first_records.is_empty() {
        return Err(SniffError::Records {
            path: Path::new(name).to_path_buf(),
            what: "no record could be told in it: its lines are blank, or no two are alike"
                .to_owned(),
            mend: "declare how it is written: --format, and --columns".to_owned(),
        });
    }
    let decisions = decide_all(&without_first, samples.is_everything);
    if !is_declared {
        let header = header::guess(&without_first, &decisions, usual_header);
        verdict.form.header = header.has_header;
        verdict.seen.push(header.seen);
        verdict.unsure.extend(header.unsure);
    }
    verdict.form.title_lines = without_first.title_records;
    if without_first.comments > 0 {
        verdict.form.comment = Some(b'#');
    }
    if verdict.form.header {
        return Ok((without_first, decisions));
    }
    let all = Evidence::of_samples(samples, &verdict.form, field_count, false);
    let decisions = decide_all(&all, samples.is_everything);
    Ok((all, decisions))
}

fn decide_all(evidence: &Evidence, is_everything: bool) -> Vec<Decision> {
    evidence
        .columns
        .iter()
        .map(|facts| decide::decide(facts, evidence.rows, is_everything))
        .collect()
}

/// The columns with their names, and what was changed of those.
fn columns(
    verdict: &Verdict,
    evidence: &Evidence,
    decisions: Vec<Decision>,
) -> (Vec<ColumnGuess>, Vec<String>) {
    let header = evidence
        .first_records
        .first()
        .filter(|_| verdict.form.header)
        .map(|first| first.fields.clone());
    let (names, changes) = match &header {
        Some(header) => names::of_header(header),
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
