//! Digits after the point of a second: how many a column keeps, and what happens to the others.

use std::cell::Cell;

use inrush_rows::column_policy::Rounding;

use super::date_time_range::fraction_lost;
use super::error::ValueError;

/// The digits of a column.
pub(super) struct SecondDigits {
    /// The number of kept digits, 0 to 6.
    pub kept: u8,
    rounding: Rounding,
    rounded_count: Cell<u64>,
}

impl SecondDigits {
    /// The rule for a column that does not round.
    pub fn exact(kept: u8) -> SecondDigits {
        SecondDigits::new(kept, Rounding::Reject)
    }

    pub fn new(kept: u8, rounding: Rounding) -> SecondDigits {
        SecondDigits {
            kept,
            rounding,
            rounded_count: Cell::new(0),
        }
    }

    /// Microseconds from the digits after the point of a second. Rounding up may give a whole second.
    pub fn microseconds(&self, digits: &[u8], second_is_odd: bool) -> Result<i64, ValueError> {
        let needed = digits
            .iter()
            .rposition(|digit| *digit != b'0')
            .map_or(0, |last| last + 1);
        let kept = usize::from(self.kept.min(6));
        let value = |count: usize| {
            (0..6).fold(0i64, |value, place| {
                let digit = digits[..count.min(digits.len())].get(place);
                value * 10 + digit.map_or(0, |digit| i64::from(digit - b'0'))
            })
        };
        if needed <= kept {
            return Ok(value(6));
        }
        if self.rounding == Rounding::Reject {
            return Err(fraction_lost(needed, self.kept));
        }
        self.rounded_count.set(self.rounded_count.get() + 1);
        let step = 10i64.pow(6 - kept as u32);
        let down = value(kept);
        let rest = match digits[kept].cmp(&b'5') {
            std::cmp::Ordering::Equal if needed > kept + 1 => std::cmp::Ordering::Greater,
            ordering => ordering,
        };
        // If no digit after the point is kept, the last kept digit is the last digit of the second itself.
        let is_odd = match kept {
            0 => second_is_odd,
            _ => (down / step) % 2 == 1,
        };
        let up = i64::from(self.rounding.goes_up(is_odd, rest));
        Ok(down + up * step)
    }

    /// The number of values that were rounded since the last call.
    pub fn take_rounded_count(&self) -> u64 {
        self.rounded_count.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_that_are_not_kept() {
        for (kept, digits, half_up, half_even, down) in [
            (6, "1234565", 123_457, 123_456, 123_456),
            (6, "1234575", 123_458, 123_458, 123_457),
            (6, "12345650", 123_457, 123_456, 123_456),
            (6, "12345651", 123_457, 123_457, 123_456),
            (6, "9999999", 1_000_000, 1_000_000, 999_999),
            (3, "1234", 123_000, 123_000, 123_000),
            (3, "1235", 124_000, 124_000, 123_000),
            (0, "5", 1_000_000, 0, 0),
            (0, "49999", 0, 0, 0),
        ] {
            for (rounding, expected) in [
                (Rounding::HalfUp, half_up),
                (Rounding::HalfEven, half_even),
                (Rounding::Down, down),
            ] {
                let seconds = SecondDigits::new(kept, rounding);
                assert_eq!(
                    seconds.microseconds(digits.as_bytes(), false),
                    Ok(expected),
                    "{digits}"
                );
                assert_eq!(seconds.take_rounded_count(), 1);
                assert_eq!(seconds.take_rounded_count(), 0);
            }
            assert!(
                SecondDigits::exact(kept)
                    .microseconds(digits.as_bytes(), false)
                    .is_err()
            );
        }
        let seconds = SecondDigits::new(3, Rounding::HalfUp);
        assert_eq!(seconds.microseconds(b"12", false), Ok(120_000));
        assert_eq!(seconds.microseconds(b"123000000", false), Ok(123_000));
        assert_eq!(seconds.take_rounded_count(), 0);
        let seconds = SecondDigits::new(0, Rounding::HalfEven);
        assert_eq!(seconds.microseconds(b"5", true), Ok(1_000_000));
    }
}
