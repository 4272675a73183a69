//! Decimals of up to 16 characters: the point is removed from the word, and the rest are the digits of an integer.

use std::arch::x86_64::*;

use super::super::decimal::Decimal;
use super::super::digits::POWERS_OF_TEN;
use super::lanes::DigitWords;
use super::registers::store_widened;
use super::{LANES, Lanes};

/// The largest scale with the point in the last word.
const SCALE_MAX: u8 = 7;

/// [`EightKernel::takes_eight`](super::EightKernel::takes_eight) for decimals.
pub(super) fn takes_eight(decimal: &Decimal) -> bool {
    decimal.scale <= SCALE_MAX
}

/// [`EightKernel::eight`](super::EightKernel::eight) for decimals.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn eight(decimal: &Decimal, lanes: &Lanes<'_>, values: &mut [i128; LANES]) -> bool {
    let Some(written) = lanes.digit_words() else {
        return false;
    };
    let scale = u32::from(decimal.scale);
    let (words, has_point) = without_points(&written, scale);
    let Some(numbers) = words.numbers() else {
        return false;
    };
    // Before the point there must be at least one digit, and at most as many as the column keeps. With the digits after
    // the point there must be at most 18, so that the number fits 64 bits; a field with a point is always short enough.
    let behind = _mm512_set1_epi64(i64::from(scale) + 1);
    let before = _mm512_mask_sub_epi64(words.counts, has_point, words.counts, behind);
    let before_max = decimal
        .integer_digits_max()
        .min(18 - decimal.scale as usize);
    let is_unfit = _mm512_mask_cmpge_epu64_mask(
        lanes.present(),
        _mm512_sub_epi64(before, _mm512_set1_epi64(1)),
        _mm512_set1_epi64(before_max as i64),
    );
    if is_unfit != 0 {
        return false;
    }
    // The numbers of NULLs are zero either way.
    let numbers = if has_point | !lanes.present() == 0xFF {
        numbers
    } else {
        let power = _mm512_set1_epi64(POWERS_OF_TEN[scale as usize] as i64);
        _mm512_mask_mullo_epi64(numbers, !has_point, numbers, power)
    };
    store_widened(words.signed(numbers), values);
    true
}

/// The words without their points, and the lanes that have one at the position of the scale.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn without_points(written: &DigitWords, scale: u32) -> (DigitWords, __mmask8) {
    let unchanged = |low, high| DigitWords {
        low,
        high,
        negative: written.negative,
        counts: written.counts,
    };
    if scale == 0 {
        return (unchanged(written.low, written.high), 0);
    }
    // The scale is at most 7, so no shift is as wide as the word.
    let fraction = u64::MAX << (64 - 8 * scale);
    let point_at = 56 - 8 * scale;
    let point_byte = _mm512_set1_epi64((0xFFu64 << point_at) as i64);
    let point = _mm512_set1_epi64((u64::from(b'.' ^ b'0') << point_at) as i64);
    let has_point = _mm512_cmpeq_epi64_mask(_mm512_and_si512(written.low, point_byte), point);
    if has_point == 0 {
        return (unchanged(written.low, written.high), 0);
    }
    // The digits before the point are shifted by one place, over the point. The last digit of the high word moves into
    // the low word.
    let fraction = _mm512_set1_epi64(fraction as i64);
    let moved = _mm512_or_si512(
        _mm512_slli_epi64::<8>(written.low),
        _mm512_srli_epi64::<56>(written.high),
    );
    let spliced = _mm512_or_si512(
        _mm512_and_si512(written.low, fraction),
        _mm512_andnot_si512(fraction, moved),
    );
    let low = _mm512_mask_mov_epi64(written.low, has_point, spliced);
    let moved = _mm512_slli_epi64::<8>(written.high);
    let high = _mm512_mask_mov_epi64(written.high, has_point, moved);
    (unchanged(low, high), has_point)
}
