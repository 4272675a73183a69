//! Numbers that a float would change although it is told them exactly: of files of typed rows, whose
//! integers, decimals and wider floats are what they say, and not texts that somebody rounded before.
//!
//! A number is kept if the float, or the shortest text that means this float, is the same number.

use super::error::ValueError;
use super::fields::Fields;
use super::kernel::Fault;
use crate::column::{Column, ColumnType};
use crate::reject::RejectCode;

/// Looks for numbers that a column of floats would change.
pub(super) struct ExactFloat {
    is_single: bool,
    /// Digits that it keeps of every number.
    digits_kept: usize,
}

impl ExactFloat {
    /// What a column asks for, if it does.
    pub fn of(column: &Column) -> Option<ExactFloat> {
        let (is_single, digits_kept) = match column.column_type {
            ColumnType::Float32 => (true, f32::DIGITS as usize),
            ColumnType::Float64 => (false, f64::DIGITS as usize),
            _ => return None,
        };
        column.policies.exact.then_some(ExactFloat {
            is_single,
            digits_kept,
        })
    }

    /// Notes the fields of a column that would become another number.
    pub fn check(&self, fields: &Fields<'_>, faults: &mut Vec<Fault>) {
        for row in 0..fields.spans.len() {
            let Some(field) = fields.field(row) else {
                continue;
            };
            let is_short = field.len() <= self.digits_kept && !field.contains(&b'e');
            if !is_short && !self.keeps(field) {
                let error = ValueError::new(
                    RejectCode::FormLost,
                    "a float of this width would make another number of it: make the column numeric, \
                     or a wider float",
                );
                faults.push(Fault { row, error });
            }
        }
    }

    /// Whether the float is the same number. What is no number is told elsewhere.
    fn keeps(&self, field: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(field) else {
            return true;
        };
        let parsed = match self.is_single {
            true => text
                .parse()
                .map(|value: f32| (f64::from(value), format!("{value:e}"))),
            false => text.parse().map(|value: f64| (value, format!("{value:e}"))),
        };
        let Ok((value, shortest)) = parsed else {
            return true;
        };
        let is_same_whole = || {
            text.parse::<i128>()
                .is_ok_and(|whole| whole == value as i128)
        };
        !value.is_finite() || decimal(text) == decimal(&shortest) || is_same_whole()
    }
}

/// The digits of a number without zeros at its ends, and the place of its point in them; its sign is the
/// same whatever is made of it.
fn decimal(text: &str) -> (String, i64) {
    let text = text.trim_start_matches(['-', '+']);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(0)),
        None => (text, 0_i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let own = digits.trim_matches('0').to_owned();
    match own.is_empty() {
        true => (own, 0),
        false => (own, whole.len() as i64 - leading as i64 + exponent),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn keeps(is_single: bool, text: &str) -> bool {
        let digits_kept = if is_single { 6 } else { 15 };
        ExactFloat {
            is_single,
            digits_kept,
        }
        .keeps(text.as_bytes())
    }

    #[test]
    fn numbers_are_kept_or_told() {
        for (is_single, text, expected) in [
            (false, "9007199254740992", true),
            (false, "9007199254740993", false),
            (false, "-9223372036854775808", true),
            (false, "9223372036854775807", false),
            (false, "123456789.123456789", false),
            (false, "0.30000000000000004", true),
            (false, "1000000000000000000000", true),
            (false, "NaN", true),
            (false, "not a number", true),
            (true, "16777216", true),
            (true, "16777217", false),
            (true, "0.1", true),
            (true, "0.10000000149011612", false),
            (true, "0.123456789012", false),
            (true, "-0.0000000", true),
            (true, "2e-45", false),
            (false, "1152921504606846976", true),
        ] {
            assert_eq!(keeps(is_single, text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn integers_are_kept_where_their_text_comes_back(value: i64) {
            let text = value.to_string();
            let float = value as f64;
            let is_kept = float as i128 == i128::from(value) || float.to_string() == text;
            prop_assert_eq!(keeps(false, &text), is_kept);
        }

        #[test]
        fn doubles_are_kept_by_doubles(value: f64) {
            let text = format!("{value:?}");
            prop_assert!(keeps(false, &text));
        }
    }
}
