//! The one byte of a `"char"`, whose Arrow type is text.

/// The byte that a text stands for: an ASCII character is itself, an empty text the byte 0, and `\\ooo` a byte in octal.
pub(super) fn byte_of(text: &[u8]) -> u8 {
    match text {
        [] => 0,
        [b'\\', first, second, third] => [first, second, third]
            .iter()
            .fold(0u8, |value, digit| value << 3 | (**digit & 7)),
        [first, ..] => *first,
    }
}

#[cfg(test)]
mod tests {
    use super::byte_of;

    #[test]
    fn every_byte_has_a_text() {
        for byte in 1..128u8 {
            assert_eq!(byte_of(&[byte]), byte);
        }
        for byte in 0..=255u8 {
            assert_eq!(byte_of(format!("\\{byte:03o}").as_bytes()), byte);
        }
        assert_eq!(byte_of(b""), 0);
    }
}
