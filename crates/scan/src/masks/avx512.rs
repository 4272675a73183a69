//! 64 bytes at a time, for machines with AVX-512: a comparison gives the mask itself.

use std::arch::x86_64::{
    __m512i, _mm512_cmpeq_epi8_mask, _mm512_loadu_si512, _mm512_mask_cmpneq_epi8_mask,
    _mm512_set1_epi8,
};

use super::{BLOCK_BYTES, Masks, Needles};

#[target_feature(enable = "avx512f,avx512bw")]
pub(super) fn find<const SPECIALS: usize>(
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
        // SAFETY: the load takes the block's 64 bytes and needs no alignment.
        let bytes = unsafe { _mm512_loadu_si512(block.as_ptr().cast::<__m512i>()) };
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
