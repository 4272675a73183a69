//! Integers: an optional sign and digits.

use std::marker::PhantomData;

use super::digits;
use super::error::ValueError;
use super::kernel::{Kernel, Window, trim};
use super::number::{is_not_finite, literal, not_a_number};

/// Converts integers of one width.
pub(super) struct Integer<N> {
    native: PhantomData<N>,
}

impl<N> Integer<N> {
    pub fn new() -> Integer<N> {
        Integer {
            native: PhantomData,
        }
    }
}

/// An integer of one width.
pub(super) trait Native: Copy + Default + TryFrom<i64> {
    /// Its name in SQL and its limits.
    const RANGE: &'static str;
}

impl Native for i16 {
    const RANGE: &'static str = "smallint (-32768 to 32767); integer or bigint holds more";
}

impl Native for i32 {
    const RANGE: &'static str = "integer (-2147483648 to 2147483647); bigint holds more";
}

impl Native for i64 {
    const RANGE: &'static str =
        "bigint (-9223372036854775808 to 9223372036854775807); numeric holds more";
}

impl<N: Native> Kernel for Integer<N> {
    type Native = N;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<N> {
        let is_negative = window[0] == b'-';
        let sign = usize::from(is_negative);
        let size = digits::number(window, sign, length.wrapping_sub(sign))? as i64;
        N::try_from(if is_negative { -size } else { size }).ok()
    }

    fn exact(&self, field: &[u8]) -> Result<N, ValueError> {
        let text = trim(field);
        let (is_negative, digits) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(not_an_integer(text));
        }
        // Negative, because the range of negative numbers is larger.
        digits
            .iter()
            .try_fold(0i64, |value, digit| {
                value.checked_mul(10)?.checked_sub(i64::from(digit - b'0'))
            })
            .and_then(|value| {
                if is_negative {
                    Some(value)
                } else {
                    value.checked_neg()
                }
            })
            .and_then(|value| N::try_from(value).ok())
            .ok_or_else(|| ValueError::out_of_range(format!("outside the range of {}", N::RANGE)))
    }
}

fn not_an_integer(text: &[u8]) -> ValueError {
    if is_not_finite(text) {
        return ValueError::syntax(
            "not a whole number; only float and numeric columns can hold NaN or infinities",
        );
    }
    match literal(text) {
        Ok(number) if text.iter().any(|byte| matches!(byte, b'e' | b'E')) => {
            ValueError::syntax(format!(
                "a whole number cannot be written with an exponent; write its digits{}, or make \
                 the column numeric or float",
                if number.exponent < 0 { "" } else { " out" }
            ))
        }
        Ok(_) => ValueError::syntax(
            "a whole number has no decimal point; remove it, round the value (`round` of the \
             column, or round(...) in a step), or make the column numeric",
        ),
        Err(_) => ValueError::syntax(not_a_number(text, "a whole number")),
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn code<N: Native + PartialEq + std::fmt::Debug>(text: &str) -> Result<N, RejectCode> {
        both_paths(&Integer::<N>::new(), text).map_err(|error| error.code)
    }

    macro_rules! integers {
        ($($name:ident: $native:ty, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(code::<$native>($text), $expected);
            })*
        };
    }

    integers! {
        zero: i32, "0" => Ok(0);
        minus_zero: i32, "-0" => Ok(0);
        plus: i32, "+5" => Ok(5);
        blanks_around: i32, " \t12\r\n" => Ok(12);
        leading_zeros: i16, "0000000000000000000000000012" => Ok(12);
        smallest_16: i16, "-32768" => Ok(i16::MIN);
        largest_16: i16, "32767" => Ok(i16::MAX);
        past_16: i16, "32768" => Err(RejectCode::OutOfRange);
        smallest_32: i32, "-2147483648" => Ok(i32::MIN);
        largest_32: i32, "2147483647" => Ok(i32::MAX);
        past_32: i32, "-2147483649" => Err(RejectCode::OutOfRange);
        smallest_64: i64, "-9223372036854775808" => Ok(i64::MIN);
        largest_64: i64, "9223372036854775807" => Ok(i64::MAX);
        past_64: i64, "9223372036854775808" => Err(RejectCode::OutOfRange);
        far_past_64: i64, "99999999999999999999999999999999" => Err(RejectCode::OutOfRange);
        eighteen_digits: i64, "-123456789012345678" => Ok(-123_456_789_012_345_678);
        empty: i32, "" => Err(RejectCode::Syntax);
        blank: i32, "  " => Err(RejectCode::Syntax);
        sign_alone: i32, "-" => Err(RejectCode::Syntax);
        two_signs: i32, "--1" => Err(RejectCode::Syntax);
        fraction: i32, "12.0" => Err(RejectCode::Syntax);
        exponent: i32, "1e3" => Err(RejectCode::Syntax);
        thousands: i32, "1,234" => Err(RejectCode::Syntax);
        hexadecimal: i32, "0x10" => Err(RejectCode::Syntax);
        underscore: i32, "1_000" => Err(RejectCode::Syntax);
        blank_inside: i32, "5 5" => Err(RejectCode::Syntax);
        word: i32, "twelve" => Err(RejectCode::Syntax);
        arabic_digits: i32, "١٢" => Err(RejectCode::Syntax);
    }

    proptest! {
        #[test]
        fn all_of_32_bits(value: i32) {
            prop_assert_eq!(code::<i32>(&value.to_string()), Ok(value));
        }

        #[test]
        fn all_of_64_bits(value: i64) {
            prop_assert_eq!(code::<i64>(&value.to_string()), Ok(value));
        }

        #[test]
        fn paths_agree(text in "[-+ ]?[0-9.,e]{0,22}") {
            let _ = code::<i16>(&text);
            let _ = code::<i32>(&text);
            let _ = code::<i64>(&text);
        }

        #[test]
        fn digits_as_the_library_reads_them(text in "-?[0-9]{1,20}") {
            prop_assert_eq!(code::<i64>(&text).ok(), text.parse().ok());
        }
    }
}
