//! The first half of a ledger key: enough to distinguish keys, in a quarter of the memory.

/// The first half of a key, which is a SHA-256 in hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyStart([u8; 16]);

impl KeyStart {
    /// The first half of a key; `None` for a text that is not a key.
    pub fn of(key: &str) -> Option<KeyStart> {
        let digits = key.get(..32)?;
        let number = u128::from_str_radix(digits, 16).ok()?;
        Some(KeyStart(number.to_be_bytes()))
    }
}
