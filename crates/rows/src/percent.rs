//! Percent-encoding of texts that become parts of URLs.

/// The bytes as a part of a URL: all but letters, digits and `-._~` as `%XX`.
pub fn percent_encoded(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_letters_digits_and_four_marks_are_encoded() {
        assert_eq!(percent_encoded(b"/tmp/a b@c"), "%2Ftmp%2Fa%20b%40c");
        assert_eq!(percent_encoded("ü-1._~".as_bytes()), "%C3%BC-1._~");
    }
}
