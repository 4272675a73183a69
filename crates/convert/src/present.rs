//! The validity of a column's fields, one bit each, as Arrow stores it: the first field is the lowest bit of the first
//! byte.

use super::fields::Span;

/// Bits of a byte.
const GROUP: usize = u8::BITS as usize;

/// [`bits_with`] compiled for AVX2 and the rest of x86-64-v3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
pub(super) fn bits_avx2(spans: &[Span]) -> Vec<u8> {
    bits_with(spans)
}

/// One bit for each field: set if it is not NULL. The loop is compiled for the instructions of its caller.
#[inline(always)]
pub(super) fn bits_with(spans: &[Span]) -> Vec<u8> {
    let (groups, rest) = spans.as_chunks::<GROUP>();
    let mut bits = vec![0; groups.len()];
    for (group, bits) in groups.iter().zip(&mut bits) {
        *bits = byte(group);
    }
    bits.extend(last_byte(rest));
    bits
}

/// The bits of the fields after the last group of eight, if there are any.
pub(super) fn last_byte(rest: &[Span]) -> Option<u8> {
    let mut group = [Span::NULL; GROUP];
    group[..rest.len()].copy_from_slice(rest);
    (!rest.is_empty()).then(|| byte(&group))
}

#[inline(always)]
fn byte(group: &[Span; GROUP]) -> u8 {
    // Each byte of the word has a flag. One multiplication collects them in the highest byte: the flag of byte n moves
    // up to bit 56 + n.
    let flags = group.map(|span| u8::from(!span.is_null()));
    (u64::from_le_bytes(flags).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::simd::{self, Instructions};
    use super::*;

    proptest! {
        #[test]
        fn all_instructions_give_the_bit_of_every_field(
            present in proptest::collection::vec(any::<bool>(), 0..200)
        ) {
            let spans = present
                .iter()
                .map(|is_present| match is_present {
                    true => Span { start: 7, length: 0 },
                    false => Span::NULL,
                })
                .collect::<Vec<_>>();
            let mut expected = vec![0u8; present.len().div_ceil(8)];
            for (place, is_present) in present.iter().enumerate() {
                expected[place / 8] |= u8::from(*is_present) << (place % 8);
            }
            for instructions in Instructions::available() {
                prop_assert_eq!(
                    &simd::present_bits(&spans, instructions),
                    &expected,
                    "{:?}",
                    instructions
                );
            }
        }
    }
}
