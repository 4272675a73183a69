//! The shape of a column's numbers: digits before and after the point, leading zeros, exponents, and the numbers that
//! can be read in two ways. The converters decide whether a value is a number at all.
//!
//! **A dot before exactly three digits** (`1.500`, `12.750`) is a decimal point to one writer and separates thousands
//! to another; the two readings differ by a factor of a thousand. Only values of the same column settle it: one of them
//! must have
//!
//! - a dot before one, two, four or more digits, or before no digit: `1.5`, `2.25`, `0.1234`;
//! - more than three digits before the dot, or no digit, or a zero: `1234.500`, `.500`, `0.500`;
//! - a dot and an exponent: `1.234e5`, or an exponent with a sign: `1e-05`.
//!
//! Then the dot is a decimal point in all of them. Without such a value the column is text, and a note gives the
//! reason. Numbers without a dot settle nothing (`1500` beside `1.500` is odd in both readings). Other columns settle
//! nothing either: one file may have coordinates from one program and amounts from another.
//!
//! **An exponent without a point or a sign** (`12E45`, `1e5`) is a number to one reader and a code to another. It is a
//! number if the column has a clear decimal point or a clear exponent; otherwise the column is text, and a note says
//! so. The words `NaN`, `inf` and `infinity` are numbers under the same condition.
//!
//! Rows that are not in the sample are safe, too: a column that is guessed to be integer rejects every dot and
//! exponent, and a column that is guessed to be numeric or double precision has a value that settles how its dots are
//! read.

use super::sentence_parts::FilePlace;
use super::sentence_parts::shortened;

/// A value, and the place where it was first seen.
pub(super) type FirstSeen = Option<(String, FilePlace)>;

/// The shape of the numbers of a column.
#[derive(Default)]
pub(super) struct NumberFacts {
    /// A value with a zero before its first digit.
    pub leading_zero: FirstSeen,
    /// A value with a plus before it.
    pub plus: FirstSeen,
    /// A value with an exponent.
    pub exponent: FirstSeen,
    /// A value with a comma, where other programs write a point.
    pub comma: FirstSeen,
    /// A value whose dot may be a decimal point or separate thousands.
    pub unclear_dot: FirstSeen,
    /// A value with several dots that separate thousands.
    pub dot_groups: FirstSeen,
    /// A value with other separators of thousands: blanks, apostrophes, underscores.
    pub other_groups: FirstSeen,
    /// True if a value shows that the dot is a decimal point.
    pub is_point_clear: bool,
    /// True if a value shows that exponents are exponents, not parts of codes.
    pub is_exponent_clear: bool,
    /// True if any value has a point.
    pub has_point: bool,
    /// The number of values that consist of digits and at most signs, points, commas and an exponent.
    pub number_like: u64,
    /// Of the values that `number_like` counts, the number of those that have no dot, or a dot before every group of
    /// three digits.
    pub dot_grouped: u64,
    /// The number of values with other separators of thousands; `number_like` does not include them.
    pub other_grouped: u64,
    /// The most digits before the point.
    pub integer_digits_max: usize,
    /// The most digits after the point.
    pub fraction_digits_max: usize,
    /// The fewest digits after the point.
    pub fraction_digits_min: Option<usize>,
    /// The smallest of the values that are whole numbers; `None` if there is none.
    pub smallest: Option<i128>,
    /// The largest of the values that are whole numbers; `None` if there is none.
    pub largest: Option<i128>,
}

impl NumberFacts {
    /// True if the values show that they are numbers with a fraction, as programs print them.
    pub fn are_clear_decimals(&self) -> bool {
        self.is_point_clear || self.is_exponent_clear
    }

