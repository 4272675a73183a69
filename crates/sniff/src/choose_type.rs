//! Chooses the type of one column from its facts, and gives the reasons in words.

use inrush_rows::plural::counted;

use super::candidates::{Candidate, Refusal};
use super::dates::other_order;
use super::facts::ColumnFacts;
use super::kinds::TypeGuess;

/// The precision of decimals, unless their digits need more: a wider one costs nothing.
const PRECISION_USUAL: usize = 15;

/// The number of digits before the point that are allowed in addition to the digits that were seen.
const PRECISION_SPARE: usize = 4;

/// The most digits of a decimal of 128 bits.
const PRECISION_MAX: usize = 38;

/// If decimals have more digits than this after the point, and not all have the same number of them, they are
/// floating-point numbers that a program printed.
const FRACTION_DIGITS_FLOAT: usize = 12;

/// The largest integer in sampled rows for which `integer` is guessed: half of the range is left for rows that were not
/// sampled.
const INTEGER_SAMPLED_MAX: i128 = 1 << 30;

/// The type of a column, and the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub column_type: TypeGuess,
    pub seen: String,
    pub why: String,
    pub unsure: Vec<String>,
    /// The type that all values of a text column would have without the words for a missing value. It helps to find the
    /// header.
    pub reads_as: Option<TypeGuess>,
}

/// Decides the type of a column.
pub(super) fn decide(facts: &ColumnFacts, rows: u64, is_everything: bool) -> Decision {
    let mut decision = reasons(facts, is_everything);
    decision.seen = seen(facts, &decision.column_type, rows);
    decision
}

/// The type, and why.
fn reasons(facts: &ColumnFacts, is_everything: bool) -> Decision {
    let mut decision = Decision {
        column_type: TypeGuess::Text,
        seen: String::new(),
        why: String::new(),
        unsure: Vec::new(),
        reads_as: None,
    };
    if facts.values == 0 {
        nothing_seen(facts, is_everything, &mut decision);
        return decision;
    }
    let alive: Vec<&Candidate> = facts
        .candidates
        .iter()
        .filter(|candidate| candidate.is_alive())
        .collect();
    // A column that has only words such as NaN is not a column of numbers.
    let is_sure = |guess: &TypeGuess| *guess != TypeGuess::Double || facts.numbers.number_like > 0;
    decision.reads_as = alive
        .first()
        .map(|first| first.guess.clone())
        .filter(is_sure);
    let found = choose(facts, &alive, is_everything, &mut decision);
    match found {
        None => explain_text(facts, &mut decision),
        Some(found) => match refused_word(facts, &found) {
            None => {
                decision.column_type = found;
                explain_type(facts, &mut decision);
            }
            Some((word, count, place)) => {
                let shown = match word {
                    "" => "an empty text".to_owned(),
                    word => format!("`{word}`"),
                };
                decision.why = format!(
                    "Text, because {shown} is in {} (first: {place}); all other values are {}.",
                    counted(count, "row"),
                    found.sql()
                );
                decision.unsure.push(format!(
                    "text, because {shown} is in {} (first: {place}) and all other values are {}: \
                     if it means NULL, set `null` in the format and change the type",
                    counted(count, "row"),
                    found.sql()
                ));
            }
        },
    }
    decision
}

/// The type of all values, except words for a missing value.
fn choose(
    facts: &ColumnFacts,
    alive: &[&Candidate],
    is_everything: bool,
    decision: &mut Decision,
) -> Option<TypeGuess> {
    let numbers = &facts.numbers;
    let first = alive.first()?;
    match &first.guess {
        TypeGuess::BigInt | TypeGuess::Double => {
            if numbers.number_like == 0 {
                return None;
            }
            // Leading zeros and plus signs would be lost: they belong to codes, not numbers.
            if let Some((value, place)) = &numbers.leading_zero {
                decision.why = format!(
                    "Text, because `{value}` ({place}) begins with a zero, which a number would lose."
                );
                return None;
            }
            if let Some((value, place)) = &numbers.plus {
                decision.why = format!(
                    "Text, because `{value}` ({place}) begins with a plus, which a number would lose."
                );
                return None;
            }
            if first.guess == TypeGuess::Double && is_unclear(facts, decision) {
                return None;
            }
            number(facts, &first.guess, is_everything, decision)
        }
        TypeGuess::Date { format: Some(_) }
        | TypeGuess::Timestamp { format: Some(_) }
        | TypeGuess::TimestampTz { format: Some(_) } => formatted(alive, decision),
        TypeGuess::Boolean { spelling } => Some(TypeGuess::Boolean {
            spelling: facts.spelling.unwrap_or(*spelling),
        }),
        guess => Some(guess.clone()),
    }
}

