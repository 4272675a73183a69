//! Decides whether the first record is a header.
//!
//! If there are columns of other types than text, they decide: a name is not of their types. If all columns are text,
//! the look of the record decides: texts like names, all different. A header may have fields without a name in two
//! cases: at the end of the record, as spreadsheets write columns that were used once (`Name,Date,,,`), and over a
//! column without a NULL, as pandas writes its index (`,name,town`). A record that may or may not be a header gets a
//! note: names beside empty fields, numbers, or the same name twice.

use inrush_package::NAME_BYTES_MAX;
use inrush_rows::plural::counted;

use super::choose_type::Decision;
use super::evidence::{Evidence, FirstRecord};
use super::facts::{ColumnFacts, is_null_word};
use super::kinds::TypeGuess;

/// The guess whether there is a header, and how sure it is.
pub(super) struct HeaderGuess {
    pub has_header: bool,
    pub seen: String,
    pub unsure: Option<String>,
}

/// Distinguishes a header from data. `evidence` and `decisions` do not include the first record of each file; `usual`
/// is the hint from the files' names.
pub(super) fn guess(
    evidence: &Evidence,
    decisions: &[Decision],
    usual: Option<bool>,
) -> HeaderGuess {
    let Some(first) = evidence.first_records.first() else {
        return answer(false, "there is no record", None);
    };
    let look = HeaderLook::of(&first.fields, &evidence.columns, evidence.rows);
    let are_names = look == HeaderLook::Names;
    if evidence.rows == 0 {
        return alone(evidence, first, look, usual);
    }
    let signs = Signs::of(first, &evidence.columns, decisions);
    if let Some(answer) = by_types(&signs, first) {
        return answer;
    }
    // From here on all columns are text.
    let are_alike = evidence.first_records.len() > 1
        && evidence
            .first_records
            .iter()
            .all(|other| other.fields == first.fields);
    if are_names && are_alike {
        return answer(
            true,
            "all files begin with the same record, which names the fields",
            None,
        );
    }
    let differ = evidence.first_records.len() > 1 && !are_alike;
    let is_repeated = first
        .fields
        .iter()
        .zip(&evidence.columns)
        .any(|(field, facts)| !field.is_empty() && facts.distinct.contains(field));
    let may_be = are_names && !differ && !is_repeated;
    let has_header = may_be && (usual == Some(true) || are_identifiers(&first.fields));
    let shown: Vec<String> = first
        .fields
        .iter()
        .take(3)
        .map(|field| format!("`{}`", super::sentence_parts::shortened(field.as_bytes())))
        .collect();
    let shown = shown.join(", ");
    match has_header {
        true => answer(
            true,
            "the first record looks like names",
            Some(format!(
                "all columns are text, so the first record ({shown}) was taken as the header only \
                 by its look; set header = false if it is a row"
            )),
        ),
        false if look != HeaderLook::Row && usual != Some(false) => answer(
            false,
            "the first record looks like a row",
            Some(format!(
                "all columns are text, and the first record ({shown}) was taken as a row; set \
                 header = true if it is the header"
            )),
        ),
        false => answer(false, "the first record looks like a row", None),
    }
}

/// The comparison of the first record with the types of columns that are not text.
#[derive(Default)]
struct Signs {
    /// The number of fields that are of their column's type.
    fits: u64,
    /// Of the fields that `fits` counts, the number of years over values that are not years: `2019` over amounts.
    years: u64,
    /// The number of texts that can be names, over values of another type.
    named: u64,
    /// The number of other texts that are not of their column's type, such as dates over amounts.
    odd: u64,
    /// True if the numbers of the record rise by equal steps, and the numbers of the rows do not.
    is_series: bool,
}

