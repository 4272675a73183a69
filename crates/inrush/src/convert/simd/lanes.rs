//! Eight fields in a register, and their digits as numbers.
//!
//! A lane has 64 bits. The bytes of a field are right-aligned in it before they are read as digits,
//! as in `digits`: what is shifted in below stands for leading zeros.

use std::arch::x86_64::*;

use super::super::fields::Span;
use super::super::kernel::WINDOW_BYTES;
use super::LANES;

/// The widest step from a field's start that leaves eight bytes of its window.
const STEP_MAX: i64 = WINDOW_BYTES as i64 - 8;

/// `'0'` in every byte.
const ASCII_ZEROS: i64 = 0x3030_3030_3030_3030;

/// Eight fields of a text.
pub(in super::super) struct Lanes<'a> {
    text: &'a [u8],
    /// First bytes; none of those that are present is past `start_max`.
    pub starts: __m512i,
    /// Bytes; 0 for NULL.
    pub lengths: __m512i,
    /// The lanes that are not NULL.
    pub present: __mmask8,
    /// The last start that has a whole window behind it.
    start_max: __m512i,
}

/// A field of up to 16 bytes, right-aligned in two words, its digits as values 0 to 9.
pub(super) struct DigitWords {
    /// The last eight bytes.
    pub low: __m512i,
    /// The bytes before them.
    pub high: __m512i,
    /// Lanes with a minus sign, which stands as a zero.
    pub negative: __mmask8,
    /// Bytes without the sign.
    pub counts: __m512i,
}

impl<'a> Lanes<'a> {
    /// The fields of these spans; nothing where one of them stands in another text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn load(spans: &[Span; LANES], text: &'a [u8]) -> Option<Lanes<'a>> {
        // SAFETY: a span has 8 bytes, so the array has 64. `Span` is `repr(C)`: in each lane the
        // start is the low half and the length the high one.
        let spans = unsafe { _mm512_loadu_si512(spans.as_ptr().cast()) };
        let starts = _mm512_and_si512(spans, _mm512_set1_epi64(0xFFFF_FFFF));
        let start_max = _mm512_set1_epi64(text.len().checked_sub(WINDOW_BYTES)? as i64);
        let present = _mm512_cmple_epu64_mask(starts, start_max);
        if present != 0xFF {
            let null = _mm512_cmpeq_epi64_mask(starts, _mm512_set1_epi64(0xFFFF_FFFF));
            if present | null != 0xFF {
                return None;
            }
        }
        Some(Lanes {
            text,
            starts,
            lengths: _mm512_srli_epi64::<32>(spans),
            present,
            start_max,
        })
    }

    /// Eight bytes of each field from `steps` past its start on, at most 56; zeros for NULL.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn words(&self, steps: __m512i) -> __m512i {
        let steps = _mm512_min_epu64(steps, _mm512_set1_epi64(STEP_MAX));
        let at = _mm512_add_epi64(self.starts, steps);
        // SAFETY: of the lanes that are present no start is past `start_max`, behind which the text
        // has 64 bytes; a step of 56 at most and a word of 8 stay inside of them. Lanes that are
        // not present are not loaded.
        unsafe {
            _mm512_mask_i64gather_epi64::<1>(
                _mm512_setzero_si512(),
                self.present,
                at,
                self.text.as_ptr().cast(),
            )
        }
    }

    /// Ends of the fields; nothing where one is past the last place with a whole window behind it.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn ends(&self) -> Option<__m512i> {
        let ends = _mm512_add_epi64(self.starts, self.lengths);
        let past = _mm512_mask_cmpgt_epu64_mask(self.present, ends, self.start_max);
        (past == 0).then_some(ends)
    }

    /// The lanes whose field is followed by a byte that continues a character.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn continued_behind(&self, ends: __m512i) -> __mmask8 {
        let ends = _mm512_min_epu64(ends, self.start_max);
        // SAFETY: no place is past `start_max`, behind which the text has 64 bytes.
        let behind = unsafe {
            _mm512_mask_i64gather_epi64::<1>(
                _mm512_setzero_si512(),
                self.present,
                ends,
                self.text.as_ptr().cast(),
            )
        };
        continue_character(behind)
    }

    /// The fields as digits; nothing where one has more than 16 bytes or is empty.
    /// What stands in the words may still be no digits.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub(super) fn digit_words(&self) -> Option<DigitWords> {
        let zero = _mm512_setzero_si512();
        let first = self.words(zero);
        let is_minus = _mm512_cmpeq_epi64_mask(
            _mm512_and_si512(first, _mm512_set1_epi64(0xFF)),
            _mm512_set1_epi64(i64::from(b'-')),
        );
        let counts =
            _mm512_mask_sub_epi64(self.lengths, is_minus, self.lengths, _mm512_set1_epi64(1));
        // An empty field with a minus behind it has less than nothing.
        let is_unfit = _mm512_mask_cmpgt_epu64_mask(
            self.present,
            _mm512_sub_epi64(counts, _mm512_set1_epi64(1)),
            _mm512_set1_epi64(15),
        ) | _mm512_cmpgt_epu64_mask(self.lengths, _mm512_set1_epi64(16));
        if is_unfit != 0 {
            return None;
        }
        let values = _mm512_xor_si512(first, _mm512_set1_epi64(ASCII_ZEROS));
        let minus = _mm512_set1_epi64(i64::from(b'-' ^ b'0'));
        let values = _mm512_mask_xor_epi64(values, is_minus, values, minus);
        let bits = _mm512_slli_epi64::<3>(self.lengths);
        let is_long = _mm512_cmpgt_epu64_mask(self.lengths, _mm512_set1_epi64(8));
        let (low, high) = if is_long == 0 {
            let left = _mm512_sub_epi64(_mm512_set1_epi64(64), bits);
            (_mm512_sllv_epi64(values, left), zero)
        } else {
            // Long fields have their last eight bytes at another place; of short ones nothing
            // stands in the high word, since they are shifted out.
            let steps = _mm512_sub_epi64(self.lengths, _mm512_set1_epi64(8));
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
    /// The numbers of the digits; nothing where a byte is none.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn numbers(&self) -> Option<__m512i> {
        let largest = _mm512_max_epu8(self.low, self.high);
        if !are_digits(largest) {
            return None;
        }
        // Below 10^8, so the lower halves are all of it.
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

/// Whether all bytes are 0 to 9.
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
    // A hundred times the first pair and once the second, in 32 bits each.
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

/// Stores eight values of 64 bits.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_64(values: __m512i, target: &mut [i64; LANES]) {
    // SAFETY: the target has 64 bytes, and no alignment is asked for.
    unsafe { _mm512_storeu_si512(target.as_mut_ptr().cast(), values) }
}

