//! Loads whole registers from arrays and stores them into arrays.
//!
//! # Why it is sound
//!
//! Each function takes an array with exactly as many bytes as one register or two registers, and loads or stores all of
//! them. None of these instructions requires an alignment, and any bits are valid on either side. All functions are
//! compiled for AVX-512, so without `unsafe` only code that is also compiled for it can call them.
#![expect(unsafe_code, reason = "loads and stores of vectors through pointers")]

use std::arch::x86_64::*;

use super::super::fields::Span;
use super::super::kernel::{WINDOW_BYTES, Window};
use super::super::rows::Row;
use super::LANES;

const _: () = assert!(WINDOW_BYTES == 64 && size_of::<[Span; LANES]>() == 64);
const _: () = assert!(size_of::<[Row; LANES]>() == 64);

/// Eight spans: in each lane the start is the low half and the length the high one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn load_spans(spans: &[Span; LANES]) -> __m512i {
    // SAFETY: the array has 64 bytes, and `Span` is `repr(C)`, the start first.
    unsafe { _mm512_loadu_si512(spans.as_ptr().cast()) }
}

/// Eight rows: in each lane the record is the low half and the first field the high one.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn load_rows(rows: &[Row; LANES]) -> __m512i {
    // SAFETY: the array has 64 bytes, and `Row` is `repr(C)`, the record first.
    unsafe { _mm512_loadu_si512(rows.as_ptr().cast()) }
}

/// Stores eight spans.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_spans(spans: __m512i, target: &mut [Span; LANES]) {
    // SAFETY: the array has 64 bytes, and `Span` is `repr(C)`, the start first.
    unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), spans) }
}

/// The bytes of a window.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn load_window(window: &Window) -> __m512i {
    // SAFETY: a window has the 64 bytes of a register.
    unsafe { _mm512_loadu_si512(window.as_ptr().cast()) }
}

/// An integer of 16, 32 or 64 bits.
///
/// # Safety
///
/// Its size must be 2, 4 or 8 bytes, and any bits must be a valid value of it.
pub(in super::super) unsafe trait LaneInteger {}

// SAFETY: it is such an integer.
unsafe impl LaneInteger for i16 {}
// SAFETY: it is such an integer.
unsafe impl LaneInteger for i32 {}
// SAFETY: it is such an integer.
unsafe impl LaneInteger for i64 {}

/// Stores the lowest bits of eight lanes, as many as the integer has.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store<N: LaneInteger>(values: __m512i, target: &mut [N; LANES]) {
    let target = target.as_mut_ptr();
    // SAFETY: eight integers have the 16, 32 or 64 bytes that are stored.
    unsafe {
        match size_of::<N>() {
            2 => _mm_storeu_si128(target.cast(), _mm512_cvtepi64_epi16(values)),
            4 => _mm256_storeu_si256(target.cast(), _mm512_cvtepi64_epi32(values)),
            _ => _mm512_storeu_si512(target.cast(), values),
        }
    }
}

/// Stores eight 128-bit values, given as their halves.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_128(low: __m512i, high: __m512i, target: &mut [u128; LANES]) {
    let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    let target = target.as_mut_ptr().cast::<__m512i>();
    // SAFETY: the target has 128 bytes, twice as many as a register.
    unsafe {
        _mm512_storeu_si512(target, _mm512_permutex2var_epi64(low, first, high));
        _mm512_storeu_si512(target.add(1), _mm512_permutex2var_epi64(low, second, high));
    }
}

/// Stores eight signed 64-bit values as 128-bit values.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_widened(values: __m512i, target: &mut [i128; LANES]) {
    let signs = _mm512_srai_epi64::<63>(values);
    // SAFETY: both integer types have the same size and alignment, and any bits are a valid value of both.
    let target = unsafe { &mut *std::ptr::from_mut(target).cast::<[u128; LANES]>() };
    store_128(values, signs, target);
}
