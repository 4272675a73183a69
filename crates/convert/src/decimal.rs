//! Decimals of up to 38 digits, exactly: no digit is rounded away.

use inrush_rows::plural::counted;

use super::digits::{self, POWERS_OF_TEN};
use super::error::ValueError;
use super::kernel::{Kernel, Window, trim};
use super::number::{is_not_finite, literal};

/// The fix for a value with too many digits, which may come from a field or from a step.
pub(super) const ROUND_OR_WIDEN: &str = "round the value (`round` of the column, or round(...) in \
                                         a step), or declare a larger scale";

/// Converts decimals of one precision and scale.
pub(super) struct Decimal {
    pub precision: u8,
    pub scale: u8,
    /// The most digits before the point.
    integer_digits_max: usize,
}

impl Decimal {
    pub fn new(precision: u8, scale: u8) -> Decimal {
        Decimal {
            precision,
            scale,
            integer_digits_max: usize::from(precision - scale),
        }
    }

    /// The most digits before the point.
    pub fn integer_digits_max(&self) -> usize {
        self.integer_digits_max
    }

    fn type_name(&self) -> String {
        format!("numeric({},{})", self.precision, self.scale)
    }
}

impl Kernel for Decimal {
    type Native = i128;

    /// `-?digits` or `-?digits.digits` with as many digits after the point as the column keeps, or one fewer: the usual
    /// form.
    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<i128> {
        let is_negative = window[0] == b'-';
        let sign = usize::from(is_negative);
        let count = length.wrapping_sub(sign);
        let scale = usize::from(self.scale);
        // With a point there are at most 18 digits, so all arithmetic fits 64 bits.
        if count > 19 || scale > 8 {
            return None;
        }
        let size = if scale > 0 && count > scale + 1 && window[length - scale - 1] == b'.' {
            let integer_digits = count - scale - 1;
            if integer_digits > self.integer_digits_max || integer_digits + scale > 18 {
                return None;
            }
            if count <= 8 {
                // Everything is in one word: the digits before the point are shifted over it.
                let word = digits::values(digits::load(window, sign)) << (64 - 8 * count);
                let fraction_mask = u64::MAX << (64 - 8 * scale);
                let size = digits::digit_values(
                    word & fraction_mask | (word << 8) & !fraction_mask & !0xFF,
                )?;
                let size = size as i64;
                return Some(i128::from(if is_negative { -size } else { size }));
            }
            let integer = digits::number(window, sign, integer_digits)?;
            let fraction = digits::block(digits::load(window, length - scale), scale)?;
            integer * POWERS_OF_TEN[scale] + fraction
        } else if scale > 1 && count > scale && window[length - scale] == b'.' {
            let integer_digits = count - scale;
            if integer_digits > self.integer_digits_max || integer_digits + scale > 18 {
                return None;
            }
            let integer = digits::number(window, sign, integer_digits)?;
            let fraction = digits::block(digits::load(window, length - scale + 1), scale - 1)?;
            integer * POWERS_OF_TEN[scale] + fraction * 10
        } else {
            if count > self.integer_digits_max || count + scale > 18 {
                return None;
            }
            digits::number(window, sign, count)? * POWERS_OF_TEN[scale]
        };
        // Below 10^18.
        let size = size as i64;
        Some(i128::from(if is_negative { -size } else { size }))
    }

    fn exact(&self, field: &[u8]) -> Result<i128, ValueError> {
        let text = trim(field);
        if is_not_finite(text) {
            return Err(ValueError::out_of_range(
                "a decimal here cannot hold NaN or infinities; fix the row, declare nan = \"null\" \
                 if NaN means NULL, or make the column double precision",
            ));
        }
        let number = literal(text)?;
        let leading = number.digits().take_while(|digit| *digit == b'0').count();
        let count = number.integer.len() + number.fraction.len();
        if leading == count {
            return Ok(0);
        }
        let trailing = number
            .digits()
            .rev()
            .take_while(|digit| *digit == b'0')
            .count();
        let significant = count - leading - trailing;
        let scale = i64::from(self.scale);
        // The value is the significant digits times ten to this power, in units of the column's last place.
        let shift = number.exponent - number.fraction.len() as i64 + trailing as i64 + scale;
        let integer_digits = significant as i64 + shift - scale;
        if integer_digits > self.integer_digits_max as i64 {
            return Err(ValueError::out_of_range(format!(
                "the number has {} before the point, but {} holds {}",
                counted(integer_digits as u64, "digit"),
                self.type_name(),
                self.integer_digits_max
            )));
        }
        if shift < 0 {
            return Err(ValueError::fraction_lost(format!(
                "the number has {} after the point, but {} keeps {}; {ROUND_OR_WIDEN}",
                counted((scale - shift) as u64, "digit"),
                self.type_name(),
                self.scale
            )));
        }
        // The number has at most the precision's 38 digits, which fit.
        let size = number
            .digits()
            .skip(leading)
            .take(significant)
            .fold(0i128, |size, digit| size * 10 + i128::from(digit - b'0'))
            * 10i128.pow(shift as u32);
        Ok(if number.negative { -size } else { size })
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn code(precision: u8, scale: u8, text: &str) -> Result<i128, RejectCode> {
        both_paths(&Decimal::new(precision, scale), text).map_err(|error| error.code)
    }

    macro_rules! decimals {
        ($($name:ident: $precision:expr, $scale:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(code($precision, $scale, $text), $expected);
            })*
        };
    }

