//! Views of eight texts.

use std::arch::x86_64::*;
use std::ops::Range;

use super::super::views::INLINE_BYTES_MAX;
use super::lanes::continue_character;
use super::registers::store_128;
use super::{LANES, Lanes};

/// The limits of a column's texts.
#[derive(Clone, Copy)]
pub(in super::super) struct Limits {
    first: __m512i,
    last: __m512i,
    bytes_max: __m512i,
}

impl Limits {
    /// `ascii` is a part of the text without bytes above 0x7F; texts of more than `bytes_max` must be checked.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn new(ascii: &Range<usize>, bytes_max: usize) -> Limits {
        Limits {
            first: _mm512_set1_epi64(ascii.start as i64),
            last: _mm512_set1_epi64(ascii.end as i64),
            bytes_max: _mm512_set1_epi64(i64::try_from(bytes_max).unwrap_or(i64::MAX)),
        }
    }
}

/// The views of eight fields into the text's buffer, whose number is 0, as from `views::view`; NULL gets an empty text.
/// Returns false if a field is not in the text, does not begin and end between characters, or must be checked.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(in super::super) fn views(
    lanes: &Lanes<'_>,
    limits: &Limits,
    views: &mut [u128; LANES],
) -> bool {
    let Some(ends) = lanes.ends() else {
        return false;
    };
    let lengths = lanes.lengths();
    let first = lanes.words(_mm512_setzero_si512());
    let is_to_check = _mm512_cmpgt_epu64_mask(lengths, limits.bytes_max);
    let is_outside = _mm512_cmplt_epu64_mask(lanes.starts(), limits.first)
        | _mm512_cmpgt_epu64_mask(ends, limits.last);
    if is_to_check != 0 {
        return false;
    }
    // In ASCII text, every position is between two characters.
    if is_outside & lanes.present() != 0 {
        let is_empty = _mm512_testn_epi64_mask(lengths, lengths);
        let is_cut = continue_character(first) & !is_empty | lanes.continued_behind(ends);
        if is_cut != 0 {
            return false;
        }
    }
    let ones = _mm512_set1_epi64(-1);
    let eight = _mm512_set1_epi64(8);
    // A shift by 64 bits or more gives zero, which makes a mask of all bits.
    let bits = _mm512_slli_epi64::<3>(lengths);
    let inline_low = _mm512_andnot_si512(_mm512_sllv_epi64(ones, bits), first);
    let mut behind = _mm512_srli_epi64::<32>(inline_low);
    let is_long = _mm512_cmpgt_epu64_mask(lengths, _mm512_set1_epi64(INLINE_BYTES_MAX as i64));
    let is_past_eight = _mm512_cmpgt_epu64_mask(lengths, eight);
    if is_past_eight != is_long {
        let second = lanes.words(eight);
        let bits = _mm512_sub_epi64(
            _mm512_max_epi64(bits, _mm512_set1_epi64(64)),
            _mm512_set1_epi64(64),
        );
        let inline_high = _mm512_andnot_si512(_mm512_sllv_epi64(ones, bits), second);
        behind = _mm512_or_si512(behind, _mm512_slli_epi64::<32>(inline_high));
    }
    let offsets = _mm512_slli_epi64::<32>(lanes.starts());
    let behind = _mm512_mask_mov_epi64(behind, is_long, offsets);
    let ahead = _mm512_or_si512(lengths, _mm512_slli_epi64::<32>(inline_low));
    store_128(ahead, behind, views);
    true
}
