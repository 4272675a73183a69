//! Integers of up to 16 characters.

use std::arch::x86_64::*;

use super::super::integer::{Integer, Native};
use super::lanes::{store_16, store_32, store_64};
use super::{EightKernel, LANES, Lanes};

/// An integer of one width that eight of can be stored.
pub(in super::super) trait EightNative: Native {
    /// Its smallest and its largest.
    const ENDS: (i64, i64);

    /// Stores eight that fit.
    ///
    /// # Safety
    ///
    /// The machine has AVX-512.
    unsafe fn store(values: __m512i, target: &mut [Self; LANES]);
}

macro_rules! eight_natives {
    ($($native:ty, $store:ident;)*) => {
        $(impl EightNative for $native {
            const ENDS: (i64, i64) = (<$native>::MIN as i64, <$native>::MAX as i64);

            #[inline]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            unsafe fn store(values: __m512i, target: &mut [$native; LANES]) {
                $store(values, target);
            }
        })*
    };
}

eight_natives! {
    i16, store_16;
    i32, store_32;
    i64, store_64;
}

impl<N: EightNative> EightKernel for Integer<N> {
    fn takes_eight(&self) -> bool {
        true
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    unsafe fn eight(&self, lanes: &Lanes<'_>, values: &mut [N; LANES]) -> bool {
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
        // SAFETY: this function runs only where the machine has AVX-512.
        unsafe { N::store(numbers, values) };
        is_past == 0
    }
}
