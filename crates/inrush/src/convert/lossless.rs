//! Numbers of which a part of what is written would be lost: zeros and a plus before them, which
//! codes have and numbers do not keep.
//!
//! What is lost by value (fractions, overflow) the kernels refuse themselves, and numbers that a float
//! changes [`ExactFloat`](super::exact_float::ExactFloat) does; this is about texts that are equal as
//! numbers and are no numbers. It is looked for behind the kernel, so columns that do not ask for it
//! pay nothing.

use super::error::ValueError;
use super::fields::Fields;
use super::kernel::{Fault, trim};
use crate::column::Column;
use crate::reject::RejectCode;

/// Looks for numbers of which a part would be lost.
pub(super) struct Lossless;

impl Lossless {
    /// What a column asks for, if it does.
    pub fn of(column: &Column) -> Option<Lossless> {
        column.policies.lossless.then_some(Lossless)
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
            if is_clear {
                continue;
            }
            if let Some(error) = loss(field) {
                faults.push(Fault { row, error });
            }
        }
    }
}

/// What a number would lose, if anything.
#[cold]
fn loss(field: &[u8]) -> Option<ValueError> {
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
    None
}

fn lost(what: &str) -> ValueError {
    ValueError::new(
        RejectCode::FormLost,
        format!(
            "{what}, or set lossless = false for it, which takes the number and drops the rest"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::ColumnType;

    fn is_lost(text: &str) -> bool {
        loss(text.as_bytes()).is_some()
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
