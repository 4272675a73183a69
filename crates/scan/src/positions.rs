//! Turns masks into positions: the instructions of the inner loop.
//!
//! The loop is generic over [`BitInstructions`] and is compiled once for each implementation
//! ([`crate::instruction_set::InstructionSet::take`]); the tests compare the implementations with each other.

use crate::masks::BLOCK_BYTES;

/// One way to turn the bits of a mask into positions. A value of the type proves that the machine has the instructions.
pub(crate) trait BitInstructions: Copy {
    /// Writes the positions of the set bits, counted from `base`, to the first slots; the slots after them may be
    /// overwritten.
    fn write_positions(self, bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]);
}

/// Instructions that every machine has.
#[derive(Clone, Copy)]
pub(crate) struct Portable;

impl BitInstructions for Portable {
    /// Always writes eight positions at a time, because a branch for each position would cost more than writing it.
    #[inline(always)]
    fn write_positions(self, bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
        let count = bits.count_ones();
        let mut bits = bits;
        let mut written = 0;
        for slots in slots.as_chunks_mut::<8>().0 {
            for slot in slots {
                *slot = base.wrapping_add(bits.trailing_zeros());
                bits &= bits.wrapping_sub(1);
            }
            written += 8;
            if written >= count {
                break;
            }
        }
    }
}

/// AVX-512 with VBMI2.
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512 {
    use std::arch::x86_64::{
        _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32, _mm512_extracti32x4_epi32,
        _mm512_maskz_compress_epi8, _mm512_set1_epi32,
    };

    use super::BLOCK_BYTES;
    use crate::vectors::{load_512, store_512};

    static ALL_POSITIONS: [u8; BLOCK_BYTES] = {
        let mut positions = [0; BLOCK_BYTES];
        let mut index = 0;
        while index < BLOCK_BYTES {
            positions[index] = index as u8;
            index += 1;
        }
        positions
    };

    /// Compresses the positions of the set bits, one byte each, to the front of a register; then widens them, 16 at a
    /// time. Blocks with more than 16 set bits are rare.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
    pub(crate) fn write_positions(bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
        let positions = _mm512_maskz_compress_epi8(bits, load_512(&ALL_POSITIONS));
        let base = _mm512_set1_epi32(base as i32);
        let store = |index: usize, bytes, slots: &mut [u32; BLOCK_BYTES]| {
            let slots = &mut slots.as_chunks_mut::<16>().0[index];
            let wide = _mm512_add_epi32(_mm512_cvtepu8_epi32(bytes), base);
            store_512(wide, slots);
        };
        store(0, _mm512_castsi512_si128(positions), slots);
        let count = bits.count_ones();
        if count > 16 {
            store(1, _mm512_extracti32x4_epi32::<1>(positions), slots);
            if count > 32 {
                store(2, _mm512_extracti32x4_epi32::<2>(positions), slots);
                store(3, _mm512_extracti32x4_epi32::<3>(positions), slots);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::instruction_set::InstructionSet;

    /// The positions of the set bits, found with this instruction set.
    fn positions(instruction_set: InstructionSet, bits: u64, base: u32) -> Vec<u32> {
        let mut slots = [u32::MAX; BLOCK_BYTES];
        #[cfg(target_arch = "x86_64")]
        match instruction_set.avx512() {
            Some(avx512) => avx512.write_positions(bits, base, &mut slots),
            None => Portable.write_positions(bits, base, &mut slots),
        }
        #[cfg(not(target_arch = "x86_64"))]
        Portable.write_positions(bits, base, &mut slots);
        slots[..bits.count_ones() as usize].to_vec()
    }

    fn check(bits: u64, base: u32) {
        let expected: Vec<u32> = (0..64)
            .filter(|at| bits >> at & 1 != 0)
            .map(|at| base + at)
            .collect();
        for instruction_set in InstructionSet::available() {
            assert_eq!(
                positions(instruction_set, bits, base),
                expected,
                "{instruction_set:?}, {bits:#x}"
            );
        }
    }

    #[test]
    fn full_and_empty_masks() {
        check(0, 7);
        for count in 1..=64 {
            check(u64::MAX >> (64 - count), 1 << 20);
            check(u64::MAX << (64 - count), 1 << 20);
        }
    }

    proptest! {
        #[test]
        fn every_instruction_set_finds_the_same_positions(
            bits in any::<u64>(),
            thinning in any::<u64>(),
            base in 0..1u32 << 31,
        ) {
            check(bits, base);
            check(bits & thinning, base);
        }
    }
}
