//! The value of an interval, and the sum of amounts that it is read from.

use inrush_rows::interval::{INFINITY, MINUS_INFINITY};

use super::error::ValueError;

/// Days of a month, and microseconds of a day, for splitting fractions as PostgreSQL does.
const MONTH_DAYS: i128 = 30;
const DAY_MICROSECONDS: i128 = 86_400_000_000;

/// An interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IntervalValue {
    pub months: i32,
    pub days: i32,
    pub microseconds: i64,
}

impl IntervalValue {
    /// The value of these months, days and microseconds.
    pub const fn new((months, days, microseconds): (i32, i32, i64)) -> IntervalValue {
        IntervalValue {
            months,
            days,
            microseconds,
        }
    }

    /// True if it means an infinity in a database with infinite intervals.
    pub fn is_infinite(self) -> bool {
        self == IntervalValue::new(INFINITY) || self == IntervalValue::new(MINUS_INFINITY)
    }
}

/// The size of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Months(i32),
    Days(i32),
    Microseconds(i64),
}

/// A number of units, as it is written: `whole + numerator / denominator`, all of one sign.
#[derive(Clone, Copy, Debug)]
pub(super) struct Amount {
    pub whole: i128,
    pub numerator: i128,
    /// A power of ten up to 10^9: a finer fraction of any unit is not a whole number of microseconds.
    pub denominator: i128,
}

/// The sum of the amounts so far.
#[derive(Default)]
pub(super) struct Sum {
    pub months: i128,
    pub days: i128,
    pub microseconds: i128,
}

impl Sum {
    /// Adds an amount of a unit. A fraction is added to smaller units if nothing is lost.
    pub fn add(&mut self, amount: Amount, unit: Unit) -> Result<(), ValueError> {
        let Amount {
            whole,
            numerator,
            denominator,
        } = amount;
        let scaled = whole * denominator + numerator;
        match unit {
            Unit::Months(months) => {
                let total = scaled * i128::from(months);
                self.months += total / denominator;
                let rest = total % denominator;
                if rest == 0 {
                    return Ok(());
                }
                if months != 1 {
                    return Err(ValueError::fraction_lost(
                        "the fraction of a year is not a whole number of months; PostgreSQL \
                         would round it: write years and months",
                    ));
                }
                self.add_days(rest * MONTH_DAYS, denominator)
            }
            Unit::Days(days) => self.add_days(scaled * i128::from(days), denominator),
            Unit::Microseconds(microseconds) => {
                self.add_microseconds(scaled * i128::from(microseconds), denominator)
            }
        }
    }

    fn add_days(&mut self, total: i128, denominator: i128) -> Result<(), ValueError> {
        self.days += total / denominator;
        self.add_microseconds(total % denominator * DAY_MICROSECONDS, denominator)
    }

    fn add_microseconds(&mut self, total: i128, denominator: i128) -> Result<(), ValueError> {
        if total % denominator != 0 {
            return Err(too_fine());
        }
        self.microseconds += total / denominator;
        Ok(())
    }

    /// The interval, if the sum fits.
    pub fn value(&self) -> Result<IntervalValue, ValueError> {
        let past = |what: &str| {
            ValueError::out_of_range(format!("outside the range of interval: too many {what}"))
        };
        Ok(IntervalValue {
            months: i32::try_from(self.months).map_err(|_| past("years or months"))?,
            days: i32::try_from(self.days).map_err(|_| past("days"))?,
            microseconds: i64::try_from(self.microseconds)
                .map_err(|_| past("hours, minutes or seconds"))?,
        })
    }
}

/// The error for a fraction below a microsecond.
pub(super) fn too_fine() -> ValueError {
    ValueError::fraction_lost(
        "the value is not a whole number of microseconds, and no type is finer: round it",
    )
}
