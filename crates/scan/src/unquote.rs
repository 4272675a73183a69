//! Decodes a written field to its text: removes quotes, decodes escapes, and tells NULL from an empty text.
//!
//! Only fields of records flagged [`escaped`](crate::Record::escaped) need this. In all other records the text of a
//! field is the written one, trimmed by the dialect's rule, and it is only compared with the NULL markers.

use crate::dialect::{Dialect, Escape};

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldText<'a> {
    /// NULL: the field is one of the dialect's markers.
    Null,
    /// The text is a part of the written field, so a view into the chunk is enough.
    Written(&'a [u8]),
    /// The text was put together in `scratch`.
    Unescaped(&'a [u8]),
}

impl<'a> FieldText<'a> {
    /// The text; `None` for NULL.
    #[inline]
    pub fn text(self) -> Option<&'a [u8]> {
        match self {
            FieldText::Null => None,
            FieldText::Written(text) | FieldText::Unescaped(text) => Some(text),
        }
    }
}

/// Decodes one field; `written` is the text at the positions that [`Records::field`](crate::Records::field) returns.
///
/// A field that begins with the quote is quoted, and is NULL only if the dialect allows that. Any other field is
/// trimmed by the dialect's rule, and compared with the NULL markers before escapes are decoded. `scratch` is used only
/// if bytes have to move; its earlier content is lost.
///
/// Fields of records with a fault have no defined meaning: some text is returned, without a panic.
pub fn decode_field<'a>(
    written: &'a [u8],
    dialect: &Dialect,
    scratch: &'a mut Vec<u8>,
) -> FieldText<'a> {
    if let Some(quote) = dialect.quote
        && written.first() == Some(&quote)
    {
        let decoded = decode_quoted(&written[1..], quote, dialect.escape, scratch);
        let is_null = |text| dialect.null_quoted && dialect.is_null(text);
        return match decoded.text() {
            Some(text) if is_null(text) => FieldText::Null,
            _ => decoded,
        };
    }
    let written = dialect.trimmed(written);
    if dialect.is_null(written) {
        return FieldText::Null;
    }
    match (dialect.quote, dialect.escape) {
        (None, Escape::Byte(escape)) if written.contains(&escape) => {
            decode_copy_text(written, escape, scratch)
        }
        _ => FieldText::Written(written),
    }
}

/// `rest` is the text after the opening quote, including the closing quote.
fn decode_quoted<'a>(
    rest: &'a [u8],
    quote: u8,
    escape: Escape,
    scratch: &'a mut Vec<u8>,
) -> FieldText<'a> {
    let is_special = |byte: &u8| *byte == quote || Escape::Byte(*byte) == escape;
    match rest.iter().position(is_special) {
        // Nothing to decode: the first special byte is the closing quote.
        Some(at) if at + 1 == rest.len() && rest[at] == quote => {
            return FieldText::Written(&rest[..at]);
        }
        Some(_) => {}
        // An unclosed quote.
        None => return FieldText::Written(rest),
    }
    scratch.clear();
    let mut bytes = rest.iter().copied();
    while let Some(byte) = bytes.next() {
        if Escape::Byte(byte) == escape {
            scratch.extend(bytes.next());
        } else if byte == quote {
            // The second quote of a doubled quote is kept. A single quote closes the field; text after it is a fault
            // of the record, and is kept unchanged.
            let mut ahead = bytes.clone();
            match ahead.next() {
                Some(next) if next == quote && escape == Escape::DoubledQuote => {
                    scratch.push(quote);
                    bytes = ahead;
                }
                _ => {
                    scratch.extend(bytes);
                    break;
                }
            }
        } else {
            scratch.push(byte);
        }
    }
    FieldText::Unescaped(scratch)
}

/// COPY's text form, as PostgreSQL's documentation of COPY has it: "`\b` backspace, `\f` form
/// feed, `\n` newline, `\r` carriage return, `\t` tab, `\v` vertical tab, `\digits` one to
/// three octal digits, `\xdigits` one or two hex digits; any other backslashed character
/// stands for itself". An octal number past 255 loses its ninth bit, as in the server.
fn decode_copy_text<'a>(written: &'a [u8], escape: u8, scratch: &'a mut Vec<u8>) -> FieldText<'a> {
    scratch.clear();
    let mut rest = written;
    while let Some(at) = rest.iter().position(|byte| *byte == escape) {
        scratch.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        let Some((&letter, after)) = rest.split_first() else {
            break;
        };
        rest = after;
        let byte = match letter {
            b'b' => 0x08,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            b'0'..=b'7' => {
                let mut value = letter - b'0';
                for _ in 0..2 {
                    match rest.split_first() {
                        Some((digit @ b'0'..=b'7', after)) => {
                            // Shifts the ninth bit out.
                            value = (value << 3) | (digit - b'0');
                            rest = after;
                        }
                        _ => break,
                    }
                }
                value
            }
            b'x' => match hex_digit(rest.first()) {
                None => b'x',
                Some(high) => {
                    rest = &rest[1..];
                    match hex_digit(rest.first()) {
                        None => high,
                        Some(low) => {
                            rest = &rest[1..];
                            (high << 4) | low
                        }
                    }
                }
            },
            other => other,
        };
        scratch.push(byte);
    }
    scratch.extend_from_slice(rest);
    FieldText::Unescaped(scratch)
}

fn hex_digit(byte: Option<&u8>) -> Option<u8> {
    // A hex digit is below 16.
    byte.and_then(|byte| char::from(*byte).to_digit(16))
        .map(|digit| digit as u8)
}
