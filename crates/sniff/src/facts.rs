//! Facts about one column, collected from the samples.

use std::collections::BTreeMap;

use inrush_convert::Values;

use super::candidates::Candidate;
use super::dates::is_eight_digit_date;
use super::kinds::BooleanSpelling;
use super::numbers::NumberFacts;
use super::sentence_parts::FilePlace;
use super::sentence_parts::shortened;

/// Words that stand for a missing value in some files. They are not loaded as NULL, but a note names them.
const NULL_WORDS: [&str; 17] = [
    "", "\\N", "NULL", "null", "Null", "NA", "N/A", "n/a", "na", "#N/A", "None", "none", "nil",
    "-", "--", "?", "(null)",
];

/// True if a value is one of these words.
pub(super) fn is_null_word(value: &[u8]) -> bool {
    NULL_WORDS.iter().any(|word| word.as_bytes() == value)
}

/// How many distinct values are kept.
const DISTINCT_MAX: usize = 4;

/// The facts of one column.
#[derive(Default)]
pub(super) struct ColumnFacts {
    /// The number of values, without words for a missing value.
    pub values: u64,
    pub nulls: u64,
    pub first_null: Option<FilePlace>,
    /// Words that may stand for a missing value, with their number and the first place.
    pub words: BTreeMap<String, (u64, FilePlace)>,
    /// The types that are still possible; empty before the first value.
    pub candidates: Vec<Candidate>,
    pub numbers: NumberFacts,
    /// The spelling of the values if they are booleans.
    pub spelling: Option<BooleanSpelling>,
    /// The first few distinct values.
    pub distinct: Vec<String>,
    /// The length of the longest value in characters, and its beginning.
    pub longest: Option<(usize, String)>,
    /// True if all values are eight digits that can be read as a date.
    pub are_eight_digit_dates: bool,
    /// The number of values in quotes.
    pub quoted: u64,
}

impl ColumnFacts {
    /// The first value.
    pub fn first_value(&self) -> &str {
        self.distinct.first().map_or("", String::as_str)
    }

    /// Adds a NULL.
    pub fn add_null(&mut self, place: impl FnOnce() -> FilePlace) {
        self.nulls += 1;
        if self.first_null.is_none() {
            self.first_null = Some(place());
        }
    }

    /// Adds the value if it is a word for a missing value.
    pub fn add_word(&mut self, value: &[u8], place: impl FnOnce() -> FilePlace) -> bool {
        let Some(word) = NULL_WORDS.iter().find(|word| word.as_bytes() == value) else {
            return false;
        };
        self.words
            .entry((*word).to_owned())
            .or_insert_with(|| (0, place()))
            .0 += 1;
        true
    }

    /// Adds values; `place` returns the place of a value.
    pub fn add(&mut self, values: &mut Values, place: &dyn Fn(usize) -> FilePlace) {
        if values.is_empty() {
            return;
        }
        if self.values == 0 {
            self.candidates = Candidate::of(values.get(0));
            self.are_eight_digit_dates = true;
        }
        self.values += values.len() as u64;
        for candidate in &mut self.candidates {
            candidate.try_values(values, place);
        }
        for index in 0..values.len() {
            let value = values.get(index);
            self.numbers.add(value, || place(index));
            let spelling = BooleanSpelling::of(value);
            self.spelling = Some(self.spelling.map_or(spelling, |known| known.and(spelling)));
            self.are_eight_digit_dates &= is_eight_digit_date(value);
            let characters = value.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
            if self
                .longest
                .as_ref()
                .is_none_or(|longest| longest.0 < characters)
            {
                self.longest = Some((characters, shortened(value)));
            }
            if self.distinct.len() < DISTINCT_MAX
                && !self.distinct.iter().any(|known| known.as_bytes() == value)
            {
                self.distinct
                    .push(String::from_utf8_lossy(value).into_owned());
            }
        }
    }
}
