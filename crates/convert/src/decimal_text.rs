//! Decimals of any length, as checked text in plain notation: no exponent, no superfluous zeros before the point,
//! digits on both sides of it. `NaN` and the infinities are words, as PostgreSQL writes them.

use inrush_rows::plural::counted;

use super::decimal::ROUND_OR_WIDEN;
use super::error::ValueError;
use super::kernel::trim;
use super::number::{Literal, is_any_word, literal};
use super::views::{Built, Kept, TextCheck};

/// The limits of PostgreSQL's `numeric` without a declared precision: "up to 131072 digits before the decimal point; up
/// to 16383 digits after the decimal point".
const INTEGER_DIGITS_MAX: i64 = 131_072;
const FRACTION_DIGITS_MAX: i64 = 16_383;

/// Converts decimals of any length.
pub(super) struct DecimalText {
    limit: Option<(u16, i16)>,
}

impl DecimalText {
    pub fn new(limit: Option<(u16, i16)>) -> DecimalText {
        DecimalText { limit }
    }

    /// Checks the limits, and returns the number of digits after the point that are kept; the rest are zeros.
    fn fraction_digits(&self, number: &Literal<'_>) -> Result<i64, ValueError> {
        let written = number.fraction.len() as i64 - number.exponent;
        let leading = number.digits().take_while(|digit| *digit == b'0').count();
        let count = number.integer.len() + number.fraction.len();
        let is_zero = leading == count;
        // The number of places before the point, up to the first digit; negative for tiny values.
        let integer_digits = number.integer.len() as i64 + number.exponent - leading as i64;
        let trailing = number
            .digits()
            .rev()
            .take_while(|digit| *digit == b'0')
            .count();
        // The number of places after the point, up to the last digit other than zero.
        let needed = written - trailing as i64;
        let (integer_digits_max, fraction_digits_max) = match self.limit {
            Some((precision, scale)) => (i64::from(precision) - i64::from(scale), i64::from(scale)),
            None => (INTEGER_DIGITS_MAX, FRACTION_DIGITS_MAX),
        };
        if !is_zero && integer_digits > integer_digits_max {
            return Err(ValueError::out_of_range(match self.limit {
                // All numbers of the column's type have zeros directly after the point.
                Some((precision, scale)) if integer_digits_max < 0 => format!(
                    "numeric({precision},{scale}) holds only numbers below {}; likely its \
                     precision and its scale were exchanged: give the column a larger precision",
                    power_below_one(-integer_digits_max)
                ),
                Some((precision, scale)) => format!(
                    "the number has {} before the point, but numeric({precision},{scale}) holds \
                     {integer_digits_max}",
                    counted(integer_digits as u64, "digit")
                ),
                None => format!(
                    "the number has {} before the point, but numeric holds {INTEGER_DIGITS_MAX}",
                    counted(integer_digits as u64, "digit")
                ),
            }));
        }
        if !is_zero && needed > fraction_digits_max {
            return Err(match self.limit {
                Some((precision, scale)) if scale < 0 => ValueError::fraction_lost(format!(
                    "numeric({precision},{scale}) does not keep the last {} digits before the \
                     point; {ROUND_OR_WIDEN}",
                    -scale
                )),
                Some((precision, scale)) => ValueError::fraction_lost(format!(
                    "the number has {} after the point, but numeric({precision},{scale}) keeps {scale}; \
                     {ROUND_OR_WIDEN}",
                    counted(needed as u64, "digit")
                )),
                None => ValueError::out_of_range(format!(
                    "the number has {} after the point, but numeric holds {FRACTION_DIGITS_MAX}",
                    counted(needed as u64, "digit")
                )),
            });
        }
        Ok(written.clamp(0, fraction_digits_max.max(0)))
    }
}

