//! Finds the masks 32 bytes at a time, on machines with AVX2.

use std::arch::x86_64::{
    __m256i, _mm256_cmpeq_epi8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_setzero_si256, _mm256_testz_si256,
};

use super::{BLOCK_BYTES, Masks, Needles};
use crate::vectors::load_256;

#[target_feature(enable = "avx2")]
pub(crate) fn find<const SPECIALS: usize>(
    blocks: &[[u8; BLOCK_BYTES]],
    needles: &Needles,
    masks: &mut [Masks],
) {
    let delimiter = _mm256_set1_epi8(needles.delimiter as i8);
    let newline = _mm256_set1_epi8(needles.newline as i8);
    let carriage_return = _mm256_set1_epi8(b'\r' as i8);
    let special_a = _mm256_set1_epi8(needles.special[0] as i8);
    let special_b = _mm256_set1_epi8(needles.special[1] as i8);
    let mut any_return = _mm256_setzero_si256();
    for (block, mask) in blocks.iter().zip(&mut *masks) {
        let (low, high) = halves(block);
        mask.delimiters = bits(
            _mm256_cmpeq_epi8(low, delimiter),
            _mm256_cmpeq_epi8(high, delimiter),
        );
        mask.newlines = bits(
            _mm256_cmpeq_epi8(low, newline),
            _mm256_cmpeq_epi8(high, newline),
        );
        mask.returns = 0;
        let returns = _mm256_or_si256(
            _mm256_cmpeq_epi8(low, carriage_return),
            _mm256_cmpeq_epi8(high, carriage_return),
        );
        any_return = _mm256_or_si256(any_return, returns);
        mask.specials = match SPECIALS {
            0 => 0,
            1 => bits(
                _mm256_cmpeq_epi8(low, special_a),
                _mm256_cmpeq_epi8(high, special_a),
            ),
            _ => bits(
                _mm256_or_si256(
                    _mm256_cmpeq_epi8(low, special_a),
                    _mm256_cmpeq_epi8(low, special_b),
                ),
                _mm256_or_si256(
                    _mm256_cmpeq_epi8(high, special_a),
                    _mm256_cmpeq_epi8(high, special_b),
                ),
            ),
        };
    }
    // Most files have none, so their positions are searched only if there are any.
    if _mm256_testz_si256(any_return, any_return) == 0 {
        find_returns(blocks, masks);
    }
}

#[target_feature(enable = "avx2")]
fn find_returns(blocks: &[[u8; BLOCK_BYTES]], masks: &mut [Masks]) {
    let carriage_return = _mm256_set1_epi8(b'\r' as i8);
    for (block, mask) in blocks.iter().zip(masks) {
        let (low, high) = halves(block);
        mask.returns = bits(
            _mm256_cmpeq_epi8(low, carriage_return),
            _mm256_cmpeq_epi8(high, carriage_return),
        );
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn halves(block: &[u8; BLOCK_BYTES]) -> (__m256i, __m256i) {
    let (halves, _) = block.as_chunks::<32>();
    (load_256(&halves[0]), load_256(&halves[1]))
}

#[target_feature(enable = "avx2")]
fn bits(low: __m256i, high: __m256i) -> u64 {
    let low = _mm256_movemask_epi8(low) as u32;
    let high = _mm256_movemask_epi8(high) as u32;
    u64::from(low) | u64::from(high) << 32
}