/// True if the values can be read both as numbers and as something else, by the rule at the head of
/// [`super::numbers`]. The column is then text, and a note says so.
fn is_unclear(facts: &ColumnFacts, decision: &mut Decision) -> bool {
    let numbers = &facts.numbers;
    if numbers.are_clear_decimals() {
        return false;
    }
    if let Some((value, place)) = &numbers.exponent {
        decision.why = format!(
            "Text, because `{value}` ({place}) may be a code with an E in it, or a number with an \
             exponent, and no value has a decimal point or an exponent with a sign."
        );
        decision.unsure.push(format!(
            "text, because `{value}` ({place}) may be a code with an E in it, or a number with an \
             exponent: if it is a number, change the type to double precision"
        ));
        return true;
    }
    if numbers.number_like < facts.values {
        decision.why =
            "Text, because NaN or an infinity is among whole numbers, where it may be a word."
                .into();
        decision.unsure.push(
            "text, because NaN or an infinity is among whole numbers, where it may be a word: if \
             it is a number, change the type to double precision"
                .to_owned(),
        );
        return true;
    }
    if let Some((value, place)) = &numbers.unclear_dot {
        let precision = (numbers.integer_digits_max + 3 + PRECISION_SPARE).max(PRECISION_USUAL);
        decision.why = format!(
            "Text, because the dot of `{value}` ({place}) may be a decimal point or separate \
             thousands, and no other value decides it."
        );
        decision.unsure.push(format!(
            "text, because every dot is before exactly three digits (`{value}`, {place}): if it is \
             a decimal point, change the type to numeric({precision},3); if it separates \
             thousands, set group_separator = \".\" for the column and change the type to bigint"
        ));
        return true;
    }
    false
}

/// The number of decimal digits that every double preserves.
const DOUBLE_DIGITS: usize = 15;

/// The most digits with which programs print a double.
const FLOAT_PRINTED_DIGITS: usize = 17;

fn number(
    facts: &ColumnFacts,
    guess: &TypeGuess,
    is_everything: bool,
    decision: &mut Decision,
) -> Option<TypeGuess> {
    let numbers = &facts.numbers;
    if *guess == TypeGuess::BigInt {
        let magnitude = [numbers.smallest, numbers.largest]
            .into_iter()
            .flatten()
            .map(|value| if value < 0 { -(value + 1) } else { value })
            .max()
            .unwrap_or(0);
        let integer_max = match is_everything {
            true => i128::from(i32::MAX),
            false => INTEGER_SAMPLED_MAX,
        };
        return Some(match magnitude <= integer_max {
            true => TypeGuess::Integer,
            false => TypeGuess::BigInt,
        });
    }
    let digits = numbers.integer_digits_max + numbers.fraction_digits_max;
    if let Some((value, place)) = &numbers.exponent {
        if digits > DOUBLE_DIGITS {
            decision.why = format!(
                "Text, because `{value}` ({place}) has an exponent, and others have up to {digits} \
                 digits, which double precision would not keep; numeric without limits would."
            );
            return None;
        }
        decision.why = format!("Double precision, because `{value}` ({place}) has an exponent.");
        return Some(TypeGuess::Double);
    }
    if numbers.number_like < facts.values && digits > DOUBLE_DIGITS {
        decision.why = format!(
            "Text, because NaN or an infinity is among numbers of up to {digits} digits, which \
             double precision would not keep; numeric without limits would."
        );
        return None;
    }
    if numbers.number_like < facts.values {
        decision.why = "Double precision, because NaN or an infinity is among the numbers.".into();
        return Some(TypeGuess::Double);
    }
    let scale = numbers.fraction_digits_max;
    let varies = numbers.fraction_digits_min != Some(scale);
    if scale > FRACTION_DIGITS_FLOAT && varies && digits <= FLOAT_PRINTED_DIGITS {
        decision.why = format!(
            "Double precision, because the numbers have up to {} after the point, as programs \
             print floating point; numeric would keep them all.",
            inrush_rows::plural::counted(scale as u64, "digit")
        );
        return Some(TypeGuess::Double);
    }
    let seen = numbers.integer_digits_max + scale;
    if seen > PRECISION_MAX {
        decision.why = format!(
            "Text, because the numbers have up to {seen} digits; numeric without limits would keep \
             them, too."
        );
        return None;
    }
    let precision = (seen + PRECISION_SPARE).clamp(PRECISION_USUAL, PRECISION_MAX);
    decision.why = match scale {
        0 => format!(
            "Numeric, because numbers of {} digits are outside the range of bigint.",
            numbers.integer_digits_max
        ),
        scale => format!(
            "Numbers have up to {} before the point and {scale} after it; a number with more after \
             it is a reject.",
            inrush_rows::plural::counted(numbers.integer_digits_max as u64, "digit")
        ),
    };
    if varies && scale > 0 && !is_everything {
        decision.unsure.push(format!(
            "numbers have {} to {} after the point in the sample; numeric({precision},{scale}) \
             would reject a number with more",
            numbers.fraction_digits_min.unwrap_or(0),
            inrush_rows::plural::counted(scale as u64, "digit")
        ));
    }
    Some(TypeGuess::Numeric {
        // Both are 38 at most.
        precision: precision as u8,
        scale: scale as u8,
    })
}

