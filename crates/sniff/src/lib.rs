//! Guesses how files are written and what their columns are, from samples taken all over them,
//! and says what is unsure.
//!
//! The steps: [`sample`] takes pieces of the files; [`contest`] finds the form, by trying every
//! delimiter and way of quoting; [`evidence`] collects facts from the rows, column by column, with
//! [`candidates`] run through the load's own converters; [`header`] tells names from rows;
//! [`decide`] chooses types; [`verify`] converts all samples once more, exactly as the load
//! would. Nothing here is random: the same files always give the same guess.
//!
//! A guess is never looser than the load: a type is guessed only if the converters take its values. If
//! two types fit, the one that changes nothing is taken (text), and the other is told.

mod candidates;
mod clean;
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
pub mod row_names;
mod sample;
mod sentence_parts;
pub mod tables;
mod tally;
mod text;
mod titles;
mod unsure;
mod verify;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use inrush_files::SourceFile;
use inrush_package::{Format, Preset};

pub use error::SniffError;
pub use form::{Form, FormEscape};
pub use guess::{ColumnGuess, Guess};
pub use kinds::{BooleanSpelling, TypeGuess};
pub use names::table_name;
pub use sentence_parts::FilePlace;

use contest::Verdict;
use decide::Decision;
use evidence::Evidence;
use row_names::RowNames;
use sample::{Extent, Samples};
use titles::Title;

/// What is to be guessed.
#[derive(Clone, Debug, Default)]
pub struct SniffOptions {
    /// What is declared of the format. Where anything but compression, encoding, skip_lines and
    /// lossless is, it is taken as declared and nothing of it guessed.
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
    if let Some(told) = tables::told(files, &options.format)? {
        return Ok(told);
    }
    let mut samples = sample::take(files, extent)?;
    text::check(files, &samples, options.format.terminator.is_some())?;
    if !is_declared(&options.format) {
        text::check_first_lines(&samples)?;
    }
    let name = files
        .first()
        .map(|file| file.path.to_string_lossy().into_owned())
        .unwrap_or_default();
    let is_declared = is_declared(&options.format);
    let dialect = options.format.dialect(&name)?;
    let mut skip_lines = dialect.skip_lines;
    if skip_lines > 0 {
        samples = samples.without_lines(skip_lines, &dialect);
    }
    let mut seen = Vec::new();
    let separator = titles::separator(&samples);
    let may_skip = !is_declared && options.format.skip_lines.is_none();
    if let Some(delimiter) = separator.filter(|_| may_skip) {
        let (rest, what) = titles::without_separator(&samples, delimiter);
        samples = rest;
        skip_lines = 1;
        seen.push(what);
    }
    let mut verdict = match is_declared {
        true => contest::declared(&samples, mapping::form_of(&dialect)),
        false => contest::choose(&samples, Preset::of_file(&name), separator),
    };
    let usual_header = Preset::of_file(&name).map(|preset| preset.dialect().header);
    let looking = Looking {
        is_declared,
        usual_header,
        name: &name,
    };
    let title = match may_skip {
        true => looking.without_title(&samples, &mut verdict),
        false => None,
    };
    let mut names = None;
    let mut unnamed = None;
    let (mut evidence, mut decisions) = match title {
        Some(found) => {
            seen.push(found.title.seen());
            skip_lines += found.title.lines;
            samples = found.samples;
            verdict = found.verdict;
            (found.evidence, found.decisions)
        }
        None => {
            let whole = verdict.clone();
            let (mut evidence, mut decisions) = looking.look(&samples, &mut verdict)?;
            let row_names = RowNames::find(&samples, &verdict.form, verdict.field_count);
            if let Some(found) = row_names {
                if is_declared && verdict.form.header {
                    return Err(SniffError::Records {
                        path: Path::new(&name).to_path_buf(),
                        what: row_names::header_lacks_a_name(found.names.len()),
                        mend: row_names::LACKS_A_NAME_HINT.to_owned(),
                    });
                }
                if may_skip
                    && samples.files_sampled == files.len()
                    && found.is_believed(&verdict.form)
                {
                    let below = samples.without_lines(found.lines, &mapping::lines_dialect());
                    evidence = Evidence::of_samples(&below, &whole.form, whole.field_count, false);
                    decisions = decide_all(&evidence, below.is_everything);
                    verdict = whole;
                    seen.push(found.seen());
                    skip_lines += found.lines;
                    samples = below;
                    names = Some(found.all_names());
                } else if !is_declared {
                    unnamed = found.unnamed(&verdict.form, skip_lines);
                }
            }
            if let Some(told) = &unnamed {
                verdict.unsure.push(told.told());
                // The first record is told already, and as no title.
                evidence.title_records = 0;
            } else if may_skip && names.is_none() {
                let later = looking.later_header(&samples, &verdict, &evidence, &decisions);
                verdict.unsure.extend(later);
            }
            (evidence, decisions)
        }
    };
    verdict.form.skip_lines = skip_lines;
    seen.append(&mut verdict.seen);
    verdict.seen = seen;
    let mut is_everything = samples.is_everything;
    if options.everything && !is_everything {
        evidence = Evidence::of_files(files, &verdict.form, verdict.field_count)?;
        is_everything = true;
        decisions = decide_all(&evidence, is_everything);
    }
    let (mut columns, name_changes) = columns(&verdict, &evidence, decisions, names.as_deref());
    verify::verify(&samples, &verdict, &mut columns);
    let mut unsure = verdict.unsure.clone();
    if let Some(delimiter) = separator.filter(|_| is_declared) {
        unsure.push(format!(
            "the first line names the delimiter, {}: it is a row, or the header, unless the \
             declared format passes over it with skip_lines = 1",
            form::shown(&[delimiter])
        ));
    }
    unsure.extend(unsure::of_rows(&verdict.form, &evidence, &samples));
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
        left_out: Vec::new(),
        is_told: false,
        has_row_names: names.is_some(),
        unnamed,
        seen: verdict.seen,
        unsure,
    })
}

