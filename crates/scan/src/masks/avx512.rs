//! Finds the masks 64 bytes at a time, on machines with AVX-512: a comparison gives the mask itself.

use std::arch::x86_64::{_mm512_cmpeq_epi8_mask, _mm512_mask_cmpneq_epi8_mask, _mm512_set1_epi8};

use super::{BLOCK_BYTES, Masks, Needles};
use crate::vectors::load_512;

#[target_feature(enable = "avx512f,avx512bw")]
pub(crate) fn find<const SPECIALS: usize>(
    blocks: &[[u8; BLOCK_BYTES]],
    needles: &Needles,
    masks: &mut [Masks],
) {
    let delimiter = _mm512_set1_epi8(needles.delimiter as i8);
    let newline = _mm512_set1_epi8(needles.newline as i8);
    let carriage_return = _mm512_set1_epi8(b'\r' as i8);
    let special_a = _mm512_set1_epi8(needles.special[0] as i8);
    let special_b = _mm512_set1_epi8(needles.special[1] as i8);
    for (block, mask) in blocks.iter().zip(masks) {
        let bytes = load_512(block);
        mask.delimiters = _mm512_cmpeq_epi8_mask(bytes, delimiter);
        mask.newlines = _mm512_cmpeq_epi8_mask(bytes, newline);
        mask.returns = _mm512_cmpeq_epi8_mask(bytes, carriage_return);
        mask.specials = match SPECIALS {
            0 => 0,
            1 => _mm512_cmpeq_epi8_mask(bytes, special_a),
            _ => {
                let neither = _mm512_mask_cmpneq_epi8_mask(u64::MAX, bytes, special_a);
                !_mm512_mask_cmpneq_epi8_mask(neither, bytes, special_b)
            }
        };
    }
}
