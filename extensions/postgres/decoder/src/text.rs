//! Checks that bytes are text, like `pg_verify_mbstr`: for ASCII in every encoding, and for UTF-8.

const HIGH: u64 = 0x8080_8080_8080_8080;
const ONES: u64 = 0x0101_0101_0101_0101;

/// True if the bytes are certainly valid text in the server's encoding, without a byte 0.
///
/// If it returns `false`, the receive function decides: the bytes may be text of another encoding, or not valid.
#[inline]
pub(crate) fn is_valid(bytes: &[u8], utf8: bool) -> bool {
    let mut rest = skip_plain_ascii(bytes);
    while utf8 && !rest.is_empty() {
        let Some(behind) = skip_sequence(rest) else {
            return false;
        };
        rest = match behind.first() {
            Some(0x80..) => behind,
            _ => skip_plain_ascii(behind),
        };
    }
    rest.is_empty()
}

/// Whether valid text has no more characters than a column's limit, if it has one.
#[inline]
pub(crate) fn fits(bytes: &[u8], limit: i32) -> bool {
    match usize::try_from(limit) {
        // Most texts need no count: they have no more bytes than the limit has characters.
        Ok(most) => bytes.len() <= most || characters(bytes) <= most,
        Err(_) => true,
    }
}

/// The number of characters of valid text.
#[inline]
pub(crate) fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte as i8) >= -0x40).count()
}

/// The rest of the bytes, from the first one that is 0 or not ASCII.
#[inline]
fn skip_plain_ascii(bytes: &[u8]) -> &[u8] {
    // If all bytes are below 0x80, subtracting 1 sets the high bit of a byte 0, and otherwise only of bytes behind it.
    let marks = |word: &[u8; 8]| {
        let word = u64::from_le_bytes(*word);
        (word | word.wrapping_sub(ONES)) & HIGH
    };
    let mut rest = bytes;
    while let Some((block, behind)) = rest.split_first_chunk::<32>() {
        let (words, _) = block.as_chunks::<8>();
        if words.iter().fold(0, |seen, word| seen | marks(word)) != 0 {
            break;
        }
        rest = behind;
    }
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let marks = marks(word);
        if marks != 0 {
            let plain = marks.trailing_zeros() as usize / 8;
            return rest.get(plain..).unwrap_or(rest);
        }
        rest = behind;
    }
    while let Some((1..0x80, behind)) = rest.split_first() {
        rest = behind;
    }
    rest
}

/// The bytes behind a sequence of two to four bytes that `pg_utf8_islegal` accepts: no surrogates, no overlong forms,
/// up to U+10FFFF.
#[inline]
fn skip_sequence(bytes: &[u8]) -> Option<&[u8]> {
    const NEXT: core::ops::RangeInclusive<u8> = 0x80..=0xbf;
    let (first, behind) = bytes.split_first()?;
    let (second, more) = match first {
        0xc2..=0xdf => (NEXT, 0),
        0xe0 => (0xa0..=0xbf, 1),
        0xed => (0x80..=0x9f, 1),
        0xe1..=0xef => (NEXT, 1),
        0xf0 => (0x90..=0xbf, 2),
        0xf1..=0xf3 => (NEXT, 2),
        0xf4 => (0x80..=0x8f, 2),
        _ => return None,
    };
    let (byte, behind) = behind.split_first()?;
    let (others, behind) = behind.split_at_checked(more)?;
    let is_legal = second.contains(byte) && others.iter().all(|byte| NEXT.contains(byte));
    is_legal.then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::{characters, fits, is_valid, skip_plain_ascii};

    #[test]
    fn plain_ascii_ends_at_the_first_zero_or_high_byte() {
        for length in 0..70 {
            for place in 0..length {
                for byte in 0..=255u8 {
                    let mut bytes = [b'a'; 70];
                    bytes[place] = byte;
                    let expected = match (1..0x80).contains(&byte) {
                        true => length,
                        false => place,
                    };
                    let rest = skip_plain_ascii(&bytes[..length]);
                    assert_eq!(
                        length - rest.len(),
                        expected,
                        "byte {byte} at {place} of {length}"
                    );
                }
            }
        }
    }

    /// The answer of the standard library.
    fn is_utf8(bytes: &[u8]) -> bool {
        core::str::from_utf8(bytes).is_ok() && !bytes.contains(&0)
    }

    #[test]
    fn every_sequence_is_judged_as_the_standard_library_does() {
        let mut text = *b"before....and some more text behind it, so that blocks are full";
        for first in 0x80..=0xff {
            for second in 0..=0xff {
                text[6..8].copy_from_slice(&[first, second]);
                assert_eq!(
                    is_valid(&text, true),
                    is_utf8(&text),
                    "{first:x} {second:x}"
                );
                for third in [0, 0x41, 0x7f, 0x80, 0x9f, 0xa0, 0xbf, 0xc0, 0xff] {
                    for fourth in [0, 0x41, 0x80, 0xbf, 0xc2] {
                        text[8..10].copy_from_slice(&[third, fourth]);
                        assert_eq!(
                            is_valid(&text, true),
                            is_utf8(&text),
                            "{first:x} {second:x} {third:x} {fourth:x}"
                        );
                        for end in 7..=10 {
                            assert_eq!(is_valid(&text[..end], true), is_utf8(&text[..end]));
                        }
                    }
                }
                text[8..10].copy_from_slice(b"..");
            }
        }
    }

    #[test]
    fn characters_are_counted_and_not_bytes() {
        for (text, count) in [("", 0), ("grün", 4), ("日本語", 3), ("🦀", 1)] {
            assert!(is_valid(text.as_bytes(), true));
            assert_eq!(characters(text.as_bytes()), count as usize);
            assert!(fits(text.as_bytes(), count) && fits(text.as_bytes(), -1));
            assert!(!fits(text.as_bytes(), count - 1) || count == 0);
        }
        assert!(!is_valid("grün".as_bytes(), false));
        assert!(is_valid(b"gras", false));
    }
}
