//! The digits of eight fields as numbers.
//!
//! A lane has 64 bits. The bytes of a field are right-aligned in it before they are read as digits, as in `digits`: the
//! zero bits that are shifted in below act as leading zeros.

use std::arch::x86_64::*;

use super::Lanes;

/// `'0'` in every byte.
const ASCII_ZEROS: i64 = 0x3030_3030_3030_3030;

/// A field of up to 16 bytes, right-aligned in two words, its digits as values 0 to 9.
pub(super) struct DigitWords {
    /// The last eight bytes.
    pub low: __m512i,
    /// The bytes before them.
    pub high: __m512i,
    /// Lanes with a minus sign, which is replaced by a zero.
    pub negative: __mmask8,
    /// The number of bytes of each field, without the sign.
    pub counts: __m512i,
}

impl Lanes<'_> {
    /// The lanes whose field is followed by a byte that continues a character.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn continued_behind(&self, ends: __m512i) -> __mmask8 {
        continue_character(self.words_behind(ends))
    }

    /// The fields as digits; `None` if one has more than 16 bytes or is empty. The words may still contain other bytes
    /// than digits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn digit_words(&self) -> Option<DigitWords> {
        let zero = _mm512_setzero_si512();
        let lengths = self.lengths();
        let first = self.words(zero);
        let is_minus = _mm512_cmpeq_epi64_mask(
            _mm512_and_si512(first, _mm512_set1_epi64(0xFF)),
            _mm512_set1_epi64(i64::from(b'-')),
        );
        let counts = _mm512_mask_sub_epi64(lengths, is_minus, lengths, _mm512_set1_epi64(1));
        // An empty field before a minus would get a negative length.
        let is_unfit = _mm512_mask_cmpgt_epu64_mask(
            self.present(),
            _mm512_sub_epi64(counts, _mm512_set1_epi64(1)),
            _mm512_set1_epi64(15),
        ) | _mm512_cmpgt_epu64_mask(lengths, _mm512_set1_epi64(16));
        if is_unfit != 0 {
            return None;
        }
        let values = _mm512_xor_si512(first, _mm512_set1_epi64(ASCII_ZEROS));
        let minus = _mm512_set1_epi64(i64::from(b'-' ^ b'0'));
        let values = _mm512_mask_xor_epi64(values, is_minus, values, minus);
        let bits = _mm512_slli_epi64::<3>(lengths);
        let is_long = _mm512_cmpgt_epu64_mask(lengths, _mm512_set1_epi64(8));
        let (low, high) = if is_long == 0 {
            let left = _mm512_sub_epi64(_mm512_set1_epi64(64), bits);
            (_mm512_sllv_epi64(values, left), zero)
        } else {
            // The last eight bytes of long fields are at another position. For short fields the high word is zero,
            // because everything is shifted out.
            let steps = _mm512_sub_epi64(lengths, _mm512_set1_epi64(8));
            let steps = _mm512_max_epi64(steps, zero);
            let last = _mm512_xor_si512(self.words(steps), _mm512_set1_epi64(ASCII_ZEROS));
            let low = _mm512_mask_mov_epi64(values, is_long, last);
            let left = _mm512_sub_epi64(_mm512_set1_epi64(64), bits);
            let low = _mm512_sllv_epi64(low, _mm512_max_epi64(left, zero));
            let left = _mm512_sub_epi64(_mm512_set1_epi64(128), bits);
            (low, _mm512_sllv_epi64(values, left))
        };
        Some(DigitWords {
            low,
            high,
            negative: is_minus,
            counts,
        })
    }
}

impl DigitWords {
    /// The numbers of the digits; `None` if a byte is not a digit.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn numbers(&self) -> Option<__m512i> {
        let largest = _mm512_max_epu8(self.low, self.high);
        if !are_digits(largest) {
            return None;
        }
        // Below 10^8, so the lower halves contain all of it.
        let high = _mm512_mul_epu32(eight_digits(self.high), _mm512_set1_epi64(100_000_000));
        Some(_mm512_add_epi64(high, eight_digits(self.low)))
    }

    /// The numbers with their signs.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn signed(&self, numbers: __m512i) -> __m512i {
        _mm512_mask_sub_epi64(numbers, self.negative, _mm512_setzero_si512(), numbers)
    }
}

/// True if all bytes are 0 to 9.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn are_digits(values: __m512i) -> bool {
    _mm512_cmpgt_epu8_mask(values, _mm512_set1_epi8(9)) == 0
}

/// Neighbouring digits as numbers of 16 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn pairs(values: __m512i) -> __m512i {
    // The lower byte of a pair is the first digit.
    _mm512_maddubs_epi16(values, _mm512_set1_epi16(0x010A))
}

/// The number of the eight digits of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
fn eight_digits(values: __m512i) -> __m512i {
    // A hundred times the first pair plus the second, in 32 bits each.
    let fours = _mm512_madd_epi16(pairs(values), _mm512_set1_epi32(0x0001_0064));
    _mm512_add_epi64(
        _mm512_mul_epu32(fours, _mm512_set1_epi64(10_000)),
        _mm512_srli_epi64::<32>(fours),
    )
}

/// The digits' values of words of characters.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn digit_values(words: __m512i) -> __m512i {
    _mm512_xor_si512(words, _mm512_set1_epi64(ASCII_ZEROS))
}

/// The lanes whose first byte continues a character.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn continue_character(words: __m512i) -> __mmask8 {
    _mm512_cmpeq_epi64_mask(
        _mm512_and_si512(words, _mm512_set1_epi64(0xC0)),
        _mm512_set1_epi64(0x80),
    )
}
