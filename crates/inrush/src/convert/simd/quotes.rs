//! The first quote or escape of a window.

use std::arch::x86_64::*;

use super::super::kernel::{WINDOW_BYTES, Window};

/// Where the first of two bytes stands in a window; its length where none does.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi1")]
pub(in super::super) fn first_of(window: &Window, bytes: [u8; 2]) -> usize {
    // SAFETY: a window has the 64 bytes of a register, and no alignment is asked for.
    let window = unsafe { _mm512_loadu_si512(window.as_ptr().cast()) };
    let found = _mm512_cmpeq_epi8_mask(window, _mm512_set1_epi8(bytes[0] as i8))
        | _mm512_cmpeq_epi8_mask(window, _mm512_set1_epi8(bytes[1] as i8));
    const { assert!(WINDOW_BYTES == 64) };
    found.trailing_zeros() as usize
}
