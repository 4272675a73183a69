//! Whether the first record names the fields.

use super::decide::Decision;
use super::evidence::{Evidence, FirstRecord};
use super::facts::ColumnFacts;
use super::kinds::TypeGuess;

/// Whether there is a header, and how sure that is.
pub(super) struct HeaderGuess {
    pub has_header: bool,
    pub seen: String,
    pub unsure: Option<String>,
}

/// Tells a header from data. `evidence` and `decisions` leave the first record of each file out;
/// `usual` is what the files' names tell.
pub(super) fn guess(
    evidence: &Evidence,
    decisions: &[Decision],
    usual: Option<bool>,
) -> HeaderGuess {
    let Some(first) = evidence.first_records.first() else {
        return answer(false, "there is no record", None);
    };
    let are_names = are_names(&first.fields);
    if evidence.rows == 0 {
        return alone(evidence, first, are_names, usual);
    }
    // A text over a column of another type is its name; a value that fits is data.
    let (mut misfits, mut fits) = (0, 0);
    for ((field, facts), decision) in first.fields.iter().zip(&evidence.columns).zip(decisions) {
        if decision.column_type == TypeGuess::Text || field.is_empty() {
            continue;
        }
        match takes(facts, decision, field) {
            true => fits += 1,
            false => misfits += 1,
        }
    }
    if misfits > 0 && misfits >= fits && looks_named(&first.fields) {
        return answer(
            true,
            &format!(
                "the first record names the fields: it does not fit the types of {}",
                super::words::counted(misfits as u64, "column")
            ),
            None,
        );
    }
    if fits > 0 {
        let unsure = (misfits > 0).then(|| {
            format!(
                "the first record was taken for a row, though {misfits} of its fields do not fit \
                 their columns; header = true if it names the fields"
            )
        });
        return answer(
            false,
            "the first record is a row: it fits the types of the columns",
            unsure,
        );
    }
    // All columns are text from here on.
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
        .any(|(field, facts)| facts.distinct.contains(field));
    let may_be = are_names && !differ && !is_repeated;
    let has_header = may_be && (usual == Some(true) || are_identifiers(&first.fields));
    let shown: Vec<String> = first
        .fields
        .iter()
        .take(3)
        .map(|field| format!("`{}`", super::words::shortened(field.as_bytes())))
        .collect();
    let shown = shown.join(", ");
    match has_header {
        true => answer(
            true,
            "the first record looks like names",
            Some(format!(
                "all columns are text, so the first record ({shown}) was taken for a header by its \
                 look alone; header = false if it is a row"
            )),
        ),
        false if are_names && usual != Some(false) => answer(
            false,
            "the first record looks like a row",
            Some(format!(
                "all columns are text, and the first record ({shown}) was taken for a row; \
                 header = true if it names the fields"
            )),
        ),
        false => answer(false, "the first record looks like a row", None),
    }
}

/// One record is all there is.
fn alone(
    evidence: &Evidence,
    first: &FirstRecord,
    are_names: bool,
    usual: Option<bool>,
) -> HeaderGuess {
    let are_alike = evidence
        .first_records
        .iter()
        .all(|other| other.fields == first.fields);
    let has_header = are_names
        && are_alike
        && (usual == Some(true) || usual.is_none() && are_identifiers(&first.fields));
    let unsure = match has_header {
        true => "there is nothing but a header, so all columns are text until rows tell more",
        false => "there is a single record, and it was taken for a row",
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

fn takes(facts: &ColumnFacts, decision: &Decision, field: &str) -> bool {
    // The candidates that took all other values stand for the type that was made of them.
    let wants_number = matches!(
        decision.column_type,
        TypeGuess::Integer | TypeGuess::BigInt | TypeGuess::Numeric { .. }
    );
    facts.candidates.iter().any(|candidate| {
        candidate.is_alive()
            && (candidate.guess == decision.column_type
                || wants_number && candidate.guess == TypeGuess::Double)
            && candidate.takes(field.as_bytes())
    })
}

/// Whether every field that is there has a letter, as names have.
fn looks_named(fields: &[String]) -> bool {
    let named = fields
        .iter()
        .filter(|field| field.chars().any(char::is_alphabetic))
        .count();
    named * 2 >= fields.iter().filter(|field| !field.is_empty()).count() && named > 0
}

/// Whether all fields can be names: short, distinct, with a letter first.
fn are_names(fields: &[String]) -> bool {
    const CHARACTERS_MAX: usize = 63;
    let is_name = |field: &String| {
        let text = field.trim().trim_start_matches('#');
        text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().count() <= CHARACTERS_MAX
            && !text.contains(['\n', '\r', '@'])
            && !text.contains("://")
    };
    let mut sorted: Vec<&String> = fields.iter().collect();
    sorted.sort();
    sorted.dedup();
    sorted.len() == fields.len() && fields.iter().all(is_name)
}

/// Whether all fields are words as programs name things: no blanks, and no sentence.
fn are_identifiers(fields: &[String]) -> bool {
    fields.iter().all(|field| {
        field
            .trim()
            .trim_start_matches('#')
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
    })
}
