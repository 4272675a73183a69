//! The types that a column's values are tried against, by the load's own converters.
//!
//! A converter accepts more than a guess should: `1` is a boolean to it, 32 hex digits are a UUID, a date is a
//! timestamp of midnight. So each candidate also has a shape that its values must have. The shape may only refuse
//! values that the converter accepts, never the other way round.

use inrush_convert::{Probe, Values};

use super::dates;
use super::kinds::{BooleanSpelling, TypeGuess};
use super::mapping;
use super::sentence_parts::FilePlace;
use super::sentence_parts::shortened;

/// A type that a column may have.
pub(super) struct Candidate {
    pub guess: TypeGuess,
    /// The first value that it does not take.
    pub refused: Option<Refusal>,
    /// Values that it took.
    taken: u64,
    probe: Probe,
}

/// A value that a type does not take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub value: String,
    pub reason: String,
    pub place: FilePlace,
    /// Values before it, all of which it took.
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
            // Takes every decimal too; the number of their digits is counted separately.
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

    /// True if it took all values so far.
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

    /// True if it takes a single value.
    pub fn takes(&self, value: &[u8]) -> bool {
        let mut values = Values::default();
        values.push(value);
        has_shape(&self.guess, value) && self.probe.faults(&mut values).is_empty()
    }
}

/// True if minutes and seconds are written with two digits. A ratio or a score (`16:9`, `4:3`) is not, but the
/// converter would take it for a time.
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
