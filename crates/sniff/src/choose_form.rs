//! The choice of a form after the contest, and the notes about it.

use inrush_package::Preset;
use inrush_rows::plural::counted;

use super::contest::{self, Entry, SHARE_MIN, best_quoting, looks};
use super::form::{Form, FormEscape, Quoting, shown};
use super::mapping;
use super::sample::{Sample, Samples};
use super::tally::{Tally, tally};

/// A form with a lower score is not accepted.
const VALUE_MIN: f64 = 0.25;

/// A delimiter with a lower score is not mentioned in a note.
const VALUE_TOLD_MIN: f64 = 0.1;

/// Another delimiter with this share of the best score is mentioned in a note; an unusual delimiter must be as good as
/// the best one.
const TOLD_SHARE: f64 = 0.7;
const USUAL_WEIGHT_MIN: f64 = 0.9;

/// The chosen form, and the reasons.
#[derive(Clone, Debug)]
pub(super) struct FormChoice {
    pub form: Form,
    /// The number of fields in a good record.
    pub field_count: usize,
    /// Notes about the choice for the user.
    pub unsure: Vec<String>,
    /// Observations, for the package's comments.
    pub seen: Vec<String>,
}

/// Finds the form. `preset` comes from the files' names; `said` is the delimiter that one of their lines declares.
pub(super) fn choose(samples: &Samples, preset: Option<Preset>, said: Option<u8>) -> FormChoice {
    let mut looks = looks(samples);
    let preset_form = preset.map(|preset| mapping::form_of(&preset.dialect()));
    let mut entries = contest::hold(&looks, preset_form.as_ref(), said);
    let is_believed = |entries: &[Entry]| {
        let best = entries.first();
        best.is_some_and(|best| best.tally.share() >= SHARE_MIN && best.value >= VALUE_MIN)
    };
    if !is_believed(&entries)
        && let Some(long) = contest::long_looks(samples)
    {
        looks = long;
        entries = contest::hold(&looks, preset_form.as_ref(), said);
    }
    let mut choice = match is_believed(&entries) {
        true => several_columns(&entries, preset_form.as_ref()),
        false => one_column(&looks, entries.first(), preset_form.as_ref()),
    };
    if choice.form.is_single_column
        && let Some(sample) = samples.beginnings().find(|sample| is_one_line(sample))
    {
        choice.unsure.push(format!(
            "the first line of {} has {} bytes, and no more of the file was sampled, so nothing shows how its records are \
             cut: declare the `format`",
            sample.file.path.display(),
            sample.bytes.len()
        ));
    }
    if let (Some(preset_form), false) = (&preset_form, choice.form.is_single_column) {
        tell_contradiction(&mut choice, preset_form);
    }
    choice
}

/// True if the beginning of a file is only one line, and the file continues.
fn is_one_line(sample: &Sample) -> bool {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
    let text = sample.bytes.trim_ascii_end();
    !sample.ends_file && !text.is_empty() && !text.iter().any(is_end)
}

/// The choice of the best form of files with several columns. `entries` are in the order of their scores; there is at
/// least one.
fn several_columns(entries: &[Entry], preset: Option<&Form>) -> FormChoice {
    let best = &entries[0];
    let nulls = Nulls::of(best, preset);
    let seen = [
        Some(cuts_seen(best)),
        Some(quotes_seen(best)),
        trailing_delimiter_seen(best),
        nulls.seen,
    ];
    let unsure = [
        rival_unsure(best, &entries[1..]),
        too_few_records_unsure(best),
        escapes_unsure(best),
        nulls.unsure,
    ];
    FormChoice {
        form: Form {
            nulls: nulls.nulls,
            ..best.form.clone()
        },
        field_count: best.tally.field_count,
        unsure: unsure.into_iter().flatten().collect(),
        seen: seen.into_iter().flatten().collect(),
    }
}

fn cuts_seen(best: &Entry) -> String {
    format!(
        "{} cuts {} of {} sampled records into {} fields",
        shown(&best.form.delimiter),
        best.tally.good,
        best.tally.records,
        best.tally.field_count
    )
}

