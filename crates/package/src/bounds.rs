//! Bounds at equal steps: the setting `every`.

use super::error::PackageFaultKind;
use super::{BoundValue, BoundsEvery};

/// The width of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundsStep {
    /// Steps of an integer key.
    Integer(i64),
    /// Steps of a timestamp, in hours.
    Hours(u32),
    /// Steps of a date or timestamp, in days; a week is 7 days.
    Days(u32),
    /// Steps of a date or timestamp, in months; a year is 12 months.
    Months(u32),
}

impl BoundsEvery {
    /// The width of a partition.
    pub fn step(&self) -> Result<BoundsStep, PackageFaultKind> {
        let refused = |value: &str, cause: &str| {
            PackageFaultKind::value(
                "bounds.every",
                value,
                cause,
                "write a whole number for integer keys, and \"N hours\", \"N days\", \
                 \"N weeks\", \"N months\" or \"N years\" for dates and timestamps",
            )
        };
        match &self.every {
            BoundValue::Integer(width) if *width > 0 => Ok(BoundsStep::Integer(*width)),
            BoundValue::Integer(width) => {
                Err(refused(&width.to_string(), "a step must be greater than 0"))
            }
            BoundValue::Text(text) => {
                let mut words = text.split_whitespace();
                let (Some(count), Some(unit), None) = (words.next(), words.next(), words.next())
                else {
                    return Err(refused(
                        text,
                        "the value is not a number and a unit of time",
                    ));
                };
                let count: u32 = count
                    .parse()
                    .map_err(|_| refused(text, "it does not begin with a whole number"))?;
                let (step, factor): (fn(u32) -> BoundsStep, u32) =
                    match unit.to_lowercase().as_str() {
                        "hour" | "hours" => (BoundsStep::Hours, 1),
                        "day" | "days" => (BoundsStep::Days, 1),
                        "week" | "weeks" => (BoundsStep::Days, 7),
                        "month" | "months" => (BoundsStep::Months, 1),
                        "year" | "years" => (BoundsStep::Months, 12),
                        _ => return Err(refused(text, "it does not end with a unit of time")),
                    };
                match count.checked_mul(factor) {
                    Some(0) => Err(refused(text, "a step must be greater than 0")),
                    Some(count) => Ok(step(count)),
                    None => Err(refused(text, "it is longer than any calendar")),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str) -> Result<BoundsStep, PackageFaultKind> {
        BoundsEvery {
            every: BoundValue::Text(text.to_owned()),
        }
        .step()
    }

    #[test]
    fn steps_are_read() {
        for (text, expected) in [
            ("1 month", BoundsStep::Months(1)),
            ("2 years", BoundsStep::Months(24)),
            (" 3  Weeks ", BoundsStep::Days(21)),
            ("10 days", BoundsStep::Days(10)),
            ("6 hours", BoundsStep::Hours(6)),
        ] {
            assert_eq!(step(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in [
            "",
            "month",
            "1",
            "0 days",
            "-1 days",
            "1.5 days",
            "1 fortnight",
            "1 day 2",
            "4294967295 years",
        ] {
            assert!(step(text).is_err(), "{text}");
        }
        for width in [0, -1] {
            assert!(
                BoundsEvery {
                    every: BoundValue::Integer(width)
                }
                .step()
                .is_err()
            );
        }
    }
}
