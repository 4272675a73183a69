//! Numbers, uuids and bytes as PostgreSQL writes them.

use std::io::Write;

/// Two digits for each number below 100.
static DIGIT_PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

const HEX_DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Appends an unsigned number, with leading zeros up to `digits_min` digits, at most 20.
pub(super) fn append_unsigned(mut number: u64, digits_min: usize, out: &mut Vec<u8>) {
    // Two digits at a time, from the last; a u64 has at most 20 digits.
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while number >= 100 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&DIGIT_PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if number >= 10 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&DIGIT_PAIRS[number as usize]);
    } else {
        start -= 1;
        digits[start] = b'0' + number as u8;
    }
    out.extend_from_slice(&digits[start.min(digits.len() - digits_min)..]);
}

/// Appends a number with its sign.
pub(super) fn append_integer(number: i64, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    append_unsigned(number.unsigned_abs(), 1, out);
}

/// Appends a scaled integer with `scale` digits after the point, 38 at most.
pub(super) fn append_decimal(value: i128, scale: usize, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    match u64::try_from(value.unsigned_abs()) {
        Ok(magnitude) if scale <= PIECE_DIGITS => {
            let unit = 10u64.pow(scale as u32);
            append_unsigned(magnitude / unit, 1, out);
            if scale > 0 {
                out.push(b'.');
                append_unsigned(magnitude % unit, scale, out);
            }
        }
        _ => append_wide_decimal(value.unsigned_abs(), scale, out),
    }
}

/// The number of digits that always fit a `u64`.
const PIECE_DIGITS: usize = 19;

fn append_wide_decimal(magnitude: u128, scale: usize, out: &mut Vec<u8>) {
    const PIECE: u128 = 10u128.pow(PIECE_DIGITS as u32);
    let pieces = [
        (magnitude / PIECE / PIECE) as u64,
        (magnitude / PIECE % PIECE) as u64,
        (magnitude % PIECE) as u64,
    ];
    // There is at least one digit before the point.
    let digits_min = scale + 1;
    let mut begun = false;
    for (index, piece) in pieces.into_iter().enumerate() {
        let digits_after_piece = (pieces.len() - 1 - index) * PIECE_DIGITS;
        if begun {
            append_unsigned(piece, PIECE_DIGITS, out);
        } else if piece > 0 || digits_min > digits_after_piece {
            append_unsigned(piece, digits_min.saturating_sub(digits_after_piece), out);
            begun = true;
        }
    }
    if scale > 0 {
        out.insert(out.len() - scale, b'.');
    }
}

/// Appends the shortest text that reads back as the same number.
pub(super) fn append_float64(number: f64, out: &mut Vec<u8>) {
    if number.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if number.is_infinite() {
        append_infinity(number > 0.0, "Infinity", out);
    } else if number == 0.0 || (1e-4..1e15).contains(&number.abs()) {
        append_formatted(format_args!("{number}"), out);
    } else {
        append_formatted(format_args!("{number:e}"), out);
    }
}

/// Appends the shortest text that reads back as the same number.
pub(super) fn append_float32(number: f32, out: &mut Vec<u8>) {
    if number.is_nan() {
        out.extend_from_slice(b"NaN");
    } else if number.is_infinite() {
        append_infinity(number > 0.0, "Infinity", out);
    } else if number == 0.0 || (1e-4..1e6).contains(&number.abs()) {
        append_formatted(format_args!("{number}"), out);
    } else {
        append_formatted(format_args!("{number:e}"), out);
    }
}

/// Appends the word for infinity, with a minus sign for the negative one.
pub(super) fn append_infinity(positive: bool, word: &str, out: &mut Vec<u8>) {
    if !positive {
        out.push(b'-');
    }
    out.extend_from_slice(word.as_bytes());
}

fn append_formatted(text: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    out.write_fmt(text).expect("writing to memory cannot fail");
}

/// Appends 16 bytes as a uuid: 8-4-4-4-12 hexadecimal digits.
pub(super) fn append_uuid(bytes: &[u8], out: &mut Vec<u8>) {
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        append_hex(*byte, out);
    }
}

/// Appends bytes in bytea's hex form. The backslash at its beginning is escaped for COPY.
pub(super) fn append_bytea(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(3 + 2 * bytes.len());
    out.extend_from_slice(b"\\\\x");
    for byte in bytes {
        append_hex(*byte, out);
    }
}

