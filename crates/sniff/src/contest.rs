//! Finds the form that cuts the samples best: delimiter, quote and escape.
//!
//! Every delimiter that occurs is tried with every way of quoting. A form is good if nearly all records have the same
//! number of fields, at least two, and if each field looks like one value, not like several with another delimiter
//! between them.

use super::clean::{self, RIVALS};
use super::cut_sample::cut;
use super::form::{Form, FormEscape, Quoting};
use super::row_names;
use super::sample::{Sample, Samples};
use super::tally::{Tally, tally};

/// How many bytes of each sample the contest reads.
const LOOK_BYTES: usize = 128 << 10;

/// How many beginnings of files, and how many samples from their middle, are examined.
const BEGINNINGS_MAX: usize = 4;
const PLACES_MAX: usize = 8;

/// If a smaller share of the records has the same number of fields, the file does not have several columns.
pub(super) const SHARE_MIN: f64 = 0.7;

/// The factor for a form that the file itself declares (`sep=;`). It counts more than the evidence of the records.
const SAID_BONUS: f64 = 10.0;

/// The factor for the form that the file's name suggests, which counts a little.
const PRESET_BONUS: f64 = 1.1;

/// The factor for quotes around every field, which do not occur by chance.
const QUOTED_BONUS: f64 = 1.25;

/// The factor for quotes that are only inside fields under this delimiter, but around fields under another.
const STRAY_QUOTES_MALUS: f64 = 0.4;

/// The delimiters that are tried, each with its weight: if it cuts the records evenly, how likely it is the real
/// delimiter.
const DELIMITERS: [(u8, f64); 17] = [
    (b',', 1.0),
    (b'\t', 1.0),
    (b'|', 1.0),
    (b';', 1.0),
    (0x01, 1.0),
    (0x02, 1.0),
    (0x1c, 1.0),
    (0x1d, 1.0),
    (0x1e, 1.0),
    (0x1f, 1.0),
    (b'~', 0.9),
    (b'^', 0.9),
    (b'!', 0.6),
    (b'#', 0.6),
    (b':', 0.7),
    (b'=', 0.5),
    // A blank is tried only if the first line consists of quoted texts; see `row_names`.
    (b' ', 0.9),
];

/// A form in the contest, with its score.
pub(super) struct Entry {
    pub form: Form,
    pub tally: Tally,
    /// The quality of its records, without the weight of the delimiter.
    pub look: f64,
    /// The weight of its delimiter.
    pub weight: f64,
    /// Its score: the higher the better.
    pub value: f64,
    /// True if a line of the files names the delimiter.
    pub is_said: bool,
}

/// The records as they are cut by a delimiter with its best way of quoting.
struct DelimiterCandidate {
    delimiter: u8,
    weight: f64,
    is_preset: bool,
    quoting: Quoting,
    tally: Tally,
}

/// Every delimiter that is seen, with its best way of quoting; the best is first. `preset` is the form that the
/// files' names suggest, `said` the delimiter that one of their lines declares.
pub(super) fn hold(looks: &[Sample], preset: Option<&Form>, said: Option<u8>) -> Vec<Entry> {
    let candidates: Vec<DelimiterCandidate> = DELIMITERS
        .iter()
        .filter(|(delimiter, _)| looks.iter().any(|look| look.bytes.contains(delimiter)))
        .filter(|(delimiter, _)| *delimiter != b' ' || row_names::may_be_blank_delimited(looks))
        .filter_map(|(delimiter, weight)| candidate(looks, *delimiter, *weight, preset))
        .collect();
    let are_even = |candidate: &&DelimiterCandidate| candidate.tally.share() >= SHARE_MIN;
    let rivals: Vec<u8> = candidates
        .iter()
        .filter(are_even)
        .map(|candidate| candidate.delimiter)
        .filter(|delimiter| RIVALS.contains(delimiter))
        .collect();
    // A single quoted field could be chance.
    let are_quotes_around = candidates
        .iter()
        .filter(are_even)
        .any(|candidate| candidate.quoting.quote == Some(b'"') && candidate.tally.quoted > 1);
    let mut entries: Vec<Entry> = candidates
        .into_iter()
        .map(|candidate| enter(looks, candidate, &rivals, are_quotes_around))
        .collect();
    for entry in &mut entries {
        if said.is_some_and(|said| entry.form.delimiter == [said]) {
            entry.value *= SAID_BONUS;
            entry.is_said = true;
        }
    }
    // The sort is stable: among equals the more likely delimiter stays first.
    entries.sort_by(|left, right| right.value.total_cmp(&left.value));
    entries
}