impl Signs {
    fn of(first: &FirstRecord, columns: &[ColumnFacts], decisions: &[Decision]) -> Signs {
        let mut signs = Signs::default();
        let mut numbers: Vec<i128> = Vec::new();
        for ((field, facts), decision) in first.fields.iter().zip(columns).zip(decisions) {
            // Words for a missing value belong to rows, above any column.
            if field.is_empty() || is_null_word(field.as_bytes()) {
                continue;
            }
            let Some(column_type) = told_type(decision) else {
                continue;
            };
            if !takes(facts, column_type, field) {
                match is_name(field) {
                    true => signs.named += 1,
                    false => signs.odd += 1,
                }
                continue;
            }
            signs.fits += 1;
            if let Ok(number) = field.trim().parse::<i128>() {
                numbers.push(number);
                signs.years += u64::from(is_year(number) && !holds_years(facts));
            }
        }
        let steps: Vec<i128> = numbers.windows(2).map(|pair| pair[1] - pair[0]).collect();
        signs.is_series = numbers.len() as u64 == signs.fits
            && match steps.as_slice() {
                [] => false,
                // With two numbers, the steps are always equal.
                [only] => *only == 1,
                [first, ..] => *first != 0,
            }
            && steps.windows(2).all(|pair| pair[0] == pair[1]);
        signs
    }
}

/// The decision by the columns' types; `None` if all columns are text.
fn by_types(signs: &Signs, first: &FirstRecord) -> Option<HeaderGuess> {
    let misfits = signs.named + signs.odd;
    let fits = signs.fits - signs.years;
    if signs.fits + misfits == 0 {
        return None;
    }
    let are_distinct = are_distinct(&first.fields);
    // If only one field is not of its column's type, it is more likely a bad value.
    let is_odd_header = signs.odd > 1 && are_distinct;
    if misfits > fits && (signs.named > 0 || is_odd_header) {
        let unsure = (fits > 0).then(|| {
            format!(
                "the first record was taken as the header, because {misfits} of its fields do not \
                 fit their columns, although {fits} would; set header = false if it is a row"
            )
        });
        return Some(answer(
            true,
            &format!(
                "the first record names the fields: it does not fit the types of {}",
                counted(misfits, "column")
            ),
            unsure,
        ));
    }
    if signs.years > 0 && fits == 0 && are_distinct && (signs.years > 1 || misfits > 0) {
        return Some(answer(
            true,
            "the first record names the fields: its numbers are years, and the numbers below them are not",
            None,
        ));
    }
    let looks_like_names = first
        .fields
        .first()
        .is_some_and(|name| is_name(name) || name.is_empty());
    let unsure = if misfits > 0 {
        Some(format!(
            "the first record was taken as a row, although {misfits} of its fields do not fit \
             their columns; set header = true if it is the header"
        ))
    } else if signs.years > 0
        || signs.is_series && signs.fits > 1 && looks_like_names && are_distinct
    {
        let numbers = match signs.is_series {
            true => "its numbers are consecutive, as in names of columns",
            false => "one of its numbers is a year, and the numbers below it are not",
        };
        Some(format!(
            "the first record was taken as a row, because it fits the types of the columns, \
             although {numbers}; set header = true if it is the header"
        ))
    } else {
        None
    };
    Some(answer(
        false,
        match signs.fits {
            0 => "the first record is taken as a row",
            _ => "the first record is a row: it fits the types of the columns",
        },
        unsure,
    ))
}

fn is_year(number: i128) -> bool {
    (1900..=2100).contains(&number)
}

/// True if the values of a column may be years themselves.
fn holds_years(facts: &ColumnFacts) -> bool {
    match (facts.numbers.smallest, facts.numbers.largest) {
        (Some(smallest), Some(largest)) => is_year(smallest) || is_year(largest),
        _ => false,
    }
}

/// The decision if there is only one record.
fn alone(
    evidence: &Evidence,
    first: &FirstRecord,
    look: HeaderLook,
    usual: Option<bool>,
) -> HeaderGuess {
    let are_names = look == HeaderLook::Names;
    let are_alike = evidence
        .first_records
        .iter()
        .all(|other| other.fields == first.fields);
    let has_header = are_names
        && are_alike
        && (usual == Some(true) || usual.is_none() && are_identifiers(&first.fields));
    let unsure = match has_header {
        true => "there is only a header, so all columns are text",
        false => "there is only one record, and it was taken as a row",
    };
    answer(has_header, "there is one record", Some(unsure.to_owned()))
}

