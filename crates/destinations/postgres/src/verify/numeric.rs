//! `numeric` in the form that the server stores and `numeric_send` returns. It is built here a second time, slowly and
//! simply, so that an error of the encoder in `pgcopy` is not repeated.
//!
//! The form has four int16s: the number of digits, the weight of the first, the sign, and the number of displayed
//! digits after the point. Then come the digits to base 10000, aligned at the point, without zeros at the ends.

const SIGN_NEGATIVE: u16 = 0x4000;
const GROUP_DIGITS: usize = 4;

/// The form of a whole number with `scale` of its digits after the point.
pub(super) fn of_decimal(value: i128, scale: u8, out: &mut Vec<u8>) {
    let scale = usize::from(scale);
    // The lowest group has fewer digits of the number if the point does not fall between two groups.
    let padding = (GROUP_DIGITS - scale % GROUP_DIGITS) % GROUP_DIGITS;
    let unit = 10_u128.pow((GROUP_DIGITS - padding) as u32);
    let mut rest = value.unsigned_abs();
    // The lowest group first; 39 digits and the padding make eleven groups at most.
    let mut groups = [0_u16; 11];
    let mut count = 0;
    if padding > 0 {
        groups[0] = ((rest % unit) as u16) * 10_u16.pow(padding as u32);
        rest /= unit;
        count = 1;
    }
    while rest > u128::from(u64::MAX) {
        groups[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    let mut rest = rest as u64;
    while rest > 0 {
        groups[count] = (rest % 10_000) as u16;
        rest /= 10_000;
        count += 1;
    }
    let groups_after_point = scale.div_ceil(GROUP_DIGITS);
    let weight = count as i32 - 1 - groups_after_point as i32;
    let digits = groups[..count].iter().rev().copied();
    put(value < 0, scale, weight, digits, out);
}

/// The form of a number as it is written, `-?digits[.digits]`, or of `NaN` and the infinities. `scale` is the number of
/// digits after the point that the column stores. It is `None` for a column without a bound, which stores the digits
/// that are written.
pub(super) fn of_text(text: &str, scale: Option<u16>, out: &mut Vec<u8>) {
    // `numeric_send` writes these values with a special sign and scale, and without digits.
    let special = match text {
        "NaN" => Some([0, 0, 0xC000, 0]),
        "Infinity" => Some([0, 0, 0xD000, 0x20]),
        "-Infinity" => Some([0, 0, 0xF000, 0x20]),
        _ => None,
    };
    if let Some(words) = special {
        words
            .into_iter()
            .for_each(|word: u16| out.extend_from_slice(&word.to_be_bytes()));
        return;
    }
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let (first, others) = whole.as_bytes().split_at(whole.len() % GROUP_DIGITS);
    let first = (!first.is_empty()).then_some(first);
    let group = |digits: &[u8]| {
        let number = digits
            .iter()
            .fold(0, |number, digit| number * 10 + u16::from(digit - b'0'));
        number * 10_u16.pow((GROUP_DIGITS - digits.len()) as u32)
    };
    let whole_groups = first
        .into_iter()
        .map(|digits| {
            digits
                .iter()
                .fold(0, |number, digit| number * 10 + u16::from(digit - b'0'))
        })
        .chain(others.chunks(GROUP_DIGITS).map(group));
    let groups: Vec<u16> = whole_groups
        .chain(fraction.as_bytes().chunks(GROUP_DIGITS).map(group))
        .collect();
    let weight = whole.len().div_ceil(GROUP_DIGITS) as i32 - 1;
    let scale = scale.map_or(fraction.len(), usize::from);
    put(negative, scale, weight, groups.into_iter(), out);
}

/// Writes the groups, the highest first; `weight` is the weight of the first one.
fn put(
    negative: bool,
    scale: usize,
    weight: i32,
    groups: impl Iterator<Item = u16>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let digits_start = out.len();
    let mut weight = weight;
    let mut end = digits_start;
    for group in groups {
        if group == 0 && end == digits_start {
            weight -= 1;
            continue;
        }
        out.extend_from_slice(&group.to_be_bytes());
        if group != 0 {
            end = out.len();
        }
    }
    out.truncate(end);
    let count = (end - digits_start) / 2;
    let (weight, sign) = match (count, negative) {
        (0, _) => (0, 0),
        (_, false) => (weight, 0),
        (_, true) => (weight, SIGN_NEGATIVE),
    };
    let words = [count as u16, weight as i16 as u16, sign, scale as u16];
    for (place, word) in out[start..digits_start].chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(form: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        form(&mut out);
        out.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The results of PostgreSQL's `numeric_send`.
    #[test]
    fn forms_are_the_servers() {
        let text = |text: &str, scale| hex(|out| of_text(text, scale, out));
        let decimal = |value, scale| hex(|out| of_decimal(value, scale, out));
        assert_eq!(text("Infinity", None), "00000000d0000020");
        assert_eq!(text("-Infinity", None), "00000000f0000020");
        assert_eq!(text("NaN", None), "00000000c0000000");
        assert_eq!(text("0.00", None), "0000000000000002");
        assert_eq!(decimal(0, 2), "0000000000000002");
        assert_eq!(decimal(-150, 2), "000200004000000200011388");
        assert_eq!(text("-1.50", Some(2)), "000200004000000200011388");
        assert_eq!(text("100000000", None), "00010002000000000001");
        assert_eq!(text("0.00010000", None), "0001ffff000000080001");
    }

    proptest! {
        #[test]
        fn both_ways_agree(value in -(10_i128.pow(38) - 1)..10_i128.pow(38), scale in 0..39_u8) {
            let magnitude = format!("{:0>width$}", value.unsigned_abs(), width = usize::from(scale) + 1);
            let (whole, fraction) = magnitude.split_at(magnitude.len() - usize::from(scale));
            let sign = if value < 0 { "-" } else { "" };
            let text = if scale == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") };
            prop_assert_eq!(
                hex(|out| of_decimal(value, scale, out)),
                hex(|out| of_text(&text, None, out))
            );
        }
    }
}