    const LARGEST: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;

    decimals! {
        whole: 15, 2, "17" => Ok(1700);
        with_point: 15, 2, "21168.23" => Ok(2_116_823);
        one_digit_less: 15, 2, "0.5" => Ok(50);
        negative: 15, 2, "-999.99" => Ok(-99_999);
        minus_zero: 15, 2, "-0.00" => Ok(0);
        point_first: 15, 2, ".05" => Ok(5);
        point_last: 15, 2, "5." => Ok(500);
        plus: 15, 2, "+5.5" => Ok(550);
        zeros_past_the_scale: 15, 2, "1.2300000" => Ok(123);
        digits_past_the_scale: 15, 2, "1.234" => Err(RejectCode::FractionLost);
        tiny: 15, 2, "1e-9" => Err(RejectCode::FractionLost);
        exponent: 15, 2, "1.5e3" => Ok(150_000);
        negative_exponent: 15, 2, "123e-2" => Ok(123);
        zero_with_huge_exponent: 15, 2, "0e99999999999999999" => Ok(0);
        huge_exponent: 15, 2, "1e99999999999999999" => Err(RejectCode::OutOfRange);
        tiny_exponent: 15, 2, "1e-99999999999999999" => Err(RejectCode::FractionLost);
        all_digits: 5, 2, "999.99" => Ok(99_999);
        one_digit_more: 5, 2, "1000.00" => Err(RejectCode::OutOfRange);
        leading_zeros: 5, 2, "0000000000000000000001.5" => Ok(150);
        no_integer_digits: 2, 2, "0.99" => Ok(99);
        no_integer_digits_without_zero: 2, 2, ".99" => Ok(99);
        one_with_no_integer_digits: 2, 2, "1.00" => Err(RejectCode::OutOfRange);
        range_before_fraction: 5, 2, "12345.678" => Err(RejectCode::OutOfRange);
        largest: 38, 0, "99999999999999999999999999999999999999" => Ok(LARGEST);
        smallest: 38, 38, "-0.99999999999999999999999999999999999999" => Ok(-LARGEST);
        past_largest: 38, 0, "1e38" => Err(RejectCode::OutOfRange);
        blanks_around: 5, 2, "\t1.5 " => Ok(150);
        empty: 5, 2, "" => Err(RejectCode::Syntax);
        point_alone: 5, 2, "." => Err(RejectCode::Syntax);
        sign_alone: 5, 2, "-" => Err(RejectCode::Syntax);
        two_points: 5, 2, "1.2.3" => Err(RejectCode::Syntax);
        comma: 5, 2, "1,50" => Err(RejectCode::Syntax);
        currency: 5, 2, "$1.50" => Err(RejectCode::Syntax);
        not_a_number: 5, 2, "NaN" => Err(RejectCode::OutOfRange);
        infinite: 5, 2, "-Infinity" => Err(RejectCode::OutOfRange);
    }

    proptest! {
        #[test]
        fn every_value_survives(value in -999_999_999_999_999i128..=999_999_999_999_999, scale in 0u8..=15) {
            let size = value.unsigned_abs();
            let power = 10u128.pow(u32::from(scale));
            let sign = if value < 0 { "-" } else { "" };
            let text = if scale == 0 {
                format!("{sign}{size}")
            } else {
                format!("{sign}{}.{:0width$}", size / power, size % power, width = scale as usize)
            };
            prop_assert_eq!(code(15, scale, &text), Ok(value));
        }

        #[test]
        fn paths_agree(
            text in "[-+ ]?[0-9]{0,19}[.]?[0-9]{0,9}(e-?[0-9])?",
            precision in 1u8..=38,
            scale in 0u8..=38,
        ) {
            let _ = code(precision, scale.min(precision), &text);
        }

        #[test]
        fn paths_agree_on_near_misses(text in "[-0-9.]{0,20}", precision in 1u8..=20, scale in 0u8..=8) {
            let _ = code(precision, scale.min(precision), &text);
        }
    }
}
