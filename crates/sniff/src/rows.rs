//! Finds the first row: after a title, after a header that lacks the first field's name, or at the first record.

use std::sync::Arc;

use inrush_files::SourceFile;

use super::choose_form::FormChoice;
use super::error::SniffError;
use super::evidence::Evidence;
use super::known::{BelowSkipped, Known};
use super::look::{Look, decide_all};
use super::mapping;
use super::row_names::{self, RowNames, Unnamed};
use super::sample::Samples;
use super::titles::{self, Title};

/// The rows, and all decisions that were made to find them.
pub(super) struct Rows {
    /// The samples after the skipped lines.
    pub samples: Samples,
    /// The form; it has the number of skipped lines.
    pub look: Look,
    /// The names of all fields, if the header lacks a name for the first field and is skipped.
    pub names: Option<Vec<String>>,
    /// Set if the header lacks a name and can be read in several ways.
    pub unnamed: Option<Unnamed>,
    /// The delimiter that the first line names, if the format is declared; whether or not that line is skipped.
    pub declared_separator: Option<u8>,
    /// True if all rows of all files were read.
    pub is_everything: bool,
}

/// The role of the record above the rows. The record may have fewer names than the rows have fields.
enum FirstNames {
    /// It seems to lack no name.
    Complete,
    /// It lacks the name of the first field, which numbers or names the rows.
    WithoutFirst(RowNames),
    /// It lacks a name, and can be read in several ways.
    Unclear(Unnamed),
}

impl Rows {
    /// Finds the rows after the skipped lines.
    pub fn find(
        known: &Known,
        below: BelowSkipped,
        mut choice: FormChoice,
    ) -> Result<Rows, SniffError> {
        if known.may_skip
            && let Some(found) = BelowTitle::find(known, &below.samples, &mut choice)
        {
            return Ok(Rows::below_title(known, below, found));
        }
        let mut look = Look::at(known, &below.samples, choice.clone())?;
        let mut unnamed = None;
        match first_names(known, &below, &look.choice)? {
            FirstNames::WithoutFirst(names) => {
                return Ok(Rows::below_names(known, below, choice, &names));
            }
            FirstNames::Unclear(found) => {
                look.choice.unsure.push(found.told());
                // The first record has already been reported as something other than a title.
                look.evidence.title_records = 0;
                unnamed = Some(found);
            }
            FirstNames::Complete if known.may_skip => {
                let later = look.later_header(known, &below.samples);
                look.choice.unsure.extend(later);
            }
            FirstNames::Complete => {}
        }
        Ok(Rows {
            unnamed,
            ..Rows::of(known, below, look)
        })
    }

    fn below_title(known: &Known, mut below: BelowSkipped, found: BelowTitle) -> Rows {
        below.seen.push(found.title.seen());
        below.skip_lines += found.title.lines;
        below.samples = found.samples;
        Rows::of(known, below, found.look)
    }

    /// `choice` is the result of the contest; the rows below the names have no header.
    fn below_names(
        known: &Known,
        mut below: BelowSkipped,
        choice: FormChoice,
        names: &RowNames,
    ) -> Rows {
        below.samples = below
            .samples
            .without_lines(names.lines, &mapping::lines_dialect());
        below.seen.push(names.seen());
        below.skip_lines += names.lines;
        let look = Look::at_all(&below.samples, choice);
        Rows {
            names: Some(names.all_names()),
            ..Rows::of(known, below, look)
        }
    }

    fn of(known: &Known, below: BelowSkipped, mut look: Look) -> Rows {
        look.choice.form.skip_lines = below.skip_lines;
        look.choice.seen.splice(..0, below.seen);
        Rows {
            is_everything: below.samples.is_everything,
            samples: below.samples,
            look,
            names: None,
            unnamed: None,
            declared_separator: below.separator.filter(|_| known.is_declared),
        }
    }

    /// The rows with the evidence of all rows of all files, instead of the samples.
    pub fn with_everything(self, files: &[Arc<SourceFile>]) -> Result<Rows, SniffError> {
        if self.is_everything {
            return Ok(self);
        }
        let choice = self.look.choice;
        let evidence = Evidence::of_files(files, &choice.form, choice.field_count)?;
        Ok(Rows {
            look: Look {
                decisions: decide_all(&evidence, true),
                evidence,
                choice,
            },
            is_everything: true,
            ..self
        })
    }
}

fn first_names(
    known: &Known,
    below: &BelowSkipped,
    choice: &FormChoice,
) -> Result<FirstNames, SniffError> {
    let Some(found) = RowNames::find(&below.samples, &choice.form, choice.field_count) else {
        return Ok(FirstNames::Complete);
    };
    if known.is_declared && choice.form.header {
        return Err(SniffError::Records {
            path: known.path.clone(),
            what: row_names::header_lacks_a_name(found.names.len()),
            mend: row_names::LACKS_A_NAME_HINT.to_owned(),
        });
    }
    if known.may_skip
        && below.samples.files_sampled == known.file_count
        && found.is_believed(&choice.form)
    {
        return Ok(FirstNames::WithoutFirst(found));
    }
    let unnamed = match known.is_declared {
        true => None,
        false => found.unnamed(&choice.form, below.skip_lines),
    };
    Ok(unnamed.map_or(FirstNames::Complete, FirstNames::Unclear))
}

/// The table after a title.
struct BelowTitle {
    title: Title,
    samples: Samples,
    look: Look,
}

impl BelowTitle {
    /// Looks at the rows below a title. A title is certain if the same header follows it in every file. A line that
    /// is only possibly a title becomes a note in the choice.
    fn find(known: &Known, samples: &Samples, whole: &mut FormChoice) -> Option<BelowTitle> {
        let title = titles::find(samples, whole)?;
        let samples = samples.without_lines(title.lines, &mapping::lines_dialect());
        let look = Look::at(known, &samples, whole.clone()).ok()?;
        let first = look.evidence.first_records.first()?;
        let are_alike = look
            .evidence
            .first_records
            .iter()
            .all(|other| other.fields == first.fields);
        let filled = samples
            .beginnings()
            .filter(|sample| !sample.bytes.is_empty())
            .count();
        let is_sure = look.choice.unsure.len() == whole.unsure.len();
        let is_believed = look.choice.form.header
            && (is_sure || title.is_clear)
            && are_alike
            && look.evidence.title_records == 0
            && look.evidence.first_records.len() == filled;
        if !is_believed {
            if look.choice.form.header && title.may_be_rows {
                whole.unsure.push(title.unsure());
            }
            return None;
        }
        Some(BelowTitle {
            title,
            samples,
            look,
        })
    }
}
