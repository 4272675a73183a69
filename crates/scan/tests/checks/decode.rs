//! Checks that a decoded field is the same as with a simple decoder that follows the rules byte by byte.

use inrush_scan::{Dialect, DialectTrim, Escape, FieldText, decode_field};

/// Checks the decoded text of `written`.
///
/// # Panics
///
/// If the decoded text is wrong.
pub fn check(dialect: &Dialect, written: &[u8]) {
    let mut scratch = b"left over".to_vec();
    let found = decode_field(written, dialect, &mut scratch);
    let expected = plain(dialect, written);
    assert_eq!(
        found.text(),
        expected.as_deref(),
        "{} {dialect:?}",
        written.escape_ascii()
    );
    if let FieldText::Written(text) = found {
        assert!(
            written.as_ptr_range().contains(&text.as_ptr()) || text.is_empty(),
            "a view is a part of what is written"
        );
    }
}

/// Decodes one byte at a time: `None` for NULL, or the text.
fn plain(dialect: &Dialect, written: &[u8]) -> Option<Vec<u8>> {
    let quoted = dialect.quote.filter(|quote| written.first() == Some(quote));
    if let Some(quote) = quoted {
        let text = unquoted(&written[1..], quote, dialect.escape);
        let is_null = dialect.null_quoted && dialect.is_null(&text);
        return (!is_null).then_some(text);
    }
    let written = trimmed(dialect, written);
    if dialect.is_null(written) {
        return None;
    }
    Some(match (dialect.quote, dialect.escape) {
        (None, Escape::Byte(escape)) => copy_text(written, escape),
        _ => written.to_vec(),
    })
}

/// The field without blanks. Blanks are found from the beginning, so an escaped blank is not removed.
fn trimmed<'a>(dialect: &Dialect, written: &'a [u8]) -> &'a [u8] {
    let escapes = dialect.quote.is_none();
    let mut is_blank = Vec::with_capacity(written.len());
    while is_blank.len() < written.len() {
        let byte = written[is_blank.len()];
        if escapes && Escape::Byte(byte) == dialect.escape {
            is_blank.extend([false, false]);
        } else {
            is_blank.push(matches!(byte, b' ' | b'\t'));
        }
    }
    is_blank.truncate(written.len());
    let first = is_blank.iter().position(|is_blank| !is_blank);
    let last = is_blank.iter().rposition(|is_blank| !is_blank);
    let start = match dialect.trim {
        DialectTrim::Start | DialectTrim::Both => first.unwrap_or(written.len()),
        DialectTrim::None | DialectTrim::End => 0,
    };
    let end = match dialect.trim {
        DialectTrim::End | DialectTrim::Both => last.map_or(start, |last| last + 1),
        DialectTrim::None | DialectTrim::Start => written.len(),
    };
    &written[start..end]
}

/// The text between quotes, and the unchanged text after the closing quote.
fn unquoted(text: &[u8], quote: u8, escape: Escape) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        if Escape::Byte(byte) == escape {
            plain.extend(text.get(at + 1));
            at += 2;
        } else if byte != quote {
            plain.push(byte);
            at += 1;
        } else if escape == Escape::DoubledQuote && text.get(at + 1) == Some(&quote) {
            plain.push(quote);
            at += 2;
        } else {
            plain.extend(&text[at + 1..]);
            break;
        }
    }
    plain
}

/// COPY's text form.
fn copy_text(text: &[u8], escape: u8) -> Vec<u8> {
    let digits = |from: usize, most: usize, radix: u32| {
        let rest = text[from..].iter().take(most);
        rest.take_while(|byte| char::from(**byte).is_digit(radix))
            .count()
    };
    let number = |from: usize, count: usize, radix: u32| {
        let number = text[from..from + count].iter().fold(0, |number, digit| {
            number * radix + char::from(*digit).to_digit(radix).expect("it is a digit")
        });
        (number & 0xff) as u8
    };
    let mut plain = Vec::new();
    let mut at = 0;
    while at < text.len() {
        if text[at] != escape {
            plain.push(text[at]);
            at += 1;
            continue;
        }
        let Some(letter) = text.get(at + 1) else {
            break;
        };
        let octal = digits(at + 1, 3, 8);
        let hex = digits(at + 2, 2, 16);
        let (byte, taken) = match letter {
            b'b' => (0x08, 2),
            b'f' => (0x0c, 2),
            b'n' => (b'\n', 2),
            b'r' => (b'\r', 2),
            b't' => (b'\t', 2),
            b'v' => (0x0b, 2),
            _ if octal > 0 => (number(at + 1, octal, 8), 1 + octal),
            b'x' if hex > 0 => (number(at + 2, hex, 16), 2 + hex),
            other => (*other, 2),
        };
        plain.push(byte);
        at += taken;
    }
    plain
}