/// The parts of the samples that the contest reads.
pub(super) fn looks(samples: &Samples) -> Vec<Sample> {
    parts(samples, LOOK_BYTES)
}

/// The same samples in full; `None` if they are no longer than the parts. A first record, or a header of thousands of
/// names, may be longer than a part.
pub(super) fn long_looks(samples: &Samples) -> Option<Vec<Sample>> {
    let is_cut = samples
        .beginnings()
        .any(|sample| sample.bytes.len() > LOOK_BYTES);
    is_cut.then(|| parts(samples, usize::MAX))
}

fn parts(samples: &Samples, bytes_max: usize) -> Vec<Sample> {
    let middles: Vec<&Sample> = samples
        .samples
        .iter()
        .filter(|sample| !sample.starts_file)
        .collect();
    let step = middles.len().div_ceil(PLACES_MAX).max(1);
    let beginnings: Vec<&Sample> = samples.beginnings().collect();
    let step_beginnings = beginnings.len().div_ceil(BEGINNINGS_MAX).max(1);
    let beginnings = beginnings.into_iter().step_by(step_beginnings);
    // The last sample is always among them, because it has the end of the file.
    let middles = middles.into_iter().rev().step_by(step);
    beginnings
        .chain(middles)
        .filter(|sample| !sample.bytes.is_empty())
        .map(|sample| {
            let length = sample.bytes.len().min(bytes_max);
            Sample {
                file: sample.file.clone(),
                byte_offset: sample.byte_offset,
                bytes: sample.bytes[..length].to_vec(),
                line_offset: sample.line_offset,
                starts_file: sample.starts_file,
                ends_file: sample.ends_file && length == sample.bytes.len(),
                translated_from: sample.translated_from,
            }
        })
        .collect()
}

/// The best way of quoting with a delimiter; `None` if it separates no fields.
fn candidate(
    looks: &[Sample],
    delimiter: u8,
    weight: f64,
    preset: Option<&Form>,
) -> Option<DelimiterCandidate> {
    let is_preset = preset.is_some_and(|form| form.delimiter == [delimiter]);
    let usual = match preset {
        Some(form) if is_preset => form.quoting(),
        // With this form, a quote that first occurs later in the file makes its row a reject: nothing is changed
        // silently.
        _ => Quoting::DOUBLED,
    };
    let tallies: Vec<(Quoting, Tally)> = Quoting::ALL
        .iter()
        .map(|quoting| {
            let form = Form::of(&[delimiter], *quoting);
            (*quoting, tally(looks, &form))
        })
        .collect();
    let (quoting, tally) = best_quoting(&tallies, usual, delimiter);
    (tally.field_count >= 2).then_some(DelimiterCandidate {
        delimiter,
        weight,
        is_preset,
        quoting,
        tally,
    })
}

/// The form of a delimiter, and its score.
fn enter(
    looks: &[Sample],
    candidate: DelimiterCandidate,
    rivals: &[u8],
    are_quotes_around: bool,
) -> Entry {
    let DelimiterCandidate {
        delimiter,
        weight,
        is_preset,
        quoting,
        mut tally,
    } = candidate;
    let mut form = Form::of(&[delimiter], quoting);
    let mut look = tally.share().powi(2) * cleanness(looks, &form, &tally, rivals);
    if quoting.quote.is_none() && tally.stray_quotes > 0 && are_quotes_around {
        look *= STRAY_QUOTES_MALUS;
    }
    let mut value = look * weight;
    if is_preset {
        value *= PRESET_BONUS;
    }
    let good_fields = tally.good * tally.field_count as u64;
    if tally.good > 1 && tally.quoted == good_fields {
        value *= QUOTED_BONUS;
    }
    if tally.has_trailing_delimiter() {
        form.trailing_delimiter = true;
        tally.field_count -= 1;
        if !is_preset && quoting == Quoting::DOUBLED && tally.quoted == 0 {
            // dbgen and similar programs write no quotes.
            form.quote = None;
            form.escape = FormEscape::None;
        }
    }
    Entry {
        form,
        tally,
        look,
        weight,
        value,
        is_said: false,
    }
}

