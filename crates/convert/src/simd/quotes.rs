//! The first quote or escape of a window.

use std::arch::x86_64::*;

use super::super::kernel::Window;
use super::registers::load_window;

/// The position of the first of two bytes in a window; the window's length if there is none.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,bmi1")]
pub(in super::super) fn first_of(window: &Window, bytes: [u8; 2]) -> usize {
    let window = load_window(window);
    let found = _mm512_cmpeq_epi8_mask(window, _mm512_set1_epi8(bytes[0] as i8))
        | _mm512_cmpeq_epi8_mask(window, _mm512_set1_epi8(bytes[1] as i8));
    found.trailing_zeros() as usize
}
