//! Decodes `numeric` to scaled integers, or to decimal text of any length. The head of the encoder's file of the same
//! name describes the binary form.

use std::sync::Arc;

use arrow_array::builder::make_view;
use arrow_array::types::Decimal128Type;
use arrow_array::{ArrayRef, PrimitiveArray, StringViewArray};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::DataType;

use super::column::Nulls;
use super::error::DecodeError;
use super::fields::Fields;
use crate::limits::NUMERIC_DIGITS_AFTER_POINT_MAX;

const SIGN_POSITIVE: u16 = 0x0000;
const SIGN_NEGATIVE: u16 = 0x4000;
const SIGN_NAN: u16 = 0xC000;
const SIGN_INFINITY: u16 = 0xD000;
const SIGN_MINUS_INFINITY: u16 = 0xF000;

/// The base of the digits that are sent.
const BASE: u128 = 10_000;
/// The most digits of that base that a value of 128 bits may have: it has up to 38 decimal digits, and the groups at
/// both ends may be partly filled.
const GROUPS_MAX: usize = 11;

/// A number as it is sent.
struct Number<'a> {
    /// The first group counts 10,000 to this power.
    weight: i32,
    sign: u16,
    /// Decimal digits after the point.
    scale: usize,
    /// Groups of four decimal digits, each below 10,000.
    groups: &'a [[u8; 2]],
}

