//! The calls to AVX-512 code that fills slots, and its loads and stores.
//!
//! # Why it is sound
//!
//! An [`Avx512Ifma`] is the proof that the machine has the instructions. Vectors are loaded from and stored in arrays
//! of exactly their size. None of these instructions needs an alignment, and any bits are a valid value of both types.
#![expect(unsafe_code, reason = "AVX-512, and loads and stores of its vectors")]

use std::arch::x86_64::{__m512i, _mm512_loadu_si512, _mm512_storeu_si512};

use inrush_scan::cpu::Avx512Ifma;

use super::numeric::Layout;
use super::numeric_slots::{Slot, avx512};

/// Makes the fields of `values` in `slots`.
#[inline(always)]
pub(super) fn fill(_proof: Avx512Ifma, values: &[i128], layout: &Layout, slots: &mut [Slot]) {
    // SAFETY: the proof says that the machine has AVX-512 with IFMA.
    unsafe { avx512::fill(values, layout, slots) }
}

/// Eight numbers, four in each vector.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_numbers(values: &[i128; 8]) -> (__m512i, __m512i) {
    const { assert!(size_of::<[i128; 8]>() == 2 * size_of::<__m512i>()) };
    let start = values.as_ptr().cast::<__m512i>();
    // SAFETY: the two loads take the 128 bytes of the array.
    unsafe { (_mm512_loadu_si512(start), _mm512_loadu_si512(start.add(1))) }
}

/// Eight slots, two in each vector. A slot is the three words of the field, followed by its length.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_slots(vectors: [__m512i; 4], slots: &mut [Slot; 8]) {
    const { assert!(size_of::<[Slot; 8]>() == 4 * size_of::<__m512i>()) };
    let start = slots.as_mut_ptr().cast::<__m512i>();
    let [first, second, third, fourth] = vectors;
    // SAFETY: the four stores fill the 256 bytes of the slots; a slot is 24 bytes and a word,
    // `repr(C)` and without padding, and any bits are a value of it.
    unsafe {
        _mm512_storeu_si512(start, first);
        _mm512_storeu_si512(start.add(1), second);
        _mm512_storeu_si512(start.add(2), third);
        _mm512_storeu_si512(start.add(3), fourth);
    }
}