/// Whether anything of how the records are written is declared.
pub fn is_declared(format: &Format) -> bool {
    Format {
        compression: None,
        encoding: None,
        skip_lines: None,
        lossless: None,
        ..format.clone()
    } != Format::default()
}

/// What is known before the rows are looked at.
struct Looking<'a> {
    is_declared: bool,
    /// What the files' names tell.
    usual_header: Option<bool>,
    name: &'a str,
}

/// What is seen without the lines of a title.
struct WithoutTitle {
    title: Title,
    samples: Samples,
    verdict: Verdict,
    evidence: Evidence,
    decisions: Vec<Decision>,
}

impl Looking<'_> {
    /// Looks at the rows of the samples, and tells a header from a row on the way.
    fn look(
        &self,
        samples: &Samples,
        verdict: &mut Verdict,
    ) -> Result<(Evidence, Vec<Decision>), SniffError> {
        let field_count = verdict.field_count;
        let without_first = Evidence::of_samples(samples, &verdict.form, field_count, true);
        if without_first.first_records.is_empty() {
            text::refuse(samples)?;
            return Err(SniffError::Records {
                path: Path::new(self.name).to_path_buf(),
                what: "no record could be told in it: its lines are blank, or no two are alike"
                    .to_owned(),
                mend: "declare how it is written: --format, and --columns".to_owned(),
            });
        }
        let decisions = decide_all(&without_first, samples.is_everything);
        if !self.is_declared {
            let header = header::guess(&without_first, &decisions, self.usual_header);
            verdict.form.header = header.has_header;
            verdict.seen.push(header.seen);
            verdict.unsure.extend(header.unsure);
        }
        if without_first.comments > 0 {
            let before = verdict.form.comment.replace(b'#');
            // What delimits or quotes fields begins no comment.
            if mapping::dialect(&verdict.form).check().is_err() {
                verdict.form.comment = before;
            }
        }
        if verdict.form.header {
            return Ok((without_first, decisions));
        }
        let all = Evidence::of_samples(samples, &verdict.form, field_count, false);
        let decisions = decide_all(&all, samples.is_everything);
        Ok((all, decisions))
    }

    /// What to tell where all columns are text, and would be of other types below the first lines:
    /// a title with as many fields as the table, or a header of two lines.
    fn later_header(
        &self,
        samples: &Samples,
        verdict: &Verdict,
        evidence: &Evidence,
        decisions: &[Decision],
    ) -> Option<String> {
        const LINES_MAX: u32 = 3;
        let is_text = |decision: &Decision| decision.column_type == TypeGuess::Text;
        if verdict.field_count < 2 || !decisions.iter().all(is_text) {
            return None;
        }
        let above = evidence
            .first_records
            .first()
            .filter(|_| verdict.form.header);
        // A little of the beginnings is enough, and costs next to nothing.
        let mut beginnings = contest::looks(samples);
        beginnings.retain(|sample| sample.starts_file);
        let beginnings = Samples {
            samples: beginnings,
            ..*samples
        };
        (1..=LINES_MAX).find_map(|lines| {
            let below = beginnings.without_lines(lines, &mapping::lines_dialect());
            let mut found = Verdict {
                unsure: Vec::new(),
                ..verdict.clone()
            };
            let (evidence, decisions) = self.look(&below, &mut found).ok()?;
            // Below a header, a row that lacks values of other rows is no second header.
            if let (Some(above), Some(first)) = (above, evidence.first_records.first())
                && !header::is_fuller(&above.fields, &first.fields)
            {
                return None;
            }
            let typed = decisions.iter().filter(|decision| !is_text(decision));
            let is_sure = found.form.header && found.unsure.is_empty();
            (is_sure && decisions.iter().any(|decision| !is_text(decision))).then(|| {
                format!(
                    "all columns are text because of the first lines: below line {} {} would be of \
                     another type; where that line names the fields, set skip_lines = {lines} in \
                     `format`",
                    lines + 1,
                    inrush_rows::plural::counted(typed.count() as u64, "column")
                )
            })
        })
    }

    /// Looks at the rows below a title, where there is one that can be believed: what follows it
    /// in every file is the same header. One that only may be a title is told.
    fn without_title(&self, samples: &Samples, whole: &mut Verdict) -> Option<WithoutTitle> {
        let title = titles::find(samples, whole)?;
        let samples = samples.without_lines(title.lines, &mapping::lines_dialect());
        let mut verdict = whole.clone();
        let unsure_before = verdict.unsure.len();
        let (evidence, decisions) = self.look(&samples, &mut verdict).ok()?;
        let first = evidence.first_records.first()?;
        let are_alike = evidence
            .first_records
            .iter()
            .all(|other| other.fields == first.fields);
        let filled = samples
            .beginnings()
            .filter(|sample| !sample.bytes.is_empty())
            .count();
        let is_sure = verdict.unsure.len() == unsure_before;
        let is_believed = verdict.form.header
            && (is_sure || title.is_clear)
            && are_alike
            && evidence.title_records == 0
            && evidence.first_records.len() == filled;
        if !is_believed {
            if verdict.form.header && title.may_be_rows {
                whole.unsure.push(title.unsure());
            }
            return None;
        }
        Some(WithoutTitle {
            title,
            samples,
            verdict,
            evidence,
            decisions,
        })
    }
}

fn decide_all(evidence: &Evidence, is_everything: bool) -> Vec<Decision> {
    evidence
        .columns
        .iter()
        .map(|facts| decide::decide(facts, evidence.rows, is_everything))
        .collect()
}

/// The columns with their names, and what was changed of those. `named` are names that no header of the load has.
fn columns(
    verdict: &Verdict,
    evidence: &Evidence,
    decisions: Vec<Decision>,
    named: Option<&[String]>,
) -> (Vec<ColumnGuess>, Vec<String>) {
    let header = evidence
        .first_records
        .first()
        .filter(|_| verdict.form.header)
        .map(|first| first.fields.clone());
    let (names, changes) = match header.as_deref().or(named) {
        Some(names) => names::of_header(names),
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