fn quotes_seen(best: &Entry) -> String {
    match (best.form.quote, best.form.escape) {
        (Some(quote), escape) if best.tally.quoted > 0 => format!(
            "{} in {}{}",
            counted(best.tally.quoted, "field"),
            shown(&[quote]),
            match escape {
                FormEscape::Backslash => ", with a backslash before quotes inside",
                _ => "",
            }
        ),
        (Some(quote), _) => format!(
            "no field is quoted; a later field in {} is read as quoted",
            shown(&[quote])
        ),
        (None, FormEscape::Backslash | FormEscape::Other(_)) => {
            "backslashes are escapes, as in COPY and MySQL".to_owned()
        }
        (None, FormEscape::None | FormEscape::DoubledQuote) if best.tally.stray_quotes > 0 => {
            format!(
                "quotes are inside {} but around none: they are ordinary characters",
                counted(best.tally.stray_quotes, "field")
            )
        }
        (None, FormEscape::None | FormEscape::DoubledQuote) => {
            "no field is quoted, and quotes are ordinary characters".to_owned()
        }
    }
}

fn trailing_delimiter_seen(best: &Entry) -> Option<String> {
    best.form
        .trailing_delimiter
        .then(|| "every record ends with one more delimiter".to_owned())
}

/// The note about another delimiter that looks nearly as good.
fn rival_unsure(best: &Entry, others: &[Entry]) -> Option<String> {
    let is_near = |other: &&Entry| {
        let share = match other.weight >= USUAL_WEIGHT_MIN {
            true => TOLD_SHARE,
            false => 1.0,
        };
        other.value >= best.value * 0.9
            || other.tally.share() >= SHARE_MIN && other.look >= best.look * share
    };
    let rival = others.iter().find(is_near).filter(|_| !best.is_said)?;
    Some(format!(
        "{} was taken as the delimiter, but {} would cut the records into {} fields as regularly; set \
         delimiter = \"...\" in `format` to decide",
        shown(&best.form.delimiter),
        shown(&rival.form.delimiter),
        rival.tally.field_count
    ))
}

fn too_few_records_unsure(best: &Entry) -> Option<String> {
    (best.tally.records < 3).then(|| {
        format!(
            "there are too few records ({}) to be certain of the delimiter",
            best.tally.records
        )
    })
}

fn escapes_unsure(best: &Entry) -> Option<String> {
    let are_escapes = best.form.escape == FormEscape::Backslash
        && best.form.quote.is_none()
        && best.tally.backslashes.escapes() > 0
        // Tabs and `\N` together are COPY's own text form.
        && (best.tally.null_marks == 0 || best.form.delimiter != b"\t");
    are_escapes.then(|| {
        "backslashes are taken as escapes; if they are ordinary characters (Windows paths), set \
         escape = \"\" in `format`"
            .to_owned()
    })
}

/// The null markers of files with several columns, and the note about them.
struct Nulls {
    nulls: Vec<String>,
    seen: Option<String>,
    unsure: Option<String>,
}

impl Nulls {
    fn of(best: &Entry, preset: Option<&Form>) -> Nulls {
        let as_cut = Nulls {
            nulls: best.form.nulls.clone(),
            seen: None,
            unsure: None,
        };
        if best.tally.null_marks > 0 {
            return Nulls {
                nulls: vec!["\\N".to_owned()],
                seen: Some(format!(
                    "`\\N` stands for NULL in {}",
                    counted(best.tally.null_marks, "field")
                )),
                unsure: None,
            };
        }
        let is_preset = |preset: &&Form| {
            preset.delimiter == best.form.delimiter && preset.quoting() == best.form.quoting()
        };
        match preset.filter(is_preset) {
            Some(preset) if preset.nulls != best.form.nulls && best.tally.empties == 0 => Nulls {
                nulls: preset.nulls.clone(),
                ..as_cut
            },
            Some(preset) if preset.nulls != best.form.nulls => Nulls {
                unsure: Some(format!(
                    "empty fields were taken as NULL, because {} did not occur",
                    shown(preset.nulls.first().map_or("", String::as_str).as_bytes())
                )),
                ..as_cut
            },
            _ => as_cut,
        }
    }
}

