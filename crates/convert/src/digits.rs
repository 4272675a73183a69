//! Decimal digits, eight at a time in one 64-bit word.
//!
//! A word is loaded little-endian, so its lowest byte is the first character. A field shorter than eight characters is
//! shifted up until its last character is the highest byte. The zeros that are shifted in below act as leading zeros.

use super::kernel::Window;

const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// 10^0 to 10^18.
pub(super) const POWERS_OF_TEN: [u64; 19] = {
    let mut powers = [1; 19];
    let mut index = 1;
    while index < powers.len() {
        powers[index] = powers[index - 1] * 10;
        index += 1;
    }
    powers
};

/// The eight bytes that begin at `at`.
#[inline(always)]
pub(super) fn load(window: &Window, at: usize) -> u64 {
    let bytes: [u8; 8] = window[at..at + 8].try_into().expect("eight bytes");
    u64::from_le_bytes(bytes)
}

/// The first `count` characters (1 to 8) of a word as a number; `None` if one of them is not a digit.
#[inline(always)]
pub(super) fn block(word: u64, count: usize) -> Option<u64> {
    debug_assert!((1..=8).contains(&count));
    digit_values((word ^ ASCII_ZEROS) << (64 - 8 * count))
}

/// The number whose digits are the bytes of `values`, each 0 to 9, the lowest byte first.
#[inline(always)]
pub(super) fn digit_values(values: u64) -> Option<u64> {
    // A byte above 9 has its top bit set, or gets it by the addition. A carry into the next byte can only come from
    // such a byte.
    let faults = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    // Combines neighbours to pairs, pairs to fours, fours to eight.
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let even = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
    let odd = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
    let number = even.wrapping_add(odd) >> 32;
    (faults == 0).then_some(number)
}

/// Reads eight bytes of 0 to 9 as four numbers of two digits. Each number has 16 bits, and the first two digits are in
/// the lowest bits. `None` if a byte is above 9.
#[inline(always)]
pub(super) fn pairs(values: u64) -> Option<[u32; 4]> {
    let faults = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let pair = |index: u32| (pairs >> (16 * index)) as u32 & 0xFF;
    (faults == 0).then_some([pair(0), pair(1), pair(2), pair(3)])
}

/// The characters of a word as digit values: 0 to 9 if they are digits.
#[inline(always)]
pub(super) fn values(word: u64) -> u64 {
    word ^ ASCII_ZEROS
}

/// `count` digits (1 to 18) that begin at `at` as a number; `None` if one of them is not a digit.
#[inline(always)]
pub(super) fn number(window: &Window, at: usize, count: usize) -> Option<u64> {
    if count <= 8 {
        if count == 0 {
            return None;
        }
        return block(load(window, at), count);
    }
    if count <= 16 {
        let high = block(load(window, at), count - 8)?;
        let low = block(load(window, at + count - 8), 8)?;
        return Some(high * 100_000_000 + low);
    }
    if count <= 18 {
        let high = block(load(window, at), count - 16)?;
        let middle = block(load(window, at + count - 16), 8)?;
        let low = block(load(window, at + count - 8), 8)?;
        return Some((high * 100_000_000 + middle) * 100_000_000 + low);
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::kernel::WINDOW_BYTES;
    use super::*;

    fn window(text: &str) -> Window {
        let mut window = [b'7'; WINDOW_BYTES];
        window[..text.len()].copy_from_slice(text.as_bytes());
        window
    }

    #[test]
    fn every_byte_at_every_place() {
        for place in 0..8 {
            for byte in 0..=255u8 {
                let mut word = *b"12345678";
                word[place] = byte;
                let got = block(u64::from_le_bytes(word), 8);
                let expected = std::str::from_utf8(&word)
                    .ok()
                    .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
                    .map(|text| text.parse::<u64>().expect("digits"));
                assert_eq!(got, expected, "byte {byte:#x} at {place}");
            }
        }
    }

    proptest! {
        #[test]
        fn digits_as_parsed_by_the_library(text in "[0-9]{1,18}") {
            prop_assert_eq!(number(&window(&text), 0, text.len()), text.parse().ok());
        }

        #[test]
        fn anything_else_is_refused(text in "[0-9.+ /:a-]{1,18}") {
            let expected = if text.bytes().all(|byte| byte.is_ascii_digit()) {
                text.parse().ok()
            } else {
                None
            };
            prop_assert_eq!(number(&window(&text), 0, text.len()), expected);
        }
    }
}