/// The way of quoting with the most good records; among equals the one whose quotes occur, then the usual one.
pub(super) fn best_quoting(
    tallies: &[(Quoting, Tally)],
    usual: Quoting,
    delimiter: u8,
) -> (Quoting, Tally) {
    let in_use = |quoting: &Quoting, tally: &Tally| match (quoting.quote, quoting.escape) {
        // If the quote is an apostrophe, a single quoted field can be chance.
        (Some(b'\''), FormEscape::Backslash) => tally.quoted > 1 && tally.escaped_quotes > 0,
        (Some(b'\''), _) => tally.quoted > 1,
        (Some(_), FormEscape::Backslash) => tally.escaped_quotes > 0,
        (Some(_), _) => tally.quoted > 0,
        (None, FormEscape::Backslash) => are_escapes(tally, delimiter, *quoting == usual),
        (None, _) => false,
    };
    let is_common = |quoting: &Quoting| {
        *quoting == usual || *quoting == Quoting::DOUBLED || *quoting == Quoting::NONE
    };
    // An escape before a delimiter is evident: without it the record has too many fields.
    let is_needed = |quoting: &Quoting, tally: &Tally| {
        *quoting == Quoting::BACKSLASH && tally.backslashes.needed > 0
    };
    let known: Vec<&(Quoting, Tally)> = tallies
        .iter()
        .filter(|(quoting, tally)| {
            is_common(quoting) || in_use(quoting, tally) || is_needed(quoting, tally)
        })
        .collect();
    let share_max = known
        .iter()
        .map(|(_, tally)| tally.share_with_titles())
        .fold(0.0, f64::max);
    let chosen = known
        .into_iter()
        .filter(|(_, tally)| tally.share_with_titles() >= share_max)
        // Among equals the first, which is more likely.
        .rev()
        .max_by_key(|(quoting, tally)| {
            // A backslash before quotes is accepted as an escape only if the records cannot be cut without it.
            let is_plain = quoting.quote.is_none() || quoting.escape != FormEscape::Backslash;
            // A program that escapes with backslashes also doubles each backslash in a value.
            let is_contradicted = *quoting == Quoting::BACKSLASH && tally.backslashes.lone > 0;
            (
                in_use(quoting, tally),
                !is_contradicted,
                is_plain,
                *quoting == usual,
            )
        });
    match chosen {
        Some((quoting, tally)) => (*quoting, tally.clone()),
        None => (usual, Tally::default()),
    }
}

/// True if the backslashes of a form without quotes are escapes, not ordinary characters as in paths. A database dump
/// has tabs or `\N`, and doubles every backslash; `\N` alone is only a mark of NULL.
fn are_escapes(tally: &Tally, delimiter: u8, is_usual: bool) -> bool {
    let backslashes = &tally.backslashes;
    if backslashes.lone > 0 || backslashes.escapes() == 0 {
        return false;
    }
    if delimiter == b'\t' || is_usual {
        return is_usual || tally.null_marks > 0 || backslashes.needed > 0;
    }
    backslashes.needed > 0 || backslashes.doubled > 0 && tally.null_marks > 0
}

/// The share of fields that look like one value.
fn cleanness(looks: &[Sample], form: &Form, tally: &Tally, rivals: &[u8]) -> f64 {
    const RECORDS_MAX: usize = 200;
    let (mut fields, mut clean) = (0_u64, 0.0);
    let look = |sample: &Sample, fields: &mut u64, clean: &mut f64| {
        let Some(cut) = cut(sample, form, tally.field_count) else {
            return;
        };
        let good = (0..cut.records.len())
            .filter(|index| cut.records.field_count(*index) == tally.field_count);
        for index in good.take(RECORDS_MAX) {
            for field in 0..tally.field_count {
                let written = &cut.chunk.text()[cut.records.field(index, field)];
                *fields += 1;
                *clean += clean::cleanness(written, form, rivals);
            }
        }
    };
    for sample in looks {
        look(sample, &mut fields, &mut clean);
    }
    if fields == 0 {
        return 0.0;
    }
    clean / fields as f64
}
