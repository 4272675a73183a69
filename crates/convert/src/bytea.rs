//! Bytes in PostgreSQL's forms: `\x` and hex digits, or text in which `\\` is a backslash and `\ooo` a byte in octal.

use std::sync::Arc;

use arrow_array::builder::BinaryViewBuilder;
use arrow_array::{ArrayRef, BinaryViewArray};
use arrow_buffer::NullBuffer;

use super::error::ValueError;
use super::fields::Fields;
use super::kernel::Fault;
use super::uuid::HEX_VALUES;

/// The array of a column of bytes.
pub(super) fn array(
    fields: &Fields<'_>,
    nulls: Option<NullBuffer>,
    faults: &mut Vec<Fault>,
) -> ArrayRef {
    let mut builder = BinaryViewBuilder::with_capacity(fields.spans.len());
    let mut bytes = Vec::new();
    for row in 0..fields.spans.len() {
        let Some(field) = fields.field(row) else {
            builder.append_null();
            continue;
        };
        bytes.clear();
        if let Err(error) = decode(field, &mut bytes) {
            faults.push(Fault { row, error });
            bytes.clear();
        }
        builder.append_value(&bytes);
    }
    let array: BinaryViewArray = builder.finish();
    let (views, buffers, _) = array.into_parts();
    Arc::new(BinaryViewArray::new(views, buffers, nulls))
}

/// Checks the bytes of one field.
pub(super) fn check(field: &[u8]) -> Result<(), ValueError> {
    decode(field, &mut Vec::new())
}

fn decode(field: &[u8], bytes: &mut Vec<u8>) -> Result<(), ValueError> {
    match field.strip_prefix(b"\\x") {
        Some(hex) => decode_hex(hex, bytes),
        None => decode_escaped(field, bytes),
    }
}

/// Decodes pairs of hex digits; blanks and line ends may be between pairs.
fn decode_hex(hex: &[u8], bytes: &mut Vec<u8>) -> Result<(), ValueError> {
    bytes.reserve(hex.len() / 2);
    let mut rest = hex;
    loop {
        match rest {
            [] => return Ok(()),
            [b' ' | b'\n' | b'\t' | b'\r', after @ ..] => rest = after,
            [high, low, after @ ..] => {
                let (high_value, low_value) = (
                    HEX_VALUES[usize::from(*high)],
                    HEX_VALUES[usize::from(*low)],
                );
                if high_value > 15 || low_value > 15 {
                    let at = hex.len() - rest.len() + 3 + usize::from(high_value <= 15);
                    return Err(ValueError::syntax(format!(
                        "character {at} of the value is not a hex digit, but only hex digits may \
                         follow \\x; likely the export cut the value"
                    )));
                }
                bytes.push(high_value << 4 | low_value);
                rest = after;
            }
            [_] => {
                return Err(ValueError::syntax(
                    "an odd number of hex digits follows \\x; likely the export cut the value",
                ));
            }
        }
    }
}

/// Decodes text with `\\` and `\ooo`, whose first octal digit is 0 to 3.
fn decode_escaped(text: &[u8], bytes: &mut Vec<u8>) -> Result<(), ValueError> {
    bytes.reserve(text.len());
    let mut rest = text;
    while let Some((byte, after)) = rest.split_first() {
        if *byte != b'\\' {
            bytes.push(*byte);
            rest = after;
            continue;
        }
        match after {
            [b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [
                high @ b'0'..=b'3',
                middle @ b'0'..=b'7',
                low @ b'0'..=b'7',
                after @ ..,
            ] => {
                bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest = after;
            }
            _ => {
                return Err(ValueError::syntax(format!(
                    "neither another backslash nor three octal digits (000 to 377) follow the \
                     backslash at byte {} of the value; write bytes as \\x and hex digits",
                    text.len() - rest.len() + 1
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decoded(text: &str) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        decode(text.as_bytes(), &mut bytes).ok().map(|()| bytes)
    }

    macro_rules! bytes {
        ($($name:ident: $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                let expected: Option<&[u8]> = $expected;
                assert_eq!(decoded($text).as_deref(), expected);
            })*
        };
    }

    bytes! {
        empty: "" => Some(b"");
        hex_empty: "\\x" => Some(b"");
        hex: "\\x41ff00" => Some(&[0x41, 0xff, 0x00]);
        hex_upper: "\\xAB" => Some(&[0xab]);
        hex_blanks: "\\x41 42\n43 " => Some(b"ABC");
        hex_blank_in_pair: "\\x4 142" => None;
        hex_odd: "\\x414" => None;
        hex_not: "\\x4g" => None;
        upper_x: "\\X41" => None;
        plain: "abc" => Some(b"abc");
        not_ascii: "ä" => Some(&[0xc3, 0xa4]);
        backslash: "a\\\\b" => Some(b"a\\b");
        octal: "a\\001\\377" => Some(&[b'a', 1, 255]);
        octal_past: "\\400" => None;
        octal_short: "a\\1b" => None;
        backslash_alone: "a\\" => None;
        blanks_stay: " a " => Some(b" a ");
    }

    proptest! {
        #[test]
        fn every_value_survives_as_hex(value: Vec<u8>) {
            let hex: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
            prop_assert_eq!(decoded(&format!("\\x{hex}")), Some(value));
        }

        #[test]
        fn every_value_survives_as_octal(value: Vec<u8>) {
            let octal: String = value.iter().map(|byte| format!("\\{byte:03o}")).collect();
            prop_assert_eq!(decoded(&octal), Some(value));
        }
    }
}