    /// Adds a value.
    pub fn add(&mut self, value: &[u8], place: impl Fn() -> FilePlace) {
        let text = value.trim_ascii();
        let digits = match text {
            [b'-' | b'+', rest @ ..] => rest,
            text => text,
        };
        let Some(first) = digits.first() else { return };
        if !first.is_ascii_digit() && !matches!(first, b'.' | b',') {
            return;
        }
        let note = |slot: &mut FirstSeen| {
            if slot.is_none() {
                *slot = Some((shortened(value), place()));
            }
        };
        let (mantissa, exponent) = match digits.iter().position(|byte| matches!(byte, b'e' | b'E'))
        {
            Some(at) => (&digits[..at], Some(&digits[at + 1..])),
            None => (digits, None),
        };
        let is_number = mantissa
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
            && mantissa.iter().any(u8::is_ascii_digit);
        if !is_number {
            if is_grouped_otherwise(digits) {
                self.other_grouped += 1;
                note(&mut self.other_groups);
            }
            return;
        }
        self.number_like += 1;
        if let Some(exponent) = exponent {
            note(&mut self.exponent);
            let has_sign = matches!(exponent.first(), Some(b'-' | b'+'));
            self.is_exponent_clear |= has_sign || mantissa.contains(&b'.');
        }
        if mantissa.contains(&b',') {
            note(&mut self.comma);
        }
        let (integer, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
            Some(at) => {
                self.has_point = true;
                (&mantissa[..at], &mantissa[at + 1..])
            }
            None => (mantissa, &mantissa[..0]),
        };
        let has_dot = integer.len() < mantissa.len();
        let is_dot_grouped = exponent.is_none() && has_dot && is_grouped(mantissa, b".");
        self.dot_grouped += u64::from(is_dot_grouped || !has_dot);
        if is_dot_grouped {
            note(match fraction.contains(&b'.') {
                true => &mut self.dot_groups,
                false => &mut self.unclear_dot,
            });
        }
        self.is_point_clear |= has_dot && !is_dot_grouped;
        if integer.len() > 1 && integer[0] == b'0' && integer[1].is_ascii_digit() {
            note(&mut self.leading_zero);
        }
        if text.starts_with(b"+") && exponent.is_none() {
            note(&mut self.plus);
        }
        self.integer_digits_max = self.integer_digits_max.max(integer.len());
        self.fraction_digits_max = self.fraction_digits_max.max(fraction.len());
        let least = self.fraction_digits_min.get_or_insert(fraction.len());
        *least = (*least).min(fraction.len());
        let whole = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<i128>().ok());
        if let Some(whole) = whole {
            self.smallest = Some(self.smallest.map_or(whole, |known| known.min(whole)));
            self.largest = Some(self.largest.map_or(whole, |known| known.max(whole)));
        }
    }
}

/// True if the separator divides the digits into groups of three; the first group has one to three digits and no
/// leading zero.
fn is_grouped(mut digits: &[u8], separator: &[u8]) -> bool {
    let lead = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if !(1..=3).contains(&lead) || digits[0] == b'0' {
        return false;
    }
    digits = &digits[lead..];
    if digits.is_empty() {
        return false;
    }
    while let Some(rest) = digits.strip_prefix(separator) {
        match rest {
            [a, b, c, after @ ..] if [a, b, c].iter().all(|byte| byte.is_ascii_digit()) => {
                digits = after;
            }
            _ => return false,
        }
    }
    digits.is_empty()
}

/// Separators of thousands other than dots and commas: blanks (no-break spaces, too), apostrophes, underscores.
const OTHER_SEPARATORS: [&str; 7] = [" ", "'", "_", "\u{a0}", "\u{202f}", "\u{2009}", "\u{2019}"];

/// True if thousands are separated by one of [`OTHER_SEPARATORS`]; a fraction may follow.
fn is_grouped_otherwise(digits: &[u8]) -> bool {
    let lead = digits
        .iter()
        .take(4)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let rest = &digits[lead..];
    OTHER_SEPARATORS
        .iter()
        .map(|separator| separator.as_bytes())
        .filter(|separator| rest.starts_with(separator))
        .any(|separator| {
            let end = digits.iter().rposition(|byte| matches!(byte, b'.' | b','));
            let (whole, fraction) = digits.split_at(end.unwrap_or(digits.len()));
            is_grouped(whole, separator) && fraction.iter().skip(1).all(u8::is_ascii_digit)
        })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn facts(values: &[&str]) -> NumberFacts {
        let mut facts = NumberFacts::default();
        for value in values {
            facts.add(value.as_bytes(), || FilePlace {
                file: Path::new("").into(),
                line: None,
                byte_offset: 0,
            });
        }
        facts
    }

    #[test]
    fn a_dot_is_a_decimal_point_where_no_thousands_are_written_so() {
        for clear in [
            "1.5",
            "1.25",
            "1.2345",
            "1.",
            "0.500",
            "-0.500",
            ".500",
            "1234.500",
            "-1234.500",
            "1.234e5",
            "1.5E3",
        ] {
            assert!(facts(&["1.500", clear]).are_clear_decimals(), "{clear}");
        }
        for unclear in [
            "1.500",
            "-1.500",
            "12.750",
            "999.000",
            "1.234.567",
            "1500",
            "5",
            "-7",
            "1e5",
            "12E45",
            "1 500",
            "x",
            "2024-01-31",
        ] {
            assert!(
                !facts(&["1.500", unclear]).are_clear_decimals(),
                "{unclear}"
            );
        }
    }

    #[test]
    fn separators_of_thousands_are_seen() {
        for (value, is_grouped) in [
            ("1 500", true),
            ("1'500'000.25", true),
            ("1\u{a0}500,5", true),
            ("12\u{202f}345", true),
            ("-1\u{2019}500", true),
            ("1_000", true),
            ("1 50", false),
            ("1234 567", false),
            ("0 500", false),
            ("1 500x", false),
            ("1 500 kg", false),
            ("2024-01-31", false),
            ("1 ", false),
        ] {
            let seen = facts(&[value]);
            assert_eq!(seen.other_grouped == 1, is_grouped, "{value}");
        }
        assert!(facts(&["1.234.567"]).dot_groups.is_some());
        assert!(facts(&["10.0.0.1"]).dot_groups.is_none());
    }
}