impl<'a> Number<'a> {
    fn parse(field: &'a [u8]) -> Result<Number<'a>, String> {
        let Some((head, digits)) = field.split_first_chunk::<8>() else {
            return Err(format!("a number of {} bytes", field.len()));
        };
        let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let (groups, odd) = digits.as_chunks::<2>();
        if !odd.is_empty() || groups.len() != usize::from(word(0)) {
            return Err(format!(
                "a number with {} groups of digits in {} bytes",
                word(0),
                digits.len()
            ));
        }
        let number = Number {
            weight: i32::from(word(2) as i16),
            sign: word(4),
            scale: usize::from(word(6)),
            groups,
        };
        let is_known = matches!(
            number.sign,
            SIGN_POSITIVE | SIGN_NEGATIVE | SIGN_NAN | SIGN_INFINITY | SIGN_MINUS_INFINITY
        );
        if !is_known || number.scale > NUMERIC_DIGITS_AFTER_POINT_MAX {
            return Err(format!(
                "a number with the sign {:#x} and {} digits after the point",
                number.sign, number.scale
            ));
        }
        if groups
            .iter()
            .any(|group| u16::from_be_bytes(*group) >= BASE as u16)
        {
            return Err("a number with a group of digits above 9999".to_owned());
        }
        Ok(number)
    }

    /// The number without its point; none if it has more digits than fit.
    fn scaled(&self, precision: u8, scale: i8) -> Option<i128> {
        if !matches!(self.sign, SIGN_POSITIVE | SIGN_NEGATIVE) {
            return None;
        }
        let Some((last, before)) = self.groups.split_last() else {
            return Some(0);
        };
        if self.groups.len() > GROUPS_MAX {
            return None;
        }
        let group = |group: &[u8; 2]| u128::from(u16::from_be_bytes(*group));
        let rest = before.iter().try_fold(0u128, |sum, next| {
            sum.checked_mul(BASE)?.checked_add(group(next))
        })?;
        // The number of decimal digits of the last group up to the last digit that is kept.
        let shift = 4 * (self.weight - before.len() as i32) + i32::from(scale);
        let magnitude = match shift {
            0.. => rest
                .checked_mul(BASE)?
                .checked_add(group(last))?
                .checked_mul(10u128.checked_pow(shift as u32)?)?,
            -3..0 => {
                // The group ends with zeros that fill it up.
                let filling = 10u128.pow(shift.unsigned_abs());
                if group(last) % filling != 0 {
                    return None;
                }
                rest.checked_mul(BASE / filling)?
                    .checked_add(group(last) / filling)?
            }
            _ => return None,
        };
        let limit = 10u128.checked_pow(precision.into())?;
        let value = i128::try_from(magnitude)
            .ok()
            .filter(|_| magnitude < limit)?;
        Some(match self.sign {
            SIGN_NEGATIVE => -value,
            _ => value,
        })
    }

    /// The most bytes that its text takes.
    fn text_bytes(&self) -> usize {
        4 * usize::try_from(self.weight + 1).unwrap_or(0).max(1) + self.scale + 10
    }

    /// Appends it as the server writes it.
    fn append(&self, out: &mut Vec<u8>) -> Result<(), String> {
        match self.sign {
            SIGN_NAN => return append(out, b"NaN"),
            SIGN_INFINITY => return append(out, b"Infinity"),
            SIGN_MINUS_INFINITY => return append(out, b"-Infinity"),
            SIGN_NEGATIVE => out.push(b'-'),
            _ => {}
        }
        let start = out.len();
        let group = |power: i32| {
            let index = usize::try_from(self.weight - power).ok();
            let group = index.and_then(|index| self.groups.get(index));
            group.map_or(0, |group| u16::from_be_bytes(*group))
        };
        for power in (0..=self.weight.max(0)).rev() {
            append_group(group(power), out);
        }
        // The first group has no leading zeros, but one digit at least.
        let zeros = out[start..]
            .iter()
            .take(3)
            .take_while(|digit| **digit == b'0');
        let zeros = zeros.count();
        out.drain(start..start + zeros);
        if self.scale > 0 {
            out.push(b'.');
            let end = out.len() + self.scale;
            let group_count = self.scale.div_ceil(4) as i32;
            for power in 1..=group_count {
                append_group(group(-power), out);
            }
            if out[end..].iter().any(|digit| *digit != b'0') {
                return Err("a number with more digits than its scale".to_owned());
            }
            out.truncate(end);
        }
        let sent_after_point = self.groups.len() as i32 - self.weight - 1;
        match sent_after_point > self.scale.div_ceil(4) as i32 {
            true => Err("a number with more digits than its scale".to_owned()),
            false => Ok(()),
        }
    }
}

fn append(out: &mut Vec<u8>, word: &[u8]) -> Result<(), String> {
    out.extend_from_slice(word);
    Ok(())
}

fn append_group(group: u16, out: &mut Vec<u8>) {
    let digit = |number: u16| b'0' + (number % 10) as u8;
    out.extend([
        digit(group / 1_000),
        digit(group / 100),
        digit(group / 10),
        digit(group),
    ]);
}

/// The numbers as Decimal128; none if one of them does not fit.
pub(super) fn decimals(
    fields: &Fields<'_>,
    precision: u8,
    scale: i8,
) -> Result<Option<ArrayRef>, DecodeError> {
    let mut values = Vec::with_capacity(fields.len());
    let mut nulls = Nulls::default();
    for (row, field) in fields.iter().enumerate() {
        let Some((_, bytes)) = field else {
            nulls.add(row);
            values.push(0);
            continue;
        };
        let number = Number::parse(bytes).map_err(|what| fields.fault(row, what))?;
        match number.scaled(precision, scale) {
            Some(value) => values.push(value),
            None => return Ok(None),
        }
    }
    let array = PrimitiveArray::<Decimal128Type>::new(values.into(), nulls.finish(fields.len()));
    Ok(Some(Arc::new(
        array.with_data_type(DataType::Decimal128(precision, scale)),
    )))
}

/// The number of rows from the first one on whose texts together take at most this many bytes; at least one row.
pub(super) fn rows_within<'a>(
    columns: impl Iterator<Item = Fields<'a>>,
    row_count: usize,
    bytes_max: usize,
) -> Result<usize, DecodeError> {
    let mut sizes = Vec::new();
    for fields in columns {
        sizes.resize(row_count, 0);
        for (row, field) in fields.iter().enumerate() {
            if let Some((_, bytes)) = field {
                let number = Number::parse(bytes).map_err(|what| fields.fault(row, what))?;
                sizes[row] += number.text_bytes();
            }
        }
    }
    let mut sum = 0;
    let fits = sizes.iter().take_while(|bytes| {
        sum += **bytes;
        sum <= bytes_max
    });
    Ok(match sizes.is_empty() {
        true => row_count,
        false => fits.count().max(1).min(row_count),
    })
}

/// The numbers as text.
pub(super) fn texts(fields: &Fields<'_>) -> Result<ArrayRef, DecodeError> {
    let mut text = Vec::new();
    let mut views = Vec::with_capacity(fields.len());
    let mut nulls = Nulls::default();
    for (row, field) in fields.iter().enumerate() {
        let Some((_, bytes)) = field else {
            nulls.add(row);
            views.push(0);
            continue;
        };
        let start = text.len();
        Number::parse(bytes)
            .and_then(|number| number.append(&mut text))
            .map_err(|what| fields.fault(row, what))?;
        // The rows of a block are cut so that their numbers stay far below 4 GiB.
        views.push(make_view(&text[start..], 0, start as u32));
    }
    let buffers = vec![Buffer::from_vec(text)];
    let nulls = nulls.finish(fields.len());
    let array = StringViewArray::try_new(ScalarBuffer::from(views), buffers, nulls);
    Ok(Arc::new(
        array.map_err(|error| fields.fault(0, error.to_string()))?,
    ))
}
