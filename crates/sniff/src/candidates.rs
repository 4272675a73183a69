//! The types that are tried on a column's values, with the load's own converters.
//!
//! A converter accepts more than a guess should: it reads `1` as a boolean, 32 hex digits as a UUID, a date as a
//! timestamp at midnight. So each candidate also has a shape that its values must have. A shape only refuses values; a
//! value that the converter refuses is never accepted.

use inrush_convert::{Probe, Values};

use super::dates;
use super::kinds::{BooleanSpelling, TypeGuess};
use super::mapping;
use super::sentence_parts::FilePlace;
use super::sentence_parts::shortened;

/// A type that a column may have.
pub(super) struct Candidate {
    pub guess: TypeGuess,
    /// The first value that is not of this type.
    pub refused: Option<Refusal>,
    /// The number of values that are of this type.
    taken: u64,
    probe: Probe,
}

/// A value that is not of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub value: String,
    pub reason: String,
    pub place: FilePlace,
    /// The number of values before it, which are all of the type.
    pub nth: u64,
}

impl Candidate {
    fn new(guess: TypeGuess) -> Option<Candidate> {
        let probe = Probe::new(&mapping::column("value", &guess, 0)).ok()?;
        Some(Candidate {
            guess,
            refused: None,
            taken: 0,
            probe,
        })
    }

    /// All types that this value may have, in the order in which they are preferred.
    pub fn of(first: &[u8]) -> Vec<Candidate> {
        let usual = [
            TypeGuess::Boolean {
                spelling: BooleanSpelling::Both,
            },
            TypeGuess::BigInt,
            // Accepts every decimal, too; digits are counted separately.
            TypeGuess::Double,
            TypeGuess::Date { format: None },
            TypeGuess::TimestampTz { format: None },
            TypeGuess::Timestamp { format: None },
            TypeGuess::Time,
            TypeGuess::Uuid,
            TypeGuess::Json,
        ];
        usual
            .into_iter()
            .chain(dates::formats_of(first))
            .filter_map(Candidate::new)
            .collect()
    }

    /// True if all values so far are of this type.
    pub fn is_alive(&self) -> bool {
        self.refused.is_none()
    }

    /// Tries values; `place` returns the place of a value.
    pub fn try_values(&mut self, values: &mut Values, place: &dyn Fn(usize) -> FilePlace) {
        if !self.is_alive() {
            return;
        }
        let odd = (0..values.len()).find(|index| !has_shape(&self.guess, values.get(*index)));
        let fault = self
            .probe
            .faults(values)
            .into_iter()
            .min_by_key(|(index, _)| *index);
        let refused = match (odd, fault) {
            (Some(odd), fault) if fault.as_ref().is_none_or(|(index, _)| odd < *index) => {
                Some((odd, "it is not written as one".to_owned()))
            }
            (_, Some((index, error))) => Some((index, error.reason)),
            (_, None) => None,
        };
        self.refused = refused.map(|(index, reason)| Refusal {
            value: shortened(values.get(index)),
            reason,
            place: place(index),
            nth: self.taken + index as u64,
        });
        self.taken += values.len() as u64;
    }

    /// True if one value is of this type.
    pub fn takes(&self, value: &[u8]) -> bool {
        let mut values = Values::default();
        values.push(value);
        has_shape(&self.guess, value) && self.probe.faults(&mut values).is_empty()
    }
}

/// True if minutes and seconds are written with two digits. This excludes ratios and scores (`16:9`, `4:3`), which the
/// converter would accept as times.
fn have_two_digits(text: &[u8]) -> bool {
    let mut parts = text.split(|byte| *byte == b':').skip(1);
    parts.all(
        |part| matches!(part, [tens, ones, ..] if tens.is_ascii_digit() && ones.is_ascii_digit()),
    )
}

/// True if a value is written in the form that a guess requires.
fn has_shape(guess: &TypeGuess, value: &[u8]) -> bool {
    let text = value.trim_ascii();
    let has = |byte: u8| text.contains(&byte);
    match guess {
        TypeGuess::Boolean { .. } => [&b"t"[..], b"f", b"true", b"false"]
            .iter()
            .any(|word| word.eq_ignore_ascii_case(text)),
        TypeGuess::Date { format: None } => {
            text.len() >= 8 && has(b'-') && !has(b':') && text[0].is_ascii_digit()
        }
        TypeGuess::Time => has(b':') && have_two_digits(text),
        TypeGuess::Timestamp { format: None } | TypeGuess::TimestampTz { format: None } => {
            text.first().is_some_and(u8::is_ascii_digit)
                && (has(b'-') || has(b'T'))
                && have_two_digits(text)
        }
        TypeGuess::Uuid => has(b'-'),
        TypeGuess::Json => matches!(text.first(), Some(b'{' | b'[')),
        TypeGuess::BigInt
        | TypeGuess::Integer
        | TypeGuess::Double
        | TypeGuess::Numeric { .. }
        | TypeGuess::Told { .. }
        | TypeGuess::Date { .. }
        | TypeGuess::Timestamp { .. }
        | TypeGuess::TimestampTz { .. }
        | TypeGuess::Text => true,
    }
}
