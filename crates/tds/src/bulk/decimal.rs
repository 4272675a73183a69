//! Decimals: the bytes for a precision, and its largest number.

use crate::type_info::decimal_bytes;

/// The form of a `decimal(p,s)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Precision {
    /// The bytes of a value, including its sign: 5, 9, 13 or 17.
    pub(super) value_bytes: u8,
    /// The largest magnitude, 10^p - 1.
    pub(super) magnitude_max: u128,
}

impl Precision {
    /// The precision with this number of digits, 1 to 38.
    pub(super) fn new(digits: u8) -> Precision {
        Precision {
            value_bytes: decimal_bytes(digits),
            magnitude_max: 10u128.pow(digits.into()) - 1,
        }
    }

    /// True if a number has too many digits.
    #[inline(always)]
    pub(super) fn is_past(&self, value: i128) -> bool {
        value.unsigned_abs() > self.magnitude_max
    }
}
