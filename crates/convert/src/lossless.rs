//! Rejects numbers whose written form would be lost: leading zeros and a plus sign, which matter in codes but are not
//! part of a number; and in columns of whole numbers a point or an exponent, because `1.000` may mean a thousand.
//!
//! The kernels refuse numbers whose value would change (fractions, overflow), and
//! [`ExactFloat`](super::exact_float::ExactFloat) refuses numbers that a float would change. This module is about texts
//! that are equal as numbers but may be codes. It runs after the kernel, so columns without the check cost nothing.

use inrush_rows::column::{Column, ColumnType};
use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::fields::Fields;
use super::kernel::{Fault, trim};

/// Finds numbers that would lose part of their written form.
pub(super) struct Lossless {
    /// True if the column has only whole numbers, and its type reads other forms that equal a whole number.
    is_whole: bool,
}

impl Lossless {
    /// The check for a column, if it has one.
    pub fn of(column: &Column) -> Option<Lossless> {
        let is_whole = matches!(
            column.column_type,
            ColumnType::Decimal { scale: 0, .. }
                | ColumnType::DecimalText {
                    limit: Some((_, 0))
                }
        );
        column.policies.lossless.then_some(Lossless { is_whole })
    }

    /// The check of a number before it is rounded, because rounding removes its plus and its leading zeros. A point is
    /// allowed, because the column asks for rounding.
    pub fn before_rounding(column: &Column) -> Option<Lossless> {
        let is_whole = false;
        column.policies.lossless.then_some(Lossless { is_whole })
    }

    /// Notes the fields of a column that would lose a part.
    pub fn check(&self, fields: &Fields<'_>, faults: &mut Vec<Fault>) {
        for row in 0..fields.spans.len() {
            let Some(field) = fields.field(row) else {
                continue;
            };
            // Nearly all numbers have this form.
            let is_clear = matches!(
                field,
                [b'1'..=b'9', ..] | [b'-', b'1'..=b'9', ..] | [b'0'] | [b'0', b'.', ..]
            );
            if is_clear && !(self.is_whole && (field.contains(&b'.') || has_exponent(field))) {
                continue;
            }
            if let Some(error) = self.loss(field) {
                faults.push(Fault { row, error });
            }
        }
    }

    /// What a number would lose; `None` if nothing.
    #[cold]
    pub fn loss(&self, field: &[u8]) -> Option<ValueError> {
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
        if self.is_whole && (exponent.is_some() || mantissa.contains(&b'.')) {
            return Some(lost(
                "it has a point or an exponent, but the column holds whole numbers; if the point \
                 separates thousands, declare group_separator = \".\"; if the value is a code, make the \
                 column text",
            ));
        }
        // Programs that print exponents may print a plus, too.
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
        None
    }
}

fn has_exponent(field: &[u8]) -> bool {
    field.iter().any(|byte| matches!(byte, b'e' | b'E'))
}

fn lost(what: &str) -> ValueError {
    ValueError::new(
        RejectCode::FormLost,
        format!("{what}, or set lossless = false for it, to load the number without the rest"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_lost(text: &str) -> bool {
        let lossless = Lossless { is_whole: false };
        lossless.loss(text.as_bytes()).is_some()
    }

    #[test]
    fn whole_numbers_have_no_point() {
        let lossless = Lossless { is_whole: true };
        for (text, expected) in [
            ("1.000", true),
            ("12E30", true),
            ("-1.", true),
            ("1000", false),
            ("-1000", false),
        ] {
            assert_eq!(lossless.loss(text.as_bytes()).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn codes_are_told_from_numbers() {
        for text in [
            "007", "00", "-07", " 007", "+5", "+0", "00.5", "+1.5", "+.5",
        ] {
            assert!(is_lost(text), "{text}");
        }
        for text in [
            "0", "7", "-7", "-0", "0.5", ".5", " 10 ", "1.10", "+", "NaN", "", "0e5",
        ] {
            assert!(!is_lost(text), "{text}");
        }
    }

    #[test]
    fn a_column_that_does_not_ask_is_not_looked_at() {
        assert!(Lossless::of(&Column::new("n", ColumnType::Int32, 0)).is_none());
    }
}