/// The type with the date format that all values have. If two formats are possible that differ only in the order of day
/// and month, the column is text.
fn formatted(alive: &[&Candidate], decision: &mut Decision) -> Option<TypeGuess> {
    let first = alive.first()?;
    let format = first.guess.format()?;
    let other = other_order(format);
    let is_ambiguous = alive
        .iter()
        .any(|candidate| candidate.guess.format().map(str::to_owned) == other && other.is_some());
    if is_ambiguous {
        let other = other.unwrap_or_default();
        decision.why = format!(
            "Text, because the values can be read as dates in two ways, {format} and {other}: no day past \
             12 was seen."
        );
        decision.unsure.push(format!(
            "dates in which no value shows the order of day and month; the column is text until \
             you declare the order: format = \"{format}\" or \"{other}\" with the type {}",
            first.guess.sql()
        ));
        return None;
    }
    Some(first.guess.clone())
}

/// A word for a missing value (such as `n/a`) that the type does not accept; `None` if there is none.
fn refused_word<'a>(
    facts: &'a ColumnFacts,
    found: &TypeGuess,
) -> Option<(&'a str, u64, &'a super::sentence_parts::FilePlace)> {
    let probe = facts
        .candidates
        .iter()
        .find(|candidate| candidate.is_alive() && is_of(&candidate.guess, found))?;
    facts
        .words
        .iter()
        .filter(|(word, _)| !probe.takes(word.as_bytes()))
        .max_by_key(|(_, (count, _))| *count)
        .map(|(word, (count, place))| (word.as_str(), *count, place))
}

/// True if the type comes from this candidate.
fn is_of(candidate: &TypeGuess, found: &TypeGuess) -> bool {
    match found {
        TypeGuess::Integer => *candidate == TypeGuess::BigInt,
        TypeGuess::Numeric { .. } => *candidate == TypeGuess::Double,
        TypeGuess::Boolean { .. } => matches!(candidate, TypeGuess::Boolean { .. }),
        found => candidate == found,
    }
}

fn nothing_seen(facts: &ColumnFacts, is_everything: bool, decision: &mut Decision) {
    let only_words: Vec<&str> = facts
        .words
        .keys()
        .map(String::as_str)
        .filter(|word| !word.is_empty())
        .collect();
    let what = match only_words.as_slice() {
        [] => "no value was seen".to_owned(),
        words => format!("nothing but {} was seen", words.join(", ")),
    };
    decision.why = format!("Text, because {what}.");
    let more = match is_everything {
        true => "; give it the type that it should have",
        false => "; `inrush init --all` looks at every row",
    };
    decision.unsure.push(format!("text, because {what}{more}"));
}

