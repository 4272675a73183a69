//! Numbers of which a part of what is written would be lost: zeros and a plus before them, which
//! codes have and numbers do not keep, and digits past those that a float holds.
//!
//! What is lost by value (fractions, overflow) the kernels refuse themselves; this is about texts
//! that are equal as numbers and are no numbers. It is looked for behind the kernel, so columns
//! that do not ask for it pay nothing.

use super::error::ValueError;
use super::fields::Fields;
use super::kernel::{Fault, trim};
use crate::column::{Column, ColumnType};
use crate::reject::RejectCode;

/// Looks for numbers of which a part would be lost.
pub(super) struct Lossless {
    /// Digits that a float keeps of every number that a program printed from one.
    digits_max: Option<usize>,
}

impl Lossless {
    /// What a column asks for, if it does.
    pub fn of(column: &Column) -> Option<Lossless> {
        let digits_max = match column.column_type {
            ColumnType::Float32 => Some(9),
            ColumnType::Float64 => Some(17),
            _ => None,
        };
        column.policies.lossless.then_some(Lossless { digits_max })
    }

    /// Notes the fields of a column that lose a part.
    pub fn check(&self, fields: &Fields<'_>, faults: &mut Vec<Fault>) {
        for row in 0..fields.spans.len() {
            let Some(field) = fields.field(row) else {
                continue;
            };
            // Nearly all numbers are written so.
            let is_clear = matches!(
                field,
                [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] | [b'0'] | [b'0', b'.', ..]
            );
            if is_clear && self.digits_max.is_none_or(|most| field.len() <= most) {
                continue;
            }
            if let Some(error) = self.loss(field) {
                faults.push(Fault { row, error });
            }
        }
    }

    /// What a number would lose, if anything.
    #[cold]
    fn loss(&self, field: &[u8]) -> Option<ValueError> {
        let text = trim(field);
        let (sign, number) = match text {
            [sign @ (b'-' | b'+'), rest @ ..] => (Some(*sign), rest),
            text => (None, text),
        };
        let exponent = number.iter().position(|byte| matches!(byte, b'e' | b'E'));
        let mantissa = &number[..exponent.unwrap_or(number.len())];
        if matches!(mantissa, [b'0', b'0'..=b'9', ..]) {
            return Some(lost(
                "it begins with a zero, which a number does not keep; likely a code (of a place, \
                 an article, an account): make the column text",
            ));
        }
        // Programs that print exponents may print every sign.
        if sign == Some(b'+')
            && exponent.is_none()
            && mantissa
                .first()
                .is_some_and(|first| matches!(first, b'0'..=b'9' | b'.'))
        {
            return Some(lost(
                "it begins with a plus, which a number does not keep; likely a code (a telephone \
                 number): make the column text",
            ));
        }
        let digits_max = self.digits_max?;
        let digits = significant_digits(mantissa);
        (digits > digits_max).then(|| {
            lost(&format!(
                "it has {digits} digits, and a float of this width keeps {digits_max} at most: make \
                 the column numeric"
            ))
        })
    }
}

fn lost(what: &str) -> ValueError {
    ValueError::new(
        RejectCode::FormLost,
        format!(
            "{what}, or set lossless = false for it, which takes the number and drops the rest"
        ),
    )
}

/// Digits from the first to the last that is not zero.
fn significant_digits(mantissa: &[u8]) -> usize {
    let digits: Vec<u8> = mantissa
        .iter()
        .copied()
        .filter(u8::is_ascii_digit)
        .collect();
    let is_own = |digit: &u8| *digit != b'0';
    match (
        digits.iter().position(is_own),
        digits.iter().rposition(is_own),
    ) {
        (Some(first), Some(last)) => last - first + 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_policy::ColumnPolicies;

    fn is_lost(column_type: ColumnType, text: &str) -> bool {
        let column = Column {
            policies: ColumnPolicies {
                lossless: true,
                ..ColumnPolicies::default()
            },
            ..Column::new("n", column_type, 0)
        };
        let lossless = Lossless::of(&column).expect("it asks for it");
        lossless.loss(text.as_bytes()).is_some()
    }

    #[test]
    fn codes_are_told_from_numbers() {
        let integer = ColumnType::Int32;
        for text in [
            "007", "00", "-07", " 007", "+5", "+0", "00.5", "+1.5", "+.5",
        ] {
            assert!(is_lost(integer.clone(), text), "{text}");
        }
        for text in [
            "0", "7", "-7", "-0", "0.5", ".5", " 10 ", "1.10", "+", "NaN", "", "0e5",
        ] {
            assert!(!is_lost(integer.clone(), text), "{text}");
        }
    }

    #[test]
    fn floats_keep_so_many_digits() {
        let long = "0.30000000000000004";
        assert!(!is_lost(ColumnType::Float64, long));
        assert!(is_lost(ColumnType::Float32, long));
        for text in [
            "123456789012345678",
            "1.23456789012345678e5",
            "-0.123456789012345678",
        ] {
            assert!(is_lost(ColumnType::Float64, text), "{text}");
        }
        for text in [
            "100000000000000000000",
            "1e300",
            "+1.5e+3",
            "-Infinity",
            "0.0000000000000000001",
        ] {
            assert!(!is_lost(ColumnType::Float64, text), "{text}");
        }
    }

    #[test]
    fn a_column_that_does_not_ask_is_not_looked_at() {
        assert!(Lossless::of(&Column::new("n", ColumnType::Int32, 0)).is_none());
    }
}
