//! Decimals: the bytes of a value, and the largest number of a precision.

/// The form of a `decimal(p,s)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Precision {
    /// The bytes of a value, including its sign, as the server describes the column: 5, 9, 13 or 17. SQL Server
    /// describes the fewest that hold the precision; Babelfish describes 17 for all, and reads as many.
    pub(super) value_bytes: u8,
    /// The largest magnitude, 10^p - 1.
    pub(super) magnitude_max: u128,
}

impl Precision {
    /// The precision with this number of digits, 1 to 38, whose values have this number of bytes.
    pub(super) fn new(digits: u8, value_bytes: u8) -> Precision {
        Precision {
            value_bytes,
            magnitude_max: 10u128.pow(digits.into()) - 1,
        }
    }

    /// True if a number has too many digits.
    #[inline(always)]
    pub(super) fn is_past(&self, value: i128) -> bool {
        value.unsigned_abs() > self.magnitude_max
    }
}
