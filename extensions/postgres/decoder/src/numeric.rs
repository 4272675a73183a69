//! `numeric`: converts groups of four decimal digits to the stored form with the short header.
//!
//! The stored form is that of `numeric_recv`: `trunc_var` to the wire's scale, `apply_typmod`, `make_result`. The
//! kernel decodes a value only if nothing would be cut or rounded, and if it fits the precision and the short header.
//! That covers all amounts of money, and nearly all other values.

use crate::column::Column;

/// The largest scale that a value may have on the wire: `NUMERIC_DSCALE_MAX`.
const SCALE_MAX: i32 = 0x3fff;

/// A value that can be stored with the short header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short<'a> {
    /// The short header.
    header: u16,
    /// The groups of digits, as on the wire, without leading and trailing groups of zeros.
    groups: &'a [[u8; 2]],
}

impl<'a> Short<'a> {
    /// The value of a field; `None` if the receive function must be called.
    #[inline]
    pub(crate) fn read(field: &'a [u8], column: &Column) -> Option<Short<'a>> {
        let (fixed, digits) = field.split_first_chunk::<8>()?;
        let [
            count_1,
            count_0,
            weight_1,
            weight_0,
            sign_1,
            sign_0,
            scale_1,
            scale_0,
        ] = *fixed;
        let (mut groups, rest) = digits.as_chunks::<2>();
        if !rest.is_empty() || groups.len() != usize::from(u16::from_be_bytes([count_1, count_0])) {
            return None;
        }
        let mut weight = i32::from(i16::from_be_bytes([weight_1, weight_0]));
        let mut negative = match u16::from_be_bytes([sign_1, sign_0]) {
            0 => false,
            0x4000 => true,
            // NaN, the infinities, and invalid signs.
            _ => return None,
        };
        let wire_scale = i32::from(u16::from_be_bytes([scale_1, scale_0]));
        if wire_scale > SCALE_MAX || groups.iter().any(|group| u16::from_be_bytes(*group) > 9999) {
            return None;
        }
        while let Some((&[0, 0], behind)) = groups.split_first() {
            groups = behind;
            weight -= 1;
        }
        while let Some((&[0, 0], before)) = groups.split_last() {
            groups = before;
        }
        let scale = if column.precision < 0 {
            wire_scale
        } else {
            column.scale
        };
        match (groups.first(), groups.last()) {
            (Some(first), Some(last)) => {
                // A digit after the smaller of the two scales would be cut or rounded, unless it is zero.
                let shown = wire_scale.min(scale);
                let written = (groups.len() as i32 - 1 - weight) * 4;
                let hidden = match written - shown {
                    ..=0 => 1,
                    1 => 10,
                    2 => 100,
                    3 => 1000,
                    _ => return None,
                };
                if !u16::from_be_bytes(*last).is_multiple_of(hidden) {
                    return None;
                }
                if column.precision >= 0 {
                    let in_first = match u16::from_be_bytes(*first) {
                        ..=9 => 1,
                        10..=99 => 2,
                        100..=999 => 3,
                        _ => 4,
                    };
                    if weight * 4 + in_first > column.precision - column.scale {
                        return None;
                    }
                }
            }
            _ => {
                weight = 0;
                negative = false;
            }
        }
        if !(0..=63).contains(&scale) || !(-64..=63).contains(&weight) {
            return None;
        }
        // In two's complement the seven low bits of the weight are its sign and its value.
        let header = 0x8000
            | if negative { 0x2000 } else { 0 }
            | ((scale as u16) << 7)
            | (weight as u16 & 0x7f);
        Some(Short { header, groups })
    }

    /// The length of the stored form without the varlena's header, in bytes.
    #[inline]
    pub(crate) fn stored_len(&self) -> usize {
        2 + 2 * self.groups.len()
    }

    /// Writes the stored form into a place of [`Short::stored_len`] bytes.
    #[inline]
    pub(crate) fn write(&self, to: &mut [u8]) {
        let (places, _) = to.as_chunks_mut::<2>();
        let Some((header, digits)) = places.split_first_mut() else {
            return;
        };
        *header = self.header.to_le_bytes();
        for (place, [high, low]) in digits.iter_mut().zip(self.groups) {
            *place = [*low, *high];
        }
    }
}
