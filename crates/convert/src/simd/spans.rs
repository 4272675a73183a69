//! The positions of eight fields, from the ends that the scan found, and a mask of the fields that exist.

use std::arch::x86_64::*;

use super::super::fields::{Seen, Span};
use super::super::present;
use super::super::rows::Row;
use super::LANES;
use super::gather::Pairs;
use super::registers::{load_rows, load_spans, store_spans};

/// The spans of one field of each row: the field after field number `before`. It begins `gap_bytes` after the end of
/// that field. With `empty_is_null`, empty fields become NULL.
///
/// # Panics
///
/// If a row's fields are not in `field_ends`.
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt"
)]
pub(in super::super) fn append(
    rows: &[Row],
    field_ends: &[u32],
    before: usize,
    gap_bytes: u32,
    empty_is_null: bool,
    spans: &mut Vec<Span>,
) -> Seen {
    let mut seen = Seen::default();
    let mut end_max = _mm512_setzero_si512();
    let mut any_reversed = 0;
    let mut null_count = 0;
    let gap = _mm512_set1_epi64(i64::from(gap_bytes));
    let step = _mm512_set1_epi64(before as i64);
    let neighbours = Pairs::of(field_ends);
    let (groups, rest) = rows.as_chunks::<LANES>();
    for group in groups {
        let first_fields = _mm512_srli_epi64::<32>(load_rows(group));
        let pairs = neighbours.at(_mm512_add_epi64(first_fields, step));
        let starts = _mm512_add_epi64(_mm512_and_si512(pairs, _mm512_set1_epi64(0xFFFF_FFFF)), gap);
        let ends = _mm512_srli_epi64::<32>(pairs);
        let lengths = _mm512_sub_epi64(ends, starts);
        any_reversed |= _mm512_cmpgt_epu64_mask(starts, ends);
        end_max = _mm512_max_epu64(end_max, ends);
        let mut found = _mm512_or_si512(starts, _mm512_slli_epi64::<32>(lengths));
        if empty_is_null {
            let is_empty = _mm512_testn_epi64_mask(lengths, lengths);
            null_count += is_empty.count_ones();
            found = _mm512_mask_mov_epi64(found, is_empty, _mm512_set1_epi64(0xFFFF_FFFF));
        }
        let mut group_spans = [Span::NULL; LANES];
        store_spans(found, &mut group_spans);
        spans.extend_from_slice(&group_spans);
    }
    seen.end_max = _mm512_reduce_max_epu64(end_max) as u32;
    seen.any_reversed = any_reversed != 0;
    seen.null_count = null_count as usize;
    for row in rest {
        let at = row.first_field as usize + before;
        let start = field_ends[at] + gap_bytes;
        let end = field_ends[at + 1];
        seen.end_max = seen.end_max.max(end);
        seen.any_reversed |= start > end;
        let is_null = empty_is_null && start == end;
        seen.null_count += usize::from(is_null);
        spans.push(match is_null {
            true => Span::NULL,
            false => Span {
                start,
                length: end.wrapping_sub(start),
            },
        });
    }
    seen
}

/// Does the same as [`present::bits_with`], but for eight fields at a time.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2")]
pub(in super::super) fn present_bits(spans: &[Span]) -> Vec<u8> {
    let start = _mm512_set1_epi64(0xFFFF_FFFF);
    let (groups, rest) = spans.as_chunks::<LANES>();
    let mut bits = vec![0; groups.len()];
    for (group, bits) in groups.iter().zip(&mut bits) {
        let starts = _mm512_and_si512(load_spans(group), start);
        *bits = _mm512_cmpneq_epi64_mask(starts, start);
    }
    bits.extend(present::last_byte(rest));
    bits
}
