//! Eight fields of a text in a register: their positions, and their bytes.
//!
//! # Why it is sound
//!
//! All reads of single lanes are in this file. Their addresses are first compared with the length of the text or of the
//! list: [`Lanes`] and [`Pairs`] keep the compared values, and no other code can change them. Because a text has
//! padding, the addresses of its last fields also pass the comparison. Soundness does not depend on the padding:
//! without it, the portable code would read those fields.
//!
//! All functions are compiled for AVX-512, so without `unsafe` only code that is also compiled for it can call them. So
//! code that has [`Lanes`] may assume that the machine has AVX-512.
#![expect(unsafe_code, reason = "gathers through pointers")]

use std::arch::x86_64::*;

use super::super::fields::Span;
use super::super::kernel::WINDOW_BYTES;
use super::LANES;
use super::registers::load_spans;

/// The widest step from a field's start that leaves eight bytes of its window.
const STEP_MAX: i64 = WINDOW_BYTES as i64 - 8;

/// Eight fields of a text.
pub(in super::super) struct Lanes<'a> {
    text: &'a [u8],
    /// The positions of the first bytes. Those of existing fields are at most `start_max`.
    starts: __m512i,
    lengths: __m512i,
    present: __mmask8,
    /// The last start that is followed by a whole window.
    start_max: __m512i,
}

impl<'a> Lanes<'a> {
    /// The fields of these spans; `None` if one of them is in another text.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn load(spans: &[Span; LANES], text: &'a [u8]) -> Option<Lanes<'a>> {
        let spans = load_spans(spans);
        let starts = _mm512_and_si512(spans, _mm512_set1_epi64(0xFFFF_FFFF));
        let start_max = _mm512_set1_epi64(text.len().checked_sub(WINDOW_BYTES)? as i64);
        let present = _mm512_cmple_epu64_mask(starts, start_max);
        // Applied to all lanes, because the processor would often mispredict a branch for NULL.
        let null = _mm512_cmpeq_epi64_mask(starts, _mm512_set1_epi64(0xFFFF_FFFF));
        if present | null != 0xFF {
            return None;
        }
        Some(Lanes {
            text,
            starts,
            lengths: _mm512_srli_epi64::<32>(spans),
            present,
            start_max,
        })
    }

    /// The positions of the first bytes.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn starts(&self) -> __m512i {
        self.starts
    }

    /// The numbers of bytes; 0 for NULL.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn lengths(&self) -> __m512i {
        self.lengths
    }

    /// The lanes that are not NULL.
    #[inline]
    pub fn present(&self) -> __mmask8 {
        self.present
    }

    /// Eight bytes of each field, `steps` (at most 56) after its start; zeros for NULL.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn words(&self, steps: __m512i) -> __m512i {
        let steps = _mm512_min_epu64(steps, _mm512_set1_epi64(STEP_MAX));
        let at = _mm512_add_epi64(self.starts, steps);
        // SAFETY: no start of an existing field is past `start_max`, after which the text has 64 bytes; a step of at
        // most 56 and a word of 8 stay within them. Lanes of NULLs are not loaded.
        unsafe {
            _mm512_mask_i64gather_epi64::<1>(
                _mm512_setzero_si512(),
                self.present,
                at,
                self.text.as_ptr().cast(),
            )
        }
    }

    /// The ends of the fields; `None` if one is past the last position that is followed by a whole window.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn ends(&self) -> Option<__m512i> {
        let ends = _mm512_add_epi64(self.starts, self.lengths);
        let past = _mm512_mask_cmpgt_epu64_mask(self.present, ends, self.start_max);
        (past == 0).then_some(ends)
    }

    /// The eight bytes after the end of each field; zeros for NULL. If an end is past the last position that is
    /// followed by a whole window, the bytes at that position are read instead.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn words_behind(&self, ends: __m512i) -> __m512i {
        let ends = _mm512_min_epu64(ends, self.start_max);
        // SAFETY: no position is past `start_max`, after which the text has 64 bytes.
        unsafe {
            _mm512_mask_i64gather_epi64::<1>(
                _mm512_setzero_si512(),
                self.present,
                ends,
                self.text.as_ptr().cast(),
            )
        }
    }
}

/// A list of numbers, of which two neighbours are read for each lane.
pub(super) struct Pairs<'a> {
    list: &'a [u32],
    /// A pair must not begin with the last number of the list.
    places_end: __m512i,
}

impl<'a> Pairs<'a> {
    /// The pairs of this list.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn of(list: &'a [u32]) -> Pairs<'a> {
        let places_end = _mm512_set1_epi64(list.len().saturating_sub(1) as i64);
        Pairs { list, places_end }
    }

    /// Lanes with the numbers at these indexes in their low halves, and the next numbers of the list in their high
    /// halves.
    ///
    /// # Panics
    ///
    /// If one of the indexes is not in the list.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
    pub fn at(&self, places: __m512i) -> __m512i {
        assert!(
            _mm512_cmplt_epu64_mask(places, self.places_end) == 0xFF,
            "the fields of every row are listed"
        );
        // SAFETY: each index and the next one are in the list, as was just asserted, and two of its numbers have the
        // eight bytes of a lane.
        unsafe { _mm512_i64gather_epi64::<4>(places, self.list.as_ptr().cast()) }
    }
}
