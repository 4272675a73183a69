//! Integers of up to 16 characters.

use std::arch::x86_64::*;

use super::super::integer::Native;
use super::registers::{LaneInteger, store};
use super::{LANES, Lanes};

/// An integer of one width, of which eight can be stored at once.
pub(in super::super) trait EightNative: Native + LaneInteger {
    /// Its smallest and its largest value.
    const ENDS: (i64, i64);
}

macro_rules! eight_natives {
    ($($native:ty)*) => {
        $(impl EightNative for $native {
            const ENDS: (i64, i64) = (<$native>::MIN as i64, <$native>::MAX as i64);
        })*
    };
}

eight_natives! { i16 i32 i64 }

/// [`EightKernel::eight`](super::EightKernel::eight) for integers.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn eight<N: EightNative>(lanes: &Lanes<'_>, values: &mut [N; LANES]) -> bool {
    let Some(words) = lanes.digit_words() else {
        return false;
    };
    let Some(numbers) = words.numbers() else {
        return false;
    };
    let numbers = words.signed(numbers);
    let (smallest, largest) = N::ENDS;
    let is_past = _mm512_cmpgt_epi64_mask(numbers, _mm512_set1_epi64(largest))
        | _mm512_cmplt_epi64_mask(numbers, _mm512_set1_epi64(smallest));
    store(numbers, values);
    is_past == 0
}
