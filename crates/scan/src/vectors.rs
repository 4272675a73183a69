//! Vectors loaded from arrays and stored in them.
//!
//! # Why it is sound
//!
//! Each function takes an array of exactly the bytes of its register, and loads or stores that many bytes; none of
//! these instructions needs an alignment, and all bits are valid in both types.
#![expect(unsafe_code, reason = "loads and stores of vectors through pointers")]

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm_loadu_si128, _mm256_loadu_si256, _mm512_loadu_si512,
    _mm512_storeu_si512,
};

/// Loads 16 bytes.
#[inline]
#[target_feature(enable = "sse2")]
pub(crate) fn load_128(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array has the 16 bytes that are loaded.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast::<__m128i>()) }
}

/// Loads 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(crate) fn load_256(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array has the 32 bytes that are loaded.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast::<__m256i>()) }
}

/// Loads 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn load_512(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the array has the 64 bytes that are loaded.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast::<__m512i>()) }
}

/// Stores 16 numbers.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn store_512(numbers: __m512i, target: &mut [u32; 16]) {
    // SAFETY: the array has the 64 bytes that are stored.
    unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast::<__m512i>(), numbers) }
}