/// Stores the lower halves of eight lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_32(values: __m512i, target: &mut [i32; LANES]) {
    // SAFETY: the target has 32 bytes, and no alignment is asked for.
    unsafe { _mm256_storeu_si256(target.as_mut_ptr().cast(), _mm512_cvtepi64_epi32(values)) }
}

/// Stores the lowest quarters of eight lanes.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_16(values: __m512i, target: &mut [i16; LANES]) {
    // SAFETY: the target has 16 bytes, and no alignment is asked for.
    unsafe { _mm_storeu_si128(target.as_mut_ptr().cast(), _mm512_cvtepi64_epi16(values)) }
}

/// Stores eight values of 128 bits, given as their halves.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_128(low: __m512i, high: __m512i, target: &mut [u128; LANES]) {
    let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    let target = target.as_mut_ptr().cast::<__m512i>();
    // SAFETY: the target has 128 bytes, twice those of a register, and no alignment is asked for.
    unsafe {
        _mm512_storeu_si512(target, _mm512_permutex2var_epi64(low, first, high));
        _mm512_storeu_si512(target.add(1), _mm512_permutex2var_epi64(low, second, high));
    }
}

/// Stores eight signed values of 64 bits as such of 128.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
pub(super) fn store_widened(values: __m512i, target: &mut [i128; LANES]) {
    let signs = _mm512_srai_epi64::<63>(values);
    // SAFETY: both integers have the same size and alignment, and every value is one of the other.
    let target = unsafe { &mut *std::ptr::from_mut(target).cast::<[u128; LANES]>() };
    store_128(values, signs, target);
}
