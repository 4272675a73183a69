//! Times in the steps of SQL Server's types.

use inrush_rows::calendar::DAY_MICROSECONDS;

use crate::limits::{DATE_DAYS_MIN, DATETIME_EPOCH_DAYS};

/// Microseconds of a minute.
const MINUTE_MICROSECONDS: i64 = 60_000_000;

/// The fraction of a second that `time(n)`, `datetime2(n)` and `datetimeoffset(n)` keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fraction {
    /// The bytes of a time of day: 3 for up to two digits, 4 for up to four, otherwise 5.
    pub(super) time_bytes: usize,
    /// The microseconds of a step; 1 if a step is less than a microsecond.
    pub(super) step_microseconds: u64,
    /// See [`ticks`](Self::ticks).
    shift: u32,
    factor: u64,
}

impl Fraction {
    /// The fraction of this number of digits, 0 to 7.
    pub(super) fn new(digits: u8) -> Fraction {
        let dropped = 6u32.saturating_sub(u32::from(digits));
        Fraction {
            time_bytes: match digits {
                0..=2 => 3,
                3..=4 => 4,
                _ => 5,
            },
            step_microseconds: 10u64.pow(dropped),
            shift: dropped,
            factor: match digits {
                7.. => 10,
                _ => inverse(5u64.pow(dropped)),
            },
        }
    }

    /// Converts microseconds to steps; they must be a whole number of steps. 10^n is 2^n times 5^n. Dividing by 2^n is
    /// a shift; dividing exactly by 5^n, which is odd, is a multiplication by its inverse modulo 2^64.
    #[inline(always)]
    pub(super) fn ticks(&self, microseconds: u64) -> u64 {
        (microseconds >> self.shift).wrapping_mul(self.factor)
    }

    /// True if a number of microseconds is whole steps.
    pub(super) fn is_whole(&self, microseconds: i64) -> bool {
        // A day is a whole number of steps of any size, so days before 1970 need no other check.
        microseconds.rem_euclid(self.step_microseconds as i64) == 0
    }
}

/// The inverse of an odd number modulo 2^64, by Newton's iteration: each step doubles the number of correct bits.
const fn inverse(odd: u64) -> u64 {
    let mut inverse = odd;
    let mut step = 0;
    while step < 5 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)));
        step += 1;
    }
    inverse
}

/// Converts days since 1970-01-01 to days since 0001-01-01.
#[inline(always)]
pub(super) fn days_of_date(days: i32) -> u32 {
    days.wrapping_sub(DATE_DAYS_MIN) as u32
}

/// Days since 0001-01-01, and microseconds since midnight.
#[inline(always)]
pub(super) fn split(microseconds: i64) -> (u32, u64) {
    // Moments before year 1 were refused, so the difference is not negative.
    let since_year_1 = microseconds.wrapping_sub(DATE_DAYS_MIN as i64 * DAY_MICROSECONDS) as u64;
    let days = since_year_1 / DAY_MICROSECONDS as u64;
    (days as u32, since_year_1 - days * DAY_MICROSECONDS as u64)
}

/// `datetime`: days since 1900-01-01, and steps of 1/300 s since midnight.
#[inline(always)]
pub(super) fn datetime(microseconds: i64) -> (i32, u32) {
    let (days, of_day) = split(microseconds);
    const EPOCH: i64 = DATETIME_EPOCH_DAYS - DATE_DAYS_MIN as i64;
    let milliseconds = (of_day / 1000) as u32;
    (
        (i64::from(days) - EPOCH) as i32,
        (milliseconds * 3 + 5) / 10,
    )
}

/// True if `datetime` shows these microseconds unchanged: its steps of 1/300 s are read as .000, .003 and .007.
pub(super) fn is_whole_datetime(microseconds: i64) -> bool {
    microseconds % 1000 == 0 && matches!((microseconds / 1000).rem_euclid(10), 0 | 3 | 7)
}

/// `smalldatetime`: days since 1900-01-01, and minutes since midnight.
#[inline(always)]
pub(super) fn smalldatetime(microseconds: i64) -> (u16, u16) {
    let minutes = microseconds.wrapping_sub(DATETIME_EPOCH_DAYS * DAY_MICROSECONDS) as u64
        / MINUTE_MICROSECONDS as u64;
    ((minutes / 1440) as u16, (minutes % 1440) as u16)
}

/// True if these are whole minutes.
pub(super) fn is_whole_smalldatetime(microseconds: i64) -> bool {
    microseconds % MINUTE_MICROSECONDS == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_steps_are_counted_exactly() {
        for digits in 0..=7 {
            let fraction = Fraction::new(digits);
            let step = fraction.step_microseconds;
            let last = DAY_MICROSECONDS as u64 / step - 1;
            for count in [0, 1, 2, 3, 999, last / 3, last / 2, last - 1, last] {
                let expected = if digits == 7 { count * 10 } else { count };
                assert_eq!(fraction.ticks(count * step), expected, "{digits}: {count}");
            }
            let bits = 8 * fraction.time_bytes;
            assert!(fraction.ticks(last * step) < 1 << bits, "{digits}");
        }
    }

    #[test]
    fn the_ends_of_days() {
        assert_eq!(split(0), (719_162, 0));
        assert_eq!(split(-1), (719_161, DAY_MICROSECONDS as u64 - 1));
        assert_eq!(split(crate::limits::DATETIME2_MIN), (0, 0));
        assert_eq!(datetime(crate::limits::DATETIME_MIN), (-53_690, 0));
        assert_eq!(
            datetime(crate::limits::DATETIME_MAX),
            (2_958_463, 25_919_999)
        );
        assert_eq!(smalldatetime(crate::limits::SMALLDATETIME_MIN), (0, 0));
        assert_eq!(
            smalldatetime(crate::limits::SMALLDATETIME_MAX),
            (65_535, 1_439)
        );
    }
}
