//! From masks to positions: the instructions that the machine's loop is made of.
//!
//! The loop is generic over [`BitInstructions`] and compiled once for each
//! ([`crate::machine::Machine::take`]); the tests hold the ways against each other.

use crate::masks::BLOCK_BYTES;

/// A way of going from the bits of a mask to positions.
pub(crate) trait BitInstructions {
    /// Writes the positions of the set bits, counted from `base`, to the first slots; what
    /// follows them may be overwritten.
    ///
    /// # Safety
    ///
    /// The machine has the instructions.
    unsafe fn write_positions(bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]);
}

/// What every machine has.
pub(crate) struct Portable;

impl BitInstructions for Portable {
    /// Eight at a time, wanted or not: a branch for each would cost more than the writing.
    #[inline(always)]
    unsafe fn write_positions(bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
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
pub(crate) struct Avx512;

#[cfg(target_arch = "x86_64")]
impl BitInstructions for Avx512 {
    #[inline(always)]
    unsafe fn write_positions(bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
        // SAFETY: the caller's contract.
        unsafe { avx512::write_positions(bits, base, slots) }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::{
        __m512i, _mm512_add_epi32, _mm512_castsi512_si128, _mm512_cvtepu8_epi32,
        _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_maskz_compress_epi8,
        _mm512_set1_epi32, _mm512_storeu_si512,
    };

    use super::BLOCK_BYTES;

    static ALL_POSITIONS: [u8; BLOCK_BYTES] = {
        let mut positions = [0; BLOCK_BYTES];
        let mut index = 0;
        while index < BLOCK_BYTES {
            positions[index] = index as u8;
            index += 1;
        }
        positions
    };

    /// All positions in a byte each, those of the set bits moved to the front, and then
    /// widened 16 at a time, as many as there are. Blocks with more than 16 are rare.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt")]
    pub(super) fn write_positions(bits: u64, base: u32, slots: &mut [u32; BLOCK_BYTES]) {
        // SAFETY: the load takes the 64 bytes of the array.
        let all = unsafe { _mm512_loadu_si512(ALL_POSITIONS.as_ptr().cast::<__m512i>()) };
        let positions = _mm512_maskz_compress_epi8(bits, all);
        let base = _mm512_set1_epi32(base as i32);
        let store = |index: usize, bytes, slots: &mut [u32; BLOCK_BYTES]| {
            let slots = &mut slots.as_chunks_mut::<16>().0[index];
            let wide = _mm512_add_epi32(_mm512_cvtepu8_epi32(bytes), base);
            // SAFETY: the store fills the 16 slots, and needs no alignment.
            unsafe { _mm512_storeu_si512(slots.as_mut_ptr().cast::<__m512i>(), wide) };
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
    use crate::masks::{Instructions, Kernel};

    /// The positions of the set bits, in the way of a kernel.
    fn positions(kernel: Kernel, bits: u64, base: u32) -> Vec<u32> {
        let mut slots = [u32::MAX; BLOCK_BYTES];
        // SAFETY: the kernel says what the machine has.
        unsafe {
            match kernel.instructions() {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => Avx512::write_positions(bits, base, &mut slots),
                _ => Portable::write_positions(bits, base, &mut slots),
            }
        }
        slots[..bits.count_ones() as usize].to_vec()
    }

    fn check(bits: u64, base: u32) {
        let expected: Vec<u32> = (0..64)
            .filter(|at| bits >> at & 1 != 0)
            .map(|at| base + at)
            .collect();
        for kernel in Kernel::available() {
            assert_eq!(
                positions(kernel, bits, base),
                expected,
                "{kernel:?}, {bits:#x}"
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
        fn every_kernel_finds_the_same_positions(
            bits in any::<u64>(),
            thinning in any::<u64>(),
            base in 0..1u32 << 31,
        ) {
            check(bits, base);
            check(bits & thinning, base);
        }
    }
}
