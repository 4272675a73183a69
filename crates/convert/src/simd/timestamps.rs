//! Timestamps of the form `YYYY-MM-DD HH:MM:SS`, with a blank or a `T`.

use std::arch::x86_64::*;

use inrush_rows::calendar::DAY_MICROSECONDS;

use super::dates::days;
use super::lanes::{are_digits, digit_values, pairs};
use super::registers::store;
use super::{LANES, Lanes};

/// [`EightKernel::eight`](super::EightKernel::eight) for timestamps.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn eight(lanes: &Lanes<'_>, values: &mut [i64; LANES]) -> bool {
    let whole = _mm512_set1_epi64(19);
    if _mm512_mask_cmpneq_epi64_mask(lanes.present(), lanes.lengths(), whole) != 0 {
        return false;
    }
    // The fourth to the eleventh byte: the day, and the bytes after it.
    let middle = lanes.words(_mm512_set1_epi64(3));
    let separator = _mm512_srli_epi64::<56>(middle);
    let is_separated = _mm512_cmpeq_epi64_mask(separator, _mm512_set1_epi64(0x20))
        | _mm512_cmpeq_epi64_mask(separator, _mm512_set1_epi64(0x54));
    if (is_separated | !lanes.present()) != 0xFF {
        return false;
    }
    let Some(days) = days(lanes, _mm512_slli_epi64::<8>(middle)) else {
        return false;
    };
    let Some(seconds) = seconds_of_day(lanes, lanes.words(_mm512_set1_epi64(11))) else {
        return false;
    };
    let microseconds = _mm512_add_epi64(
        _mm512_mullo_epi64(days, _mm512_set1_epi64(DAY_MICROSECONDS)),
        _mm512_mul_epu32(seconds, _mm512_set1_epi64(1_000_000)),
    );
    store(microseconds, values);
    true
}

/// Seconds of `HH:MM:SS`, 0 for NULL; `None` if one has another form.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn seconds_of_day(lanes: &Lanes<'_>, words: __m512i) -> Option<__m512i> {
    const COLONS: i64 = 0x0000_FF00_00FF_0000;
    let colons = _mm512_set1_epi64(COLONS);
    let has_others = _mm512_mask_cmpneq_epi64_mask(
        lanes.present(),
        _mm512_and_si512(words, colons),
        _mm512_set1_epi64(COLONS & 0x3A3A_3A3A_3A3A_3A3A),
    );
    // The colons become zeros: `HH0MM0SS`.
    let digits = _mm512_andnot_si512(colons, digit_values(words));
    let digits = _mm512_maskz_mov_epi64(lanes.present(), digits);
    if has_others != 0 || !are_digits(digits) {
        return None;
    }
    // Hours, the tens of the minutes, ten times their ones, and seconds, in 16 bits each.
    let parts = pairs(digits);
    let low = _mm512_set1_epi64(0xFFFF);
    let hours = _mm512_and_si512(parts, low);
    let tens = _mm512_and_si512(_mm512_srli_epi64::<16>(parts), low);
    let ones = _mm512_and_si512(_mm512_srli_epi64::<32>(digits), _mm512_set1_epi64(0xFF));
    let minutes = _mm512_add_epi64(_mm512_mul_epu32(tens, _mm512_set1_epi64(10)), ones);
    let seconds = _mm512_srli_epi64::<48>(parts);
    let sixty = _mm512_set1_epi64(60);
    let is_past = _mm512_cmpge_epu64_mask(hours, _mm512_set1_epi64(24))
        | _mm512_cmpge_epu64_mask(minutes, sixty)
        | _mm512_cmpge_epu64_mask(seconds, sixty);
    if is_past != 0 {
        return None;
    }
    let minutes = _mm512_add_epi64(_mm512_mul_epu32(hours, sixty), minutes);
    Some(_mm512_add_epi64(_mm512_mul_epu32(minutes, sixty), seconds))
}