fn explain_type(facts: &ColumnFacts, decision: &mut Decision) {
    if let Some(format) = decision.column_type.format() {
        let refused = other_order(format).and_then(|other| {
            facts
                .candidates
                .iter()
                .find(|candidate| candidate.guess.format() == Some(other.as_str()))
                .and_then(|candidate| candidate.refused.as_ref())
        });
        if let Some(refused) = refused {
            decision.why = format!(
                "{format}, because `{}` ({}) is a date only in this order.",
                refused.value, refused.place
            );
        }
    }
    if facts.are_eight_digit_dates && decision.column_type == TypeGuess::Integer {
        decision.why =
            "All of them read as dates (YYYYMMDD): `date` would take them as they are.".to_owned();
        decision.unsure.push(
            "whole numbers of eight digits that all read as dates (YYYYMMDD); if they are dates, \
             change the type to date"
                .to_owned(),
        );
    }
    let is_zero_or_one = |value: &String| value == "0" || value == "1";
    if decision.column_type == TypeGuess::Integer
        && facts.distinct.len() == 2
        && facts.distinct.iter().all(is_zero_or_one)
    {
        decision.why = "Only 0 and 1 were seen: `boolean` would also take them.".to_owned();
    }
    if matches!(decision.column_type, TypeGuess::Integer | TypeGuess::BigInt)
        && facts.quoted == facts.values
        && decision.why.is_empty()
    {
        decision.why =
            "All of them are in quotes: if they are codes and not numbers, make the column text."
                .to_owned();
    }
}

/// True if commas separate groups of three digits, and a point or another comma shows that they are not decimal commas.
fn are_commas_of_thousands(value: &str) -> bool {
    let (whole, fraction) = match value.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (value, None),
    };
    let groups: Vec<&str> = whole.split(',').skip(1).collect();
    groups.iter().all(|group| group.len() == 3)
        && !fraction.is_some_and(|fraction| fraction.contains(','))
        && (groups.len() > 1 || !groups.is_empty() && fraction.is_some())
}

/// True if a number has one comma, and it could separate thousands because exactly three digits follow: `1,234`.
fn may_be_thousands(value: &str) -> bool {
    value
        .trim()
        .trim_start_matches(['-', '+'])
        .split_once(',')
        .is_some_and(|(whole, fraction)| {
            let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
            (1..=3).contains(&whole.len())
                && !whole.starts_with('0')
                && fraction.len() == 3
                && is_digits(whole)
                && is_digits(fraction)
        })
}

/// The note about pairs of numbers that would be times if their minutes had two digits.
fn explain_ratios(facts: &ColumnFacts, decision: &mut Decision) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_pair = |value: &str| {
        let parts: Vec<&str> = value.trim().split(':').collect();
        parts.len() == 2 && parts.into_iter().all(is_number)
    };
    let has_one_digit =
        |value: &&String| value.trim().len() - value.trim().rfind(':').unwrap_or(0) == 2;
    let Some(ratio) = facts.distinct.iter().find(has_one_digit) else {
        return false;
    };
    if !facts.distinct.iter().all(|value| is_pair(value)) {
        return false;
    }
    let ratio = super::sentence_parts::shortened(ratio.as_bytes());
    decision.why = format!(
        "Text, because `{ratio}` may be a ratio or a score: the minutes of a time have two digits."
    );
    decision.unsure.push(format!(
        "text, because values such as `{ratio}` may be ratios or scores: if they are times, change the type to time"
    ));
    true
}

