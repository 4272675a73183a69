//! Finds the masks 16 bytes at a time, on every x86-64.

use std::arch::x86_64::{__m128i, _mm_cmpeq_epi8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8};

use super::{BLOCK_BYTES, Masks, Needles};
use crate::vectors::load_128;

#[target_feature(enable = "sse2")]
pub(crate) fn find<const SPECIALS: usize>(
    blocks: &[[u8; BLOCK_BYTES]],
    needles: &Needles,
    masks: &mut [Masks],
) {
    let delimiter = _mm_set1_epi8(needles.delimiter as i8);
    let newline = _mm_set1_epi8(needles.newline as i8);
    let carriage_return = _mm_set1_epi8(b'\r' as i8);
    let special_a = _mm_set1_epi8(needles.special[0] as i8);
    let special_b = _mm_set1_epi8(needles.special[1] as i8);
    for (block, mask) in blocks.iter().zip(masks) {
        *mask = Masks::default();
        for (index, lane) in block.as_chunks::<16>().0.iter().enumerate() {
            let bytes = load_128(lane);
            let shift = index * 16;
            mask.delimiters |= bits(_mm_cmpeq_epi8(bytes, delimiter)) << shift;
            mask.newlines |= bits(_mm_cmpeq_epi8(bytes, newline)) << shift;
            mask.returns |= bits(_mm_cmpeq_epi8(bytes, carriage_return)) << shift;
            let special = match SPECIALS {
                0 => continue,
                1 => _mm_cmpeq_epi8(bytes, special_a),
                _ => _mm_or_si128(
                    _mm_cmpeq_epi8(bytes, special_a),
                    _mm_cmpeq_epi8(bytes, special_b),
                ),
            };
            mask.specials |= bits(special) << shift;
        }
    }
}

#[target_feature(enable = "sse2")]
fn bits(lane: __m128i) -> u64 {
    // 16 bits; the upper half of the result is zero.
    u64::from(_mm_movemask_epi8(lane) as u32)
}