fn append_hex(byte: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[
        HEX_DIGITS[usize::from(byte >> 4)],
        HEX_DIGITS[usize::from(byte & 15)],
    ]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(append: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = b"before".to_vec();
        append(&mut out);
        let text = String::from_utf8(out).expect("ASCII");
        text.strip_prefix("before")
            .expect("only appended")
            .to_owned()
    }

    macro_rules! decimals {
        ($($name:ident: $value:expr, $scale:expr => $text:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(text(|out| append_decimal($value, $scale, out)), $text);
            })*
        };
    }

    decimals! {
        zero: 0, 0 => "0";
        zero_with_scale: 0, 2 => "0.00";
        zero_with_the_largest_scale: 0, 38 => "0.00000000000000000000000000000000000000";
        below_one: -7, 3 => "-0.007";
        whole: 1234, 2 => "12.34";
        one_piece_and_a_digit: 10i128.pow(19), 0 => "10000000000000000000";
        zeros_across_pieces: 10i128.pow(19) + 5, 19 => "1.0000000000000000005";
        three_pieces: 10i128.pow(38) + 1, 2 => "1000000000000000000000000000000000000.01";
        largest: i128::MAX, 38 => "1.70141183460469231731687303715884105727";
        smallest: i128::MIN, 0 => "-170141183460469231731687303715884105728";
    }

    macro_rules! floats {
        ($($name:ident: $append:ident($value:expr) => $text:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(text(|out| $append($value, out)), $text);
            })*
        };
    }

    floats! {
        nan: append_float64(f64::NAN) => "NaN";
        infinity: append_float64(f64::INFINITY) => "Infinity";
        minus_infinity: append_float32(f32::NEG_INFINITY) => "-Infinity";
        minus_zero: append_float64(-0.0) => "-0";
        shortest: append_float64(0.1) => "0.1";
        shortest_of_32_bits: append_float32(0.1) => "0.1";
        large: append_float64(1e300) => "1e300";
        largest_float: append_float64(f64::MAX) => "1.7976931348623157e308";
        subnormal: append_float64(5e-324) => "5e-324";
        subnormal_of_32_bits: append_float32(1e-45) => "1e-45";
    }

    #[test]
    fn a_uuid() {
        let bytes: Vec<u8> = (0..16).map(|byte| byte * 17).collect();
        assert_eq!(
            text(|out| append_uuid(&bytes, out)),
            "00112233-4455-6677-8899-aabbccddeeff"
        );
    }

    #[test]
    fn bytes_in_hex() {
        assert_eq!(text(|out| append_bytea(b"\x00\xff\\", out)), "\\\\x00ff5c");
        assert_eq!(text(|out| append_bytea(b"", out)), "\\\\x");
    }

    proptest! {
        #[test]
        fn integers(number: i64) {
            prop_assert_eq!(text(|out| append_integer(number, out)), number.to_string());
        }

        #[test]
        fn padded(number in 0..10_000_000_000u64, digits_min in 1..=20usize) {
            prop_assert_eq!(
                text(|out| append_unsigned(number, digits_min, out)),
                format!("{number:0digits_min$}")
            );
        }

        #[test]
        fn decimals_slowly(value: i128, shift in 0..128u32, scale in 0..=38usize) {
            let value = value >> shift;
            let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
            let (before, after) = digits.split_at(digits.len() - scale);
            let point = if scale == 0 { "" } else { "." };
            let sign = if value < 0 { "-" } else { "" };
            prop_assert_eq!(
                text(|out| append_decimal(value, scale, out)),
                format!("{sign}{before}{point}{after}")
            );
        }

        #[test]
        fn floats_read_back(bits: u64) {
            let number = f64::from_bits(bits);
            let back: f64 = text(|out| append_float64(number, out)).parse().expect("a number");
            prop_assert!(back.to_bits() == bits || (back.is_nan() && number.is_nan()));
            let number = f32::from_bits(bits as u32);
            let back: f32 = text(|out| append_float32(number, out)).parse().expect("a number");
            prop_assert!(back.to_bits() == bits as u32 || (back.is_nan() && number.is_nan()));
        }
    }
}