/// Why a column is text although nearly all values are of another type.
fn explain_text(facts: &ColumnFacts, decision: &mut Decision) {
    if !decision.why.is_empty() {
        return;
    }
    let numbers = &facts.numbers;
    if let Some((value, place)) = &numbers.comma
        && numbers.number_like == facts.values
    {
        if are_commas_of_thousands(value) {
            decision.why =
                format!("Text, because commas separate the thousands of `{value}` ({place}).");
            decision.unsure.push(format!(
                "text, because its numbers have commas (`{value}`, {place}), which separate \
                 thousands: to load numbers, set group_separator = \",\" for the column and change \
                 the type to numeric"
            ));
            return;
        }
        decision.why = format!(
            "Text, because `{value}` ({place}) is a number with a comma, of decimals or of thousands."
        );
        let decimals = "if the comma is the decimal separator, set decimal_separator = \",\" for the column \
                        and change the type to numeric";
        let thousands = match may_be_thousands(value) {
            true => {
                "; if it separates thousands, set group_separator = \",\" for the column and change the type to \
                 bigint"
            }
            false => "",
        };
        decision.unsure.push(format!(
            "text, because its numbers have commas (`{value}`, {place}): {decimals}{thousands}"
        ));
        return;
    }
    if explain_groups(facts, decision) || explain_ratios(facts, decision) {
        return;
    }
    if let Some((day_first, month_first)) = mixed_orders(facts) {
        decision.why = format!(
            "Text, because `{}` ({}) has the day first and `{}` ({}) the month.",
            month_first.value, month_first.place, day_first.value, day_first.place
        );
        decision.unsure.push(format!(
            "text, because its dates are written in two orders: `{}` ({}) and `{}` ({})",
            month_first.value, month_first.place, day_first.value, day_first.place
        ));
        return;
    }
    // The type that holds for the most values from the beginning, if it holds for at least the first value.
    let nearest = facts
        .candidates
        .iter()
        .filter_map(|candidate| Some((candidate, candidate.refused.as_ref()?)))
        .filter(|(candidate, _)| candidate.takes(facts.first_value().as_bytes()))
        .filter(|(candidate, _)| !matches!(candidate.guess, TypeGuess::Boolean { .. }))
        // Among equals, the narrower type, which is listed first.
        .rev()
        .max_by_key(|(_, refused)| refused.nth);
    if let Some((candidate, refused)) = nearest {
        decision.why = format!(
            "Text, because `{}` ({}) is no {}, although the values before it are.",
            refused.value,
            refused.place,
            candidate.guess.sql()
        );
        decision.unsure.push(format!(
            "text, because `{}` ({}) is no {}, and {} before it {}",
            refused.value,
            refused.place,
            candidate.guess.sql(),
            counted(refused.nth, "value"),
            if refused.nth == 1 { "is" } else { "are" }
        ));
    }
}

/// The note about numbers whose thousands are separated by something other than a comma.
fn explain_groups(facts: &ColumnFacts, decision: &mut Decision) -> bool {
    let numbers = &facts.numbers;
    let seen = match (&numbers.other_groups, &numbers.dot_groups) {
        (Some(seen), _) if numbers.number_like + numbers.other_grouped == facts.values => seen,
        (None, Some(seen)) if numbers.dot_grouped == facts.values => seen,
        _ => return false,
    };
    let (value, place) = seen;
    decision.why = format!(
        "Text, because `{value}` ({place}) is a number with separators between its digits."
    );
    decision.unsure.push(format!(
        "text, because its numbers have separators between their digits (`{value}`, {place}): if \
         they separate thousands, set group_separator for the column and make it numeric"
    ));
    true
}

/// A value that excludes one order of day and month, and a value that excludes the other order.
fn mixed_orders(facts: &ColumnFacts) -> Option<(Refusal, Refusal)> {
    let refused = |candidate: &Candidate| candidate.refused.clone();
    facts
        .candidates
        .iter()
        .filter(|candidate| {
            candidate
                .guess
                .format()
                .is_some_and(|format| format.starts_with("%d"))
        })
        .find_map(|day_first| {
            let other = other_order(day_first.guess.format()?)?;
            let month_first = facts
                .candidates
                .iter()
                .find(|candidate| candidate.guess.format() == Some(other.as_str()))?;
            let (first, second) = (refused(day_first)?, refused(month_first)?);
            // Each value is a date in the other order.
            (month_first.takes(first.value.as_bytes()) && day_first.takes(second.value.as_bytes()))
                .then_some((first, second))
        })
}

/// The observations about a column, in one line.
fn seen(facts: &ColumnFacts, column_type: &TypeGuess, rows: u64) -> String {
    let rows = counted(rows, "row");
    let mut parts = Vec::new();
    let nulls = match (facts.nulls, &facts.first_null) {
        (0, _) => format!("no NULL in {rows}"),
        (nulls, Some(place)) => format!("{nulls} NULL in {rows}, the first in {place}"),
        (nulls, None) => format!("{nulls} NULL in {rows}"),
    };
    parts.push(nulls);
    let numbers = &facts.numbers;
    if let (Some(smallest), Some(largest)) = (numbers.smallest, numbers.largest)
        && *column_type != TypeGuess::Text
        && numbers.number_like == facts.values
        && !numbers.has_point
    {
        parts.push(format!("{smallest} to {largest}"));
    } else if !facts.distinct.is_empty() {
        let examples: Vec<String> = facts
            .distinct
            .iter()
            .take(3)
            .map(|value| format!("`{}`", super::sentence_parts::shortened(value.as_bytes())))
            .collect();
        parts.push(format!("such as {}", examples.join(", ")));
        if let Some((characters, _)) = &facts.longest {
            parts.push(format!("{characters} characters at most"));
        }
    }
    parts.join("; ")
}
