//! `numeric` from decimal text of any length.

use super::numeric::{
    Layout, SIGN_INFINITY, SIGN_MINUS_INFINITY, SIGN_NAN, SIGN_NEGATIVE, SIGN_POSITIVE,
};
use crate::error::ValueFault;
use crate::limits::{NUMERIC_DIGITS_AFTER_POINT_MAX, NUMERIC_DIGITS_BEFORE_POINT_MAX};

/// The number of digits that always fit an `i64`.
const SHORT_DIGITS_MAX: usize = 18;

/// The layouts of all scales that a short number can have.
static LAYOUTS: [Layout; SHORT_DIGITS_MAX + 1] = {
    let mut layouts = [Layout::new(0); SHORT_DIGITS_MAX + 1];
    let mut scale = 0;
    while scale <= SHORT_DIGITS_MAX {
        layouts[scale] = Layout::new(scale as u8);
        scale += 1;
    }
    layouts
};

/// A decimal number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DecimalText<'a> {
    /// So few digits that it is written as a scaled integer.
    Short {
        /// The digits, the point left out.
        value: i64,
        /// Digits after the point.
        scale: usize,
    },
    /// Any number of digits.
    Long {
        /// True if it has a minus sign.
        negative: bool,
        /// The digits before the point, without leading zeros.
        before_point: &'a [u8],
        /// The digits after the point.
        after_point: &'a [u8],
    },
    /// A value of `numeric` that is not a number, with this sign.
    Special(u16),
}

/// The layout of short numbers of this scale.
pub(super) fn short_layout(scale: usize) -> &'static Layout {
    &LAYOUTS[scale]
}

/// Reads `-?digits[.digits]`. A plus sign is accepted, and so is a missing part on one side of the point; `NaN`,
/// `Infinity` and `-Infinity` are read as the server writes them.
pub(super) fn parse(text: &[u8]) -> Result<DecimalText<'_>, ValueFault> {
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let count = digit_count(unsigned);
    let before_point = &unsigned[..count];
    let after_point = match &unsigned[count..] {
        [] => &[][..],
        [b'.', rest @ ..] if digit_count(rest) == rest.len() => rest,
        _ => return special(text),
    };
    if before_point.is_empty() && after_point.is_empty() {
        return special(text);
    }
    let zeros = before_point
        .iter()
        .take_while(|&&digit| digit == b'0')
        .count();
    let before_point = &before_point[zeros..];
    if before_point.len() + after_point.len() <= SHORT_DIGITS_MAX {
        let magnitude = before_point
            .iter()
            .chain(after_point)
            .fold(0, |value, digit| value * 10 + i64::from(digit - b'0'));
        return Ok(DecimalText::Short {
            value: if negative { -magnitude } else { magnitude },
            scale: after_point.len(),
        });
    }
    if before_point.len() > NUMERIC_DIGITS_BEFORE_POINT_MAX
        || after_point.len() > NUMERIC_DIGITS_AFTER_POINT_MAX
    {
        return Err(ValueFault::NumericTooLong {
            digits_before_point: before_point.len(),
            digits_after_point: after_point.len(),
        });
    }
    Ok(DecimalText::Long {
        negative,
        before_point,
        after_point,
    })
}

fn digit_count(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cold]
fn special(text: &[u8]) -> Result<DecimalText<'_>, ValueFault> {
    match text {
        b"NaN" => Ok(DecimalText::Special(SIGN_NAN)),
        b"Infinity" => Ok(DecimalText::Special(SIGN_INFINITY)),
        b"-Infinity" => Ok(DecimalText::Special(SIGN_MINUS_INFINITY)),
        _ => Err(ValueFault::NumericSyntax {
            value: String::from_utf8_lossy(text).chars().take(200).collect(),
        }),
    }
}

/// Appends a number of any length, without the length word.
pub(super) fn append_long(
    negative: bool,
    before_point: &[u8],
    after_point: &[u8],
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let digits_start = out.len();
    // The digits are aligned at the point: the first group before it may be short, and the
    // last one after it is filled up with zeros.
    let (first_group, whole_groups) = before_point.split_at(before_point.len() % 4);
    let mut weight = before_point.len().div_ceil(4) as i32 - 1;
    let mut end = digits_start;
    let mut append = |group: &[u8]| {
        let digit = group
            .iter()
            .fold(0u16, |digit, byte| digit * 10 + u16::from(byte - b'0'));
        let digit = digit * [0, 1000, 100, 10, 1][group.len()];
        if digit == 0 && end == digits_start {
            // There is no digit yet, so this is a leading zero. It can only be after the point, because zeros before
            // the point are already left out.
            weight -= 1;
            return;
        }
        out.extend_from_slice(&digit.to_be_bytes());
        if digit != 0 {
            end = out.len();
        }
    };
    if !first_group.is_empty() {
        let mut padded = [b'0'; 4];
        padded[4 - first_group.len()..].copy_from_slice(first_group);
        append(&padded);
    }
    whole_groups.chunks(4).for_each(&mut append);
    after_point.chunks(4).for_each(&mut append);
    out.truncate(end);
    let digit_count = (end - digits_start) / 2;
    let (weight, sign) = match (digit_count, negative) {
        (0, _) => (0, SIGN_POSITIVE),
        (_, true) => (weight, SIGN_NEGATIVE),
        (_, false) => (weight, SIGN_POSITIVE),
    };
    // All four fit because of the limits in `parse`: 36,864 digits, weights from -4,096 to 32,767, a scale below 2^14.
    let header = [
        digit_count as u16,
        weight as i16 as u16,
        sign,
        after_point.len() as u16,
    ];
    for (place, word) in out[start..digits_start].chunks_exact_mut(2).zip(header) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}
