//! Finds the masks 8 bytes at a time in ordinary registers, on every machine.

use super::{BLOCK_BYTES, Masks, Needles};

pub(crate) fn find<const SPECIALS: usize>(
    blocks: &[[u8; BLOCK_BYTES]],
    needles: &Needles,
    masks: &mut [Masks],
) {
    for (block, mask) in blocks.iter().zip(masks) {
        *mask = Masks::default();
        for (index, bytes) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*bytes);
            let shift = index * 8;
            mask.delimiters |= equal_bytes(word, needles.delimiter) << shift;
            mask.newlines |= equal_bytes(word, needles.newline) << shift;
            mask.returns |= equal_bytes(word, b'\r') << shift;
            for special in &needles.special[..SPECIALS] {
                mask.specials |= equal_bytes(word, *special) << shift;
            }
        }
    }
}

/// One bit for each of the eight bytes that equals `needle`.
fn equal_bytes(word: u64, needle: u8) -> u64 {
    const LOW_SEVEN: u64 = u64::from_ne_bytes([0x7f; 8]);
    let difference = word ^ u64::from_ne_bytes([needle; 8]);
    // The top bit of each byte is set if the byte is not zero. This is exact, because adding to the low seven bits
    // cannot carry into the next byte.
    let unequal = ((difference & LOW_SEVEN) + LOW_SEVEN) | difference;
    let equal = !unequal & !LOW_SEVEN;
    // Gathers the eight top bits in the top byte: bit 7 + 8 i goes to bit 56 + i.
    (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}
