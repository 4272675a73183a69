//! Machines other than x86-64: the portable kernels read every field.

use super::super::date::Date;
use super::super::decimal::Decimal;
use super::super::integer::{Integer, Native};
use super::super::timestamp::Timestamp;
use super::EightKernel;

impl<N: Native> EightKernel for Integer<N> {
    fn takes_eight(&self) -> bool {
        false
    }
}

impl EightKernel for Decimal {
    fn takes_eight(&self) -> bool {
        false
    }
}

impl EightKernel for Date {
    fn takes_eight(&self) -> bool {
        false
    }
}

impl EightKernel for Timestamp {
    fn takes_eight(&self) -> bool {
        false
    }
}