/// A file of one column: no delimiter is accepted.
fn one_column(looks: &[Sample], best: Option<&Entry>, preset: Option<&Form>) -> FormChoice {
    let is_unseen = |byte: u8| looks.iter().all(|look| !look.bytes.contains(&byte));
    let delimiter = preset
        .map(|form| form.delimiter[0])
        .into_iter()
        .chain([b',', b'\t', b'|', 0x1f, 0x1e, 0x01, 0x02])
        .find(|byte| is_unseen(*byte))
        .unwrap_or(0x1f);
    let tallies: Vec<(Quoting, Tally)> = Quoting::ALL
        .iter()
        .map(|quoting| {
            let form = Form {
                is_single_column: true,
                ..Form::of(&[delimiter], *quoting)
            };
            (*quoting, tally(looks, &form))
        })
        .collect();
    let (quoting, tally) = best_quoting(&tallies, Quoting::DOUBLED, delimiter);
    let mut form = Form {
        is_single_column: true,
        ..Form::of(&[delimiter], quoting)
    };
    if tally.null_marks > 0 {
        form.nulls = vec!["\\N".to_owned()];
    }
    let mut unsure = Vec::new();
    if let Some(best) = best
        && best.tally.records > 1
        && best.value > VALUE_TOLD_MIN
    {
        unsure.push(format!(
            "the file was taken as having one column; {} would cut {} of {} records into {} \
             fields: if it is the delimiter, set it in `format`",
            shown(&best.form.delimiter),
            best.tally.good,
            best.tally.records,
            best.tally.field_count
        ));
    }
    FormChoice {
        seen: vec![format!(
            "one column: no delimiter cuts the records evenly; {} did not occur",
            shown(&[delimiter])
        )],
        form,
        field_count: 1,
        unsure,
    }
}

/// Adds the note about files that are not written as their names suggest.
fn tell_contradiction(choice: &mut FormChoice, preset: &Form) {
    let form = &choice.form;
    let mut differences = Vec::new();
    if form.delimiter != preset.delimiter {
        differences.push(format!("{} separates fields", shown(&form.delimiter)));
    }
    if form.trailing_delimiter != preset.trailing_delimiter {
        differences.push(match form.trailing_delimiter {
            true => "every record ends with one more delimiter".to_owned(),
            false => "records do not end with one more delimiter".to_owned(),
        });
    }
    if form.quoting() != preset.quoting() {
        differences.push(match (form.quote, form.escape) {
            (Some(quote), FormEscape::Backslash) => {
                format!("fields are in {} with backslashes inside", shown(&[quote]))
            }
            (Some(quote), _) => format!("fields are in {}", shown(&[quote])),
            (None, FormEscape::Backslash) => "backslashes are escapes".to_owned(),
            (None, _) => "quotes are ordinary characters".to_owned(),
        });
    }
    if !differences.is_empty() {
        choice.unsure.push(format!(
            "the files are not written as their names suggest: {}",
            differences.join(", ")
        ));
    }
}

/// The choice of a declared form.
pub(super) fn declared(samples: &Samples, form: Form) -> FormChoice {
    let mut tally = tally(&looks(samples), &form);
    if tally.share() < SHARE_MIN
        && let Some(long) = contest::long_looks(samples)
    {
        tally = super::tally::tally(&long, &form);
    }
    let mut unsure = Vec::new();
    if tally.share() < SHARE_MIN {
        unsure.push(format!(
            "with the declared format, only {} of {} records have {} fields: likely the file has \
             another format; without --format it is guessed",
            tally.good, tally.records, tally.field_count
        ));
    }
    FormChoice {
        field_count: tally.field_count,
        seen: vec![format!(
            "as declared; {} of {} sampled records have {} fields",
            tally.good, tally.records, tally.field_count
        )],
        form: Form {
            is_single_column: tally.field_count == 1,
            ..form
        },
        unsure,
    }
}
