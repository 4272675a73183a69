//! Exact sums of whole and decimal numbers, without rounding or overflow.

use std::collections::BTreeMap;
use std::fmt;

/// The number of digits that always fits an `i64`; texts are cut into pieces of this length.
const CHUNK_DIGITS: usize = 18;

/// A sum, kept as a count for each power of ten. Carries are resolved only when the sum is written.
#[derive(Clone, Debug, Default)]
pub struct ExactSum(BTreeMap<i32, i128>);

impl ExactSum {
    /// Adds a whole number.
    pub fn add(&mut self, number: i128) {
        self.add_at(0, number);
    }

    /// Adds `number` times ten to the power of `exponent`.
    pub fn add_at(&mut self, exponent: i32, number: i128) {
        if number != 0 {
            *self.0.entry(exponent).or_default() += number;
        }
    }

    /// Adds another sum.
    pub fn add_sum(&mut self, other: &ExactSum) {
        for (exponent, number) in &other.0 {
            self.add_at(*exponent, *number);
        }
    }

    /// Adds a number in the form `-?digits[.digits]`. Returns false if the text has another form.
    pub fn add_text(&mut self, text: &str) -> bool {
        let (negative, unsigned) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if unsigned.is_empty() || unsigned == "." || !is_digits(whole) || !is_digits(fraction) {
            return false;
        }
        let mut add = |exponent: i32, digits: &[u8]| {
            let number = digits.iter().fold(0_i128, |number, digit| {
                number * 10 + i128::from(digit - b'0')
            });
            self.add_at(exponent, if negative { -number } else { number });
        };
        for (index, chunk) in whole.as_bytes().rchunks(CHUNK_DIGITS).enumerate() {
            add((index * CHUNK_DIGITS) as i32, chunk);
        }
        for (index, chunk) in fraction.as_bytes().chunks(CHUNK_DIGITS).enumerate() {
            let last_place = index * CHUNK_DIGITS + chunk.len();
            add(-(last_place as i32), chunk);
        }
        true
    }

    /// The digits of the sum times `sign`, the lowest first; `None` if that is below zero.
    fn digits(&self, lowest: i32, sign: i128) -> Option<Vec<u8>> {
        // The largest number of 128 bits has 39 digits.
        let highest = self.0.keys().next_back().copied().unwrap_or(0).max(0);
        let mut places = vec![0_i64; (highest - lowest) as usize + 40];
        for (exponent, number) in &self.0 {
            let sign = sign * number.signum();
            let mut rest = number.unsigned_abs();
            let mut place = (exponent - lowest) as usize;
            while rest > 0 {
                places[place] += sign as i64 * (rest % 10) as i64;
                rest /= 10;
                place += 1;
            }
        }
        let mut carry = 0;
        let mut digits = Vec::with_capacity(places.len() + 2);
        for place in places {
            let value = place + carry;
            digits.push(value.rem_euclid(10) as u8);
            carry = value.div_euclid(10);
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
        (carry == 0).then_some(digits)
    }
}

/// In plain decimal digits, without superfluous zeros: equal sums have equal texts.
impl fmt::Display for ExactSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lowest = self.0.keys().next().copied().unwrap_or(0).min(0);
        let (sign, digits) = match self.digits(lowest, 1) {
            Some(digits) => ("", digits),
            None => ("-", self.digits(lowest, -1).unwrap_or_default()),
        };
        let point = (-lowest) as usize;
        let (fraction, whole) = digits.split_at(point);
        let letter = |digit: &u8| char::from(b'0' + digit);
        let whole: String = whole.iter().rev().map(letter).collect();
        let whole = whole.trim_start_matches('0');
        let fraction: String = fraction.iter().rev().map(letter).collect();
        let fraction = fraction.trim_end_matches('0');
        f.write_str(sign)?;
        f.write_str(if whole.is_empty() { "0" } else { whole })?;
        match fraction {
            "" => Ok(()),
            fraction => write!(f, ".{fraction}"),
        }
    }
}

impl PartialEq for ExactSum {
    fn eq(&self, other: &ExactSum) -> bool {
        self.to_string() == other.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum(texts: &[&str]) -> String {
        let mut sum = ExactSum::default();
        for text in texts {
            assert!(sum.add_text(text), "{text}");
        }
        sum.to_string()
    }

    macro_rules! sums_to {
        ($($name:ident: $texts:expr => $sum:expr;)*) => {$(
            #[test]
            fn $name() {
                assert_eq!(sum(&$texts), $sum);
            }
        )*};
    }

    sums_to! {
        nothing: [] => "0";
        zeros_are_one: ["-0", "0.00", "000"] => "0";
        fractions_lose_their_zeros: ["1.50", "2.50"] => "4";
        below_zero: ["1.25", "-3.5"] => "-2.25";
        carried_over_the_point: ["0.999999999999999999999", "0.000000000000000000001"] => "1";
        borrowed_from_far: ["100000000000000000000000000000000000000000", "-0.1"]
            => "99999999999999999999999999999999999999999.9";
        long_ones: ["123456789012345678901234567890.5", "1"]
            => "123456789012345678901234567891.5";
        sides_may_be_missing: [".5", "5."] => "5.5";
    }

    #[test]
    fn what_is_no_number_is_said_so() {
        for text in ["", ".", "-", "1e5", "NaN", "1.2.3", " 1"] {
            assert!(!ExactSum::default().add_text(text), "{text:?}");
        }
    }

    #[test]
    fn many_of_the_largest_do_not_overflow() {
        let mut sum = ExactSum::default();
        for _ in 0..1000 {
            sum.add_text(&"9".repeat(38));
        }
        // 1000 times (10^38 - 1) is 10^41 - 1000.
        assert_eq!(sum.to_string(), format!("{}000", "9".repeat(38)));
    }

    proptest! {
        #[test]
        fn sums_of_integers_are_those_of_128_bits(numbers in prop::collection::vec(any::<i64>(), 0..50)) {
            let mut by_text = ExactSum::default();
            let mut by_number = ExactSum::default();
            for number in &numbers {
                by_text.add_text(&number.to_string());
                by_number.add(i128::from(*number));
            }
            let whole: i128 = numbers.iter().map(|number| i128::from(*number)).sum();
            prop_assert_eq!(by_text.to_string(), whole.to_string());
            prop_assert_eq!(by_number, by_text);
        }

        #[test]
        fn what_is_written_is_read_again(numbers in prop::collection::vec((any::<i64>(), -30..30_i32), 0..20)) {
            let mut sum = ExactSum::default();
            for (number, exponent) in &numbers {
                sum.add_at(*exponent, i128::from(*number));
            }
            let mut again = ExactSum::default();
            prop_assert!(again.add_text(&sum.to_string()));
            prop_assert_eq!(again.to_string(), sum.to_string());
        }
    }
}