fn answer(has_header: bool, seen: &str, unsure: Option<String>) -> HeaderGuess {
    HeaderGuess {
        has_header,
        seen: seen.to_owned(),
        unsure,
    }
}

/// True if a line below a header may be the better header: it has names that the header lacks, or both have a name for
/// each field.
pub(super) fn is_fuller(above: &[String], below: &[String]) -> bool {
    let filled = |fields: &[String]| {
        let filled = fields.iter().filter(|field| !field.trim().is_empty());
        filled.count()
    };
    filled(below) > filled(above)
        || filled(below) == below.len() && filled(above) == above.len() && are_distinct(below)
}

/// The type that distinguishes a column's values from a name: its own type or, for a text column, the type that all of
/// its values could have.
fn told_type(decision: &Decision) -> Option<&TypeGuess> {
    match &decision.column_type {
        TypeGuess::Text => decision.reads_as.as_ref(),
        own => Some(own),
    }
}

fn takes(facts: &ColumnFacts, column_type: &TypeGuess, field: &str) -> bool {
    // The candidates that accept all other values represent that type.
    let wants_number = matches!(
        column_type,
        TypeGuess::Integer | TypeGuess::BigInt | TypeGuess::Numeric { .. }
    );
    facts.candidates.iter().any(|candidate| {
        candidate.is_alive()
            && (candidate.guess.is_kind_of(column_type)
                || wants_number && candidate.guess == TypeGuess::Double)
            && candidate.takes(field.as_bytes())
    })
}

/// The look of the first record over columns of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderLook {
    /// Names, all different. A name is missing only over a column that no row leaves empty.
    Names,
    /// Only some fields are names: others are missing, numbers, or equal.
    Mixed,
    /// A row.
    Row,
}

impl HeaderLook {
    fn of(fields: &[String], columns: &[ColumnFacts], rows: u64) -> HeaderLook {
        let named = fields.iter().filter(|field| !field.trim().is_empty());
        let named: Vec<&String> = named.collect();
        let is_heading = |field: &&&String| is_name(field) || is_number(field);
        let names = named.iter().filter(|field| is_name(field)).count();
        if names == 0 || !named.iter().all(|field| is_heading(&field)) {
            return HeaderLook::Row;
        }
        let end = fields
            .iter()
            .rposition(|field| !field.trim().is_empty())
            .map_or(0, |at| at + 1);
        let has_all_values = |facts: &ColumnFacts| rows > 1 && facts.values == rows;
        let may_lack = |(field, facts): (&String, &ColumnFacts)| {
            !field.trim().is_empty() || has_all_values(facts)
        };
        let are_clear = fields[..end].iter().zip(columns).all(may_lack)
            && names == named.len()
            && are_distinct(&named)
            // A record with one text and otherwise empty fields is a row or a title.
            && (names > 1 || fields.len() <= 2);
        match are_clear {
            true => HeaderLook::Names,
            false => HeaderLook::Mixed,
        }
    }
}

/// True if a field is a number like a year or a month: only digits.
fn is_number(field: &str) -> bool {
    let text = field.trim();
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// True if a field can be the name of a column in some destination: it begins with a letter or `_`, and is not longer
/// than the limit for names in a package.
pub(super) fn is_name(field: &str) -> bool {
    let text = field.trim().trim_start_matches('#');
    text.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && text.len() <= NAME_BYTES_MAX
        && !text.contains(['\n', '\r', '@'])
        && !text.contains("://")
}

pub(super) fn are_distinct<T: Ord>(fields: &[T]) -> bool {
    let mut sorted: Vec<&T> = fields.iter().collect();
    sorted.sort();
    sorted.dedup();
    sorted.len() == fields.len()
}

/// True if all fields look like identifiers: no blanks, no sentences.
fn are_identifiers(fields: &[String]) -> bool {
    fields.iter().all(|field| {
        field
            .trim()
            .trim_start_matches('#')
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    })
}