impl TextCheck for DecimalText {
    fn check(&self, field: &str, built: &mut Built<'_>) -> Result<Kept, ValueError> {
        let text = trim(field.as_bytes());
        if is_any_word(text, &["nan"]) {
            built.push_str("NaN");
            return Ok(Kept::Built);
        }
        if is_any_word(
            text,
            &["inf", "infinity", "+inf", "+infinity", "-inf", "-infinity"],
        ) {
            if let Some((precision, scale)) = self.limit {
                return Err(ValueError::out_of_range(format!(
                    "numeric({precision},{scale}) holds no infinities; fix the row, or make the \
                     column numeric"
                )));
            }
            let is_negative = text.starts_with(b"-");
            built.push_str(if is_negative { "-Infinity" } else { "Infinity" });
            return Ok(Kept::Built);
        }
        let number = literal(text)?;
        let fraction_digits = self.fraction_digits(&number)?;
        let is_zero = number.digits().all(|digit| digit == b'0');
        let negative = number.negative && !is_zero;
        // The usual form needs no copy: an integer part without superfluous zeros, its sign right before it, and the
        // digits after the point, cut where only zeros follow.
        let has_needless_zero = number.integer.len() > 1 && number.integer[0] == b'0';
        if number.exponent == 0 && !number.integer.is_empty() && !has_needless_zero {
            let sign = usize::from(negative);
            let offset = number.integer.as_ptr().addr() - field.as_ptr().addr() - sign;
            let point = usize::from(fraction_digits > 0);
            return Ok(Kept::Part {
                offset,
                length: sign + number.integer.len() + point + fraction_digits as usize,
            });
        }
        write_plain(&number, negative, fraction_digits, built);
        Ok(Kept::Built)
    }
}

/// Writes a literal in plain notation with this many digits after the point. Its digits have been counted, so the
/// result fits the type.
fn write_plain(number: &Literal<'_>, negative: bool, fraction_digits: i64, built: &mut Built<'_>) {
    let count = (number.integer.len() + number.fraction.len()) as i64;
    let leading = number.digits().take_while(|digit| *digit == b'0').count() as i64;
    // The digit at place p is p places before the point: p = 0 is the ones.
    let place_of_first = number.integer.len() as i64 + number.exponent - 1;
    let is_zero = leading == count;
    let first_place = if is_zero {
        0
    } else {
        (place_of_first - leading).max(0)
    };
    if negative {
        built.push('-');
    }
    let mut digits = number.digits();
    // Skips digits before the first place: they are zeros.
    let passed = (place_of_first - first_place).clamp(0, count);
    for _ in 0..passed {
        digits.next();
    }
    let mut place_of_next = place_of_first - passed;
    let mut place = first_place;
    while place >= -fraction_digits {
        if place == -1 {
            built.push('.');
        }
        if place == place_of_next {
            built.push(digits.next().map_or('0', char::from));
            place_of_next -= 1;
        } else {
            built.push('0');
        }
        place -= 1;
    }
}

