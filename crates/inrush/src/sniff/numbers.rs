//! The shape of a column's numbers: digits before and after the point, leading zeros, exponents.
//! Whether they are numbers at all the converters say.

use super::place::Place;
use super::words::shortened;

/// The shape of the numbers of a column.
#[derive(Default)]
pub(super) struct NumberFacts {
    /// A value with a zero before its first digit.
    pub leading_zero: Option<(String, Place)>,
    /// A value with a plus before it.
    pub plus: Option<(String, Place)>,
    /// A value with an exponent.
    pub exponent: Option<(String, Place)>,
    /// A value with a comma where others have a point.
    pub comma: Option<(String, Place)>,
    /// Any value has a point.
    pub has_point: bool,
    /// Values that are digits with signs, points, commas or an exponent at most.
    pub number_like: u64,
    /// Digits before the point at most.
    pub integer_digits_max: usize,
    /// Digits after the point at most and at least.
    pub fraction_digits_max: usize,
    pub fraction_digits_min: Option<usize>,
    /// The smallest and the largest, where they are whole numbers.
    pub smallest: Option<i128>,
    pub largest: Option<i128>,
}

impl NumberFacts {
    /// Takes a value in.
    pub fn add(&mut self, value: &[u8], place: impl Fn() -> Place) {
        let text = value.trim_ascii();
        let digits = match text {
            [b'-' | b'+', rest @ ..] => rest,
            text => text,
        };
        let Some(first) = digits.first() else { return };
        if !first.is_ascii_digit() && !matches!(first, b'.' | b',') {
            return;
        }
        let (mantissa, exponent) = match digits.iter().position(|byte| matches!(byte, b'e' | b'E'))
        {
            Some(at) => (&digits[..at], true),
            None => (digits, false),
        };
        let is_number = mantissa
            .iter()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
            && mantissa.iter().any(u8::is_ascii_digit);
        if !is_number {
            return;
        }
        self.number_like += 1;
        let note = |slot: &mut Option<(String, Place)>| {
            if slot.is_none() {
                *slot = Some((shortened(value), place()));
            }
        };
        if exponent {
            note(&mut self.exponent);
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
        if integer.len() > 1 && integer[0] == b'0' && integer[1].is_ascii_digit() {
            note(&mut self.leading_zero);
        }
        if text.starts_with(b"+") && !exponent {
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
