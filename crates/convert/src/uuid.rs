//! UUIDs in the forms that PostgreSQL accepts: 32 hex digits, optionally a hyphen after any group of four, optionally
//! braces around all.

use super::error::ValueError;
use super::kernel::{Kernel, Window};

/// Converts UUIDs.
pub(super) struct Uuid;

/// The value of a hex digit; 16 for any other byte.
pub(super) const HEX_VALUES: [u8; 256] = {
    let mut values = [16; 256];
    let mut digit = 0;
    while digit < 16 {
        values[b"0123456789abcdef"[digit] as usize] = digit as u8;
        values[b"0123456789ABCDEF"[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

impl Kernel for Uuid {
    type Native = [u8; 16];

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<[u8; 16]> {
        if length != 36 {
            return None;
        }
        if [8, 13, 18, 23].iter().any(|at| window[*at] != b'-') {
            return None;
        }
        // The position of each pair of digits.
        const PAIRS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
        let mut bytes = [0; 16];
        let mut faults = 0;
        for (byte, at) in bytes.iter_mut().zip(PAIRS) {
            let high = HEX_VALUES[usize::from(window[at])];
            let low = HEX_VALUES[usize::from(window[at + 1])];
            faults |= high | low;
            *byte = high << 4 | low & 0xF;
        }
        (faults < 16).then_some(bytes)
    }

    fn exact(&self, field: &[u8]) -> Result<[u8; 16], ValueError> {
        parse(field).ok_or_else(|| {
            let cause = if field.is_empty() {
                "the field is empty: if that means NULL, set null = \"\" in the format"
            } else {
                "write 32 hex digits, as in 123e4567-e89b-12d3-a456-426614174000, without blanks"
            };
            ValueError::syntax(format!("not a UUID; {cause}"))
        })
    }
}

fn parse(field: &[u8]) -> Option<[u8; 16]> {
    let text = match field {
        [b'{', inner @ .., b'}'] => inner,
        text => text,
    };
    let mut bytes = [0; 16];
    let mut rest = text;
    for (index, byte) in bytes.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else {
            return None;
        };
        let (high, low) = (
            HEX_VALUES[usize::from(*high)],
            HEX_VALUES[usize::from(*low)],
        );
        if high > 15 || low > 15 {
            return None;
        }
        *byte = high << 4 | low;
        rest = after;
        if index % 2 == 1 && index < 15 {
            rest = rest.strip_prefix(b"-").unwrap_or(rest);
        }
    }
    rest.is_empty().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    const EXPECTED: [u8; 16] = [
        0xa0, 0xee, 0xbc, 0x99, 0x9c, 0x0b, 0x4e, 0xf8, 0xbb, 0x6d, 0x6b, 0xb9, 0xbd, 0x38, 0x0a,
        0x11,
    ];

    #[test]
    fn forms_of_postgresql() {
        for text in [
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}",
            "a0eebc999c0b4ef8bb6d6bb9bd380a11",
            "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11",
            "{a0eebc99-9c0b4ef8-bb6d6bb9-bd380a11}",
            "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11",
        ] {
            assert_eq!(both_paths(&Uuid, text), Ok(EXPECTED), "{text}");
        }
    }

    #[test]
    fn other_forms() {
        for text in [
            "",
            "{}",
            " a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc9-99c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11-",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1g",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1`",
            "{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            "a0eebc99--9c0b4ef8-bb6d-6bb9bd380a11",
        ] {
            assert!(both_paths(&Uuid, text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_value_survives(value: u128) {
            let hex = format!("{value:032x}");
            let text = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
            prop_assert_eq!(both_paths(&Uuid, &text), Ok(value.to_be_bytes()));
        }

        #[test]
        fn paths_agree(text in "[0-9a-fA-Fg-]{36}") {
            let _ = both_paths(&Uuid, &text);
        }
    }
}