/// Ten to a negative power: `0.01` for 2.
fn power_below_one(power: i64) -> String {
    const ZEROS_MAX: i64 = 20;
    match power {
        ..=ZEROS_MAX => format!("0.{}1", "0".repeat(power as usize - 1)),
        power => format!("1e-{power}"),
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::*;

    fn plain(limit: Option<(u16, i16)>, text: &str) -> Result<String, RejectCode> {
        let mut built = String::new();
        match DecimalText::new(limit).check(text, &mut Built::at_end_of(&mut built)) {
            Ok(Kept::Whole) => Ok(text.to_owned()),
            Ok(Kept::Part { offset, length }) => Ok(text[offset..offset + length].to_owned()),
            Ok(Kept::Built) => Ok(built),
            Err(error) => Err(error.code),
        }
    }

    macro_rules! plain_numbers {
        ($($name:ident: $limit:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                let expected: Result<&str, RejectCode> = $expected;
                assert_eq!(plain($limit, $text), expected.map(str::to_owned));
            })*
        };
    }

    plain_numbers! {
        as_it_is: None, "123.4500" => Ok("123.4500");
        negative: None, "-0.5" => Ok("-0.5");
        zero: None, "0" => Ok("0");
        minus_zero: None, "-0.00" => Ok("0.00");
        minus_zeros: None, "-000" => Ok("0");
        plus: None, "+5" => Ok("5");
        leading_zeros: None, "-007.5" => Ok("-7.5");
        only_zeros: None, "000" => Ok("0");
        point_first: None, "-.5" => Ok("-0.5");
        point_last: None, "5." => Ok("5");
        blanks_around: None, " 5.50\n" => Ok("5.50");
        exponent: None, "1e3" => Ok("1000");
        exponent_within: None, "1.50e1" => Ok("15.0");
        exponent_past: None, "-1.5E+3" => Ok("-1500");
        negative_exponent: None, "1e-5" => Ok("0.00001");
        negative_exponent_within: None, "12345e-2" => Ok("123.45");
        zero_with_exponent: None, "0e5" => Ok("0");
        zero_with_negative_exponent: None, "0e-3" => Ok("0.000");
        leading_zeros_and_exponent: None, "0.001e5" => Ok("100");
        zero_with_huge_exponent: None, "0e999999999999" => Ok("0");
        huge_exponent: None, "1e131072" => Err(RejectCode::OutOfRange);
        enormous_exponent: None, "1e999999999999" => Err(RejectCode::OutOfRange);
        tiny: None, "1e-16384" => Err(RejectCode::OutOfRange);
        enormously_tiny: None, "1e-999999999999" => Err(RejectCode::OutOfRange);
        within_limit: Some((50, 2)), "123.45" => Ok("123.45");
        zeros_past_limit: Some((50, 2)), "123.45000" => Ok("123.45");
        digits_past_limit: Some((50, 2)), "123.456" => Err(RejectCode::FractionLost);
        integer_past_limit: Some((5, 2)), "1000" => Err(RejectCode::OutOfRange);
        integer_at_limit: Some((5, 2)), "999.99" => Ok("999.99");
        no_scale: Some((40, 0)), "5.000" => Ok("5");
        negative_scale: Some((3, -2)), "12300" => Ok("12300");
        negative_scale_exponent: Some((3, -2)), "123e2" => Ok("12300");
        negative_scale_digits: Some((3, -2)), "12345" => Err(RejectCode::FractionLost);
        negative_scale_range: Some((3, -2)), "100000" => Err(RejectCode::OutOfRange);
        negative_scale_zeros: Some((3, -2)), "12300.00" => Ok("12300");
        scale_past_precision: Some((2, 4)), "0.0012" => Ok("0.0012");
        scale_past_precision_tenths: Some((2, 4)), "0.012" => Err(RejectCode::OutOfRange);
        scale_past_precision_range: Some((2, 4)), "0.0112" => Err(RejectCode::OutOfRange);
        empty: None, "" => Err(RejectCode::Syntax);
        word: None, "abc" => Err(RejectCode::Syntax);
        not_a_number: None, "nan" => Ok("NaN");
        not_a_number_within_limit: Some((5, 2)), " NaN " => Ok("NaN");
        signed_not_a_number: None, "-nan" => Err(RejectCode::Syntax);
        infinite: None, "inf" => Ok("Infinity");
        minus_infinite: None, "-INFINITY" => Ok("-Infinity");
        infinite_past_limit: Some((5, 2)), "Infinity" => Err(RejectCode::OutOfRange);
    }

    #[test]
    fn the_ends_of_numeric() {
        let largest = plain(None, "1e131071").expect("within");
        assert_eq!(largest.len(), 131_072);
        assert!(largest.starts_with("1000"));
        let smallest = plain(None, "-1e-16383").expect("within");
        assert_eq!(smallest.len(), 3 + 16_383);
        assert!(smallest.ends_with("0001"));
    }

    proptest! {
        #[test]
        fn plain_again_is_the_same(text in "[-+]?[0-9]{1,8}[.]?[0-9]{0,8}(e-?[0-9]{1,2})?") {
            let once = plain(None, &text).expect("a number");
            prop_assert_eq!(plain(None, &once), Ok(once.clone()), "from {}", text);
            // The library reads both as the same number.
            prop_assert_eq!(once.parse::<f64>().ok().map(|value| value + 0.0),
                text.parse::<f64>().ok().map(|value| value + 0.0));
        }
    }

    #[test]
    fn the_range_of_a_scale_past_the_precision_is_said() {
        for (limit, text, expected) in [
            (
                (2, 4),
                "0.012",
                "numeric(2,4) holds only numbers below 0.01;",
            ),
            ((2, 4), "17", "numeric(2,4) holds only numbers below 0.01;"),
            ((1, 2), "0.1", "numeric(1,2) holds only numbers below 0.1;"),
            (
                (1, 900),
                "0.1",
                "numeric(1,900) holds only numbers below 1e-899;",
            ),
            (
                (2, 2),
                "1.2",
                "the number has 1 digit before the point, but numeric(2,2) holds 0",
            ),
        ] {
            let checked = DecimalText::new(Some(limit))
                .check(text, &mut Built::at_end_of(&mut String::new()));
            let reason = checked.map(drop).expect_err("out of range").reason;
            assert!(reason.starts_with(expected), "{reason}");
        }
    }
}
