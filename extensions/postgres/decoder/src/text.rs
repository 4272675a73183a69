//! Checks that bytes are text, like `pg_verify_mbstr`: for ASCII in every encoding, and for UTF-8.

/// The number of characters, if the bytes are surely valid text of the server's encoding without a byte 0.
///
/// `None` leaves the decision to the receive function: text of another encoding than UTF-8, or not valid.
#[inline]
pub(crate) fn characters(bytes: &[u8], utf8: bool) -> Option<usize> {
    if is_plain_ascii(bytes) {
        return Some(bytes.len());
    }
    if !utf8 || bytes.contains(&0) {
        return None;
    }
    // PostgreSQL's `pg_utf8_islegal` accepts the same sequences: no surrogates, no overlong forms, up to U+10FFFF.
    core::str::from_utf8(bytes).ok()?;
    Some(bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count())
}

/// True if all bytes are ASCII, and none is 0.
#[inline]
fn is_plain_ascii(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    const ONES: u64 = 0x0101_0101_0101_0101;
    let (words, rest) = bytes.as_chunks::<8>();
    // If all bytes are below 0x80, subtracting one sets the high bit only of a 0, or of a byte after a 0, which is just
    // as good.
    let mut seen = 0;
    for word in words {
        let word = u64::from_le_bytes(*word);
        seen |= word | word.wrapping_sub(ONES);
    }
    for byte in rest {
        seen |= u64::from(*byte) | u64::from(byte.wrapping_sub(1));
    }
    seen & HIGH == 0
}

#[cfg(test)]
mod tests {
    use super::{characters, is_plain_ascii};

    #[test]
    fn plain_ascii_is_neither_zero_nor_high() {
        for length in 0..20 {
            for place in 0..length {
                for byte in 0..=255u8 {
                    let mut bytes = [b'a'; 20];
                    bytes[place] = byte;
                    assert_eq!(
                        is_plain_ascii(&bytes[..length]),
                        (1..0x80).contains(&byte),
                        "byte {byte} at {place} of {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        assert_eq!(characters("".as_bytes(), true), Some(0));
        assert_eq!(characters("grün".as_bytes(), true), Some(4));
        assert_eq!(characters("日本語".as_bytes(), true), Some(3));
        assert_eq!(characters("🦀".as_bytes(), true), Some(1));
        assert_eq!(characters("grün".as_bytes(), false), None);
        assert_eq!(characters(b"a\0\xc3\xbc", true), None);
        assert_eq!(characters(b"\xed\xa0\x80", true), None, "a surrogate");
        assert_eq!(characters(b"\xc0\x80", true), None, "overlong");
    }
}
