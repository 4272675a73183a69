//! Facts about the bytes of a batch's records (such as: all ASCII), found once for all columns.

use std::ops::Range;

use inrush_rows::chunk::Chunk;
use inrush_scan::Records;

use super::simd::{self, Instructions};

/// Facts of a batch's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TextFacts {
    /// True if there is a NUL byte.
    pub any_nul: bool,
    /// A part of the chunk in which all bytes are ASCII. It has all records, or it is empty.
    pub ascii: Range<usize>,
}

impl TextFacts {
    /// The facts of these records' text.
    pub fn of(
        chunk: &Chunk,
        records: &Records,
        range: &Range<usize>,
        instructions: Instructions,
    ) -> TextFacts {
        let records = &records.records[range.clone()];
        let (Some(first), Some(last)) = (records.first(), records.last()) else {
            return TextFacts::default();
        };
        let part = first.start as usize..last.end as usize;
        let bytes = simd::smallest_and_bits(&chunk.text()[part.clone()], instructions);
        // The byte after the last record counts, too: if it continued a character, the last field would not end between
        // characters.
        let is_ascii = bytes.1 & 0x80 == 0 && chunk.text.with_padding()[part.end] & 0x80 == 0;
        TextFacts {
            any_nul: bytes.0 == 0,
            ascii: if is_ascii { part } else { 0..0 },
        }
    }
}

/// [`smallest_and_bits_with`] for AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt"
)]
pub(super) fn smallest_and_bits_avx512(text: &[u8]) -> (u8, u8) {
    smallest_and_bits_with(text)
}

/// [`smallest_and_bits_with`] for x86-64-v3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
pub(super) fn smallest_and_bits_avx2(text: &[u8]) -> (u8, u8) {
    smallest_and_bits_with(text)
}

/// The number of bytes that are checked together: few enough for the compiler to keep the results in registers.
const BLOCK_BYTES: usize = 128;

/// The smallest byte, and the bits that are set in any byte. The compiler vectorizes this loop for the instructions of
/// its caller.
#[inline(always)]
pub(super) fn smallest_and_bits_with(text: &[u8]) -> (u8, u8) {
    let mut smallest = [u8::MAX; BLOCK_BYTES];
    let mut bits = [0; BLOCK_BYTES];
    let (blocks, rest) = text.as_chunks::<BLOCK_BYTES>();
    for block in blocks {
        for ((byte, smallest), bits) in block.iter().zip(&mut smallest).zip(&mut bits) {
            *smallest = (*smallest).min(*byte);
            *bits |= byte;
        }
    }
    let both = smallest.iter().zip(&bits).chain(rest.iter().zip(rest));
    both.fold((u8::MAX, 0), |(smallest, bits), (byte, set)| {
        (smallest.min(*byte), bits | set)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_odd_byte_at_every_place() {
        for length in [1, 2, BLOCK_BYTES - 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 7] {
            for at in 0..length {
                for (byte, expected) in [(0, (0, b'a')), (0x80, (b'a', 0x80 | b'a'))] {
                    let mut text = vec![b'a'; length];
                    text[at] = byte;
                    let alone = (byte, byte);
                    let expected = if length == 1 { alone } else { expected };
                    for instructions in Instructions::available() {
                        assert_eq!(simd::smallest_and_bits(&text, instructions), expected);
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn as_counted(text in prop::collection::vec(any::<u8>(), 0..600)) {
            let expected = (
                text.iter().copied().min().unwrap_or(u8::MAX),
                text.iter().fold(0, |bits, byte| bits | byte),
            );
            for instructions in Instructions::available() {
                prop_assert_eq!(simd::smallest_and_bits(&text, instructions), expected);
            }
        }
    }
}
