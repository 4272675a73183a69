//! Dates of the form `YYYY-MM-DD`.

use std::arch::x86_64::*;

use super::lanes::{are_digits, digit_values, pairs};
use super::registers::store;
use super::{LANES, Lanes};

/// [`EightKernel::eight`](super::EightKernel::eight) for dates.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn eight(lanes: &Lanes<'_>, values: &mut [i32; LANES]) -> bool {
    let ten = _mm512_set1_epi64(10);
    if _mm512_mask_cmpneq_epi64_mask(lanes.present(), lanes.lengths(), ten) != 0 {
        return false;
    }
    // The third to the tenth byte: the day is in the highest two.
    let ends = lanes.words(_mm512_set1_epi64(2));
    let Some(days) = days(lanes, ends) else {
        return false;
    };
    store(days, values);
    true
}

/// Days since 1970-01-01 of `YYYY-MM-DD` at the start of each field, 0 for NULL; `None` if one has another form, or
/// needs the exact path, as 29 February does. `ends` has the day's digits in its highest two bytes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn days(lanes: &Lanes<'_>, ends: __m512i) -> Option<__m512i> {
    let first = lanes.words(_mm512_setzero_si512());
    let hyphens = _mm512_and_si512(first, _mm512_set1_epi64(HYPHENS));
    let has_others = _mm512_mask_cmpneq_epi64_mask(
        lanes.present(),
        hyphens,
        _mm512_set1_epi64(HYPHENS & 0x2D2D_2D2D_2D2D_2D2D),
    );
    // Without the hyphens, the digits are `YYYYMMDD`.
    let year = _mm512_and_si512(first, _mm512_set1_epi64(0xFFFF_FFFF));
    let month = _mm512_and_si512(
        _mm512_srli_epi64::<8>(first),
        _mm512_set1_epi64(0x0000_FFFF_0000_0000),
    );
    let day = _mm512_and_si512(ends, _mm512_set1_epi64(0xFFFF << 48));
    let digits = digit_values(_mm512_or_si512(_mm512_or_si512(year, month), day));
    let digits = _mm512_maskz_mov_epi64(lanes.present(), digits);
    if has_others != 0 || !are_digits(digits) {
        return None;
    }
    // Century, year within it, month and day, in 16 bits each.
    let pairs = pairs(digits);
    // The lane of the year: 100 times the century plus the year in it; the other lanes are zero.
    let year = _mm512_madd_epi16(pairs, _mm512_set1_epi64(0x0001_0064));
    let month = _mm512_and_si512(_mm512_srli_epi64::<32>(pairs), _mm512_set1_epi64(0xFFFF));
    let day = _mm512_srli_epi64::<48>(pairs);
    let of_month = _mm512_permutex2var_epi64(load(&MONTHS, 0), month, load(&MONTHS, LANES));
    let one = _mm512_set1_epi64(1);
    let is_unfit = _mm512_cmpge_epu64_mask(
        _mm512_sub_epi64(day, one),
        _mm512_srli_epi64::<32>(of_month),
    ) | _mm512_cmpgt_epu64_mask(month, _mm512_set1_epi64(12))
        | _mm512_cmpeq_epi64_mask(year, _mm512_setzero_si512());
    if is_unfit & lanes.present() != 0 {
        return None;
    }
    // If years begin in March, the leap day is the last day.
    let is_before_march = _mm512_cmple_epu64_mask(month, _mm512_set1_epi64(2));
    let year = _mm512_mask_sub_epi64(year, is_before_march, year, one);
    // Exact for all years of four digits.
    let century = _mm512_srli_epi64::<19>(_mm512_mul_epu32(year, _mm512_set1_epi64(5243)));
    // 365 days and a quarter.
    let quarters = _mm512_mul_epu32(year, _mm512_set1_epi64(1461));
    let days = _mm512_add_epi64(_mm512_srli_epi64::<2>(quarters), day);
    let days = _mm512_sub_epi64(days, century);
    let days = _mm512_add_epi64(days, _mm512_srli_epi64::<2>(century));
    let before = _mm512_and_si512(of_month, _mm512_set1_epi64(0xFFFF_FFFF));
    let days = _mm512_add_epi64(days, before);
    let days = _mm512_sub_epi64(days, _mm512_set1_epi64(719_469));
    Some(_mm512_maskz_mov_epi64(lanes.present(), days))
}

/// A mask of the fifth and the eighth byte.
const HYPHENS: i64 = 0xFF00_00FF_0000_0000u64 as i64;

/// For each month of a year that begins in March, the days before it and, in the upper half, its days in a common year;
/// index 0 is not a month.
const MONTHS: [i64; 16] = {
    const BEFORE: [i64; 13] = [0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275];
    const DAYS: [i64; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut months = [0; 16];
    let mut month = 1;
    while month <= 12 {
        months[month] = BEFORE[month] | DAYS[month] << 32;
        month += 1;
    }
    months
};

#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn load(table: &[i64; 16], at: usize) -> __m512i {
    let lanes: &[i64; LANES] = table[at..at + LANES].try_into().expect("eight of sixteen");
    let [a, b, c, d, e, f, g, h] = *lanes;
    _mm512_setr_epi64(a, b, c, d, e, f, g, h)
}
