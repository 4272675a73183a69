//! Escapes of COPY's text form.
//!
//! "Backslash characters (\) can be used in the COPY data to quote data characters that might otherwise be taken as row
//! or column delimiters." COPY TO escapes the backslash and the six control characters from backspace to carriage
//! return, for which COPY has letters. This module does the same.

/// The number of bytes that are checked together.
const BLOCK_BYTES: usize = 16;

/// Appends a text with its special bytes escaped.
pub(super) fn append_escaped(text: &[u8], out: &mut Vec<u8>) {
    // Most texts have nothing to escape: this is checked in blocks, for which the compiler uses SIMD, and plain text is
    // copied in one piece.
    let mut plain_start = 0;
    let mut position = 0;
    while position < text.len() {
        let rest = &text[position..];
        if let Some(block) = rest.first_chunk::<BLOCK_BYTES>()
            && !has_special(block)
        {
            position += BLOCK_BYTES;
            continue;
        }
        let window = &rest[..rest.len().min(BLOCK_BYTES)];
        let Some(index) = window.iter().position(|&byte| is_special(byte)) else {
            position += window.len();
            continue;
        };
        let special = position + index;
        out.extend_from_slice(&text[plain_start..special]);
        out.extend_from_slice(&[b'\\', letter(text[special])]);
        position = special + 1;
        plain_start = position;
    }
    out.extend_from_slice(&text[plain_start..]);
}

/// True if any byte of a block is special.
fn has_special(block: &[u8; BLOCK_BYTES]) -> bool {
    block
        .iter()
        .fold(false, |any, &byte| any | is_special(byte))
}

fn is_special(byte: u8) -> bool {
    byte == b'\\' || byte.wrapping_sub(0x08) <= 0x0d - 0x08
}

/// The letter after the backslash.
fn letter(special: u8) -> u8 {
    match special {
        0x08 => b'b',
        b'\t' => b't',
        b'\n' => b'n',
        0x0b => b'v',
        0x0c => b'f',
        b'\r' => b'r',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::append_escaped;

    /// The simple twin: one byte at a time.
    fn escape_slowly(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for &byte in text {
            match byte {
                b'\\' => out.extend_from_slice(b"\\\\"),
                b'\x08' => out.extend_from_slice(b"\\b"),
                b'\t' => out.extend_from_slice(b"\\t"),
                b'\n' => out.extend_from_slice(b"\\n"),
                b'\x0b' => out.extend_from_slice(b"\\v"),
                b'\x0c' => out.extend_from_slice(b"\\f"),
                b'\r' => out.extend_from_slice(b"\\r"),
                other => out.push(other),
            }
        }
        out
    }

    fn escape(text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        append_escaped(text, &mut out);
        out
    }

    macro_rules! escapes_to {
        ($name:ident, $text:expr, $escaped:expr) => {
            #[test]
            fn $name() {
                assert_eq!(String::from_utf8_lossy(&escape($text.as_bytes())), $escaped);
            }
        };
    }

    escapes_to!(nothing, "", "");
    escapes_to!(
        plain,
        "plain text, longer than a block",
        "plain text, longer than a block"
    );
    escapes_to!(the_null_marker, "\\N", "\\\\N");
    escapes_to!(the_end_marker, "\\.", "\\\\.");
    escapes_to!(line_ends, "a\r\nb", "a\\r\\nb");
    escapes_to!(
        all_with_letters,
        "\x08\t\n\x0b\x0c\r\\",
        "\\b\\t\\n\\v\\f\\r\\\\"
    );
    escapes_to!(neighbours_stay, "\x07\x0e[]\u{e000}", "\x07\x0e[]\u{e000}");
    escapes_to!(
        at_the_end_of_a_block,
        "123456789012345\t6",
        "123456789012345\\t6"
    );

    #[test]
    fn every_byte_at_every_place() {
        for byte in 0..=255u8 {
            for place in 0..40 {
                let mut text = [b'x'; 40];
                text[place] = byte;
                assert_eq!(escape(&text), escape_slowly(&text), "{byte} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn as_its_twin(text in proptest::collection::vec(
            prop_oneof![4 => any::<u8>(), 1 => 0x08..=0x0du8, 1 => Just(b'\\')], 0..100,
        )) {
            prop_assert_eq!(escape(&text), escape_slowly(&text));
        }
    }
}
