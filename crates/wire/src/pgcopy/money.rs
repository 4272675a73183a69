//! The whole number that PostgreSQL stores of `money`.

use crate::error::ValueFault;

/// The number in 64 bits.
pub(crate) fn postgres_money(number: i128) -> Result<i64, ValueFault> {
    i64::try_from(number).map_err(|_| ValueFault::OutOfRange {
        value: if number < 0 { i64::MIN } else { i64::MAX },
        unit: "of the smallest coin",
        type_name: "money",
        range: "64 bits",
    })
}
