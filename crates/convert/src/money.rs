//! `money`: a 64-bit number of the smallest coins. PostgreSQL rounds finer amounts; here they are rejected.
//!
//! Accepted are plain numbers and the forms that PostgreSQL itself writes: a dollar sign, commas between groups of
//! three digits, and round brackets or a minus for negative sums. A single comma that could be a decimal comma is
//! rejected.

use std::borrow::Cow;

use inrush_rows::reject::RejectCode;

use super::decimal::Decimal;
use super::error::ValueError;
use super::kernel::{Kernel, Window, trim};
use super::number::is_not_finite;

/// Digits of the numbers that 64 bits hold.
const DIGITS_MAX: u8 = 19;

/// Converts sums of money.
pub(super) struct Money {
    number: Decimal,
}

impl Money {
    /// `scale`: digits after the point, 0 to 10.
    pub fn new(scale: u8) -> Money {
        Money {
            number: Decimal::new(DIGITS_MAX, scale),
        }
    }

    fn explained(&self, error: ValueError, text: &[u8]) -> ValueError {
        let scale = self.number.scale;
        match error.code {
            RejectCode::FractionLost => ValueError::fraction_lost(format!(
                "money keeps {scale} digits after the point here, and PostgreSQL would round the \
                 rest; round the value, or make the column numeric"
            )),
            RejectCode::OutOfRange => past_the_ends(),
            _ if text.is_empty() => error,
            _ => not_money(),
        }
    }
}

impl Kernel for Money {
    type Native = i128;

    #[inline(always)]
    fn quick(&self, _window: &Window, _length: usize) -> Option<i128> {
        None
    }

    fn exact(&self, field: &[u8]) -> Result<i128, ValueError> {
        let text = trim(field);
        if is_not_finite(text) {
            return Err(not_money());
        }
        let plain = plain(text)?;
        let number = self
            .number
            .exact(&plain)
            .map_err(|error| self.explained(error, text))?;
        match i64::try_from(number) {
            Ok(number) => Ok(i128::from(number)),
            Err(_) => Err(past_the_ends()),
        }
    }
}

fn not_money() -> ValueError {
    ValueError::syntax(
        "not a sum of money; write a number with a point and no separators, such as -1234.56. -$1,234.56 and \
         ($1,234.56) are read too, but no other currency",
    )
}

fn past_the_ends() -> ValueError {
    ValueError::out_of_range(
        "out of the range of money (64 bits); correct the value, or make the column numeric",
    )
}

/// A sum as a plain number. A text in no accepted form is returned unchanged.
fn plain(text: &[u8]) -> Result<Cow<'_, [u8]>, ValueError> {
    let is_special = |byte: &u8| matches!(byte, b'$' | b',' | b'(');
    if !text.iter().any(is_special) {
        return Ok(Cow::Borrowed(text));
    }
    let (is_bracketed, inside) = match text {
        [b'(', inside @ .., b')'] => (true, trim(inside)),
        text => (false, text),
    };
    // A sign before or after the currency.
    let (is_negative, inside) = sign(inside);
    let (has_currency, inside) = match inside {
        [b'$', rest @ ..] => (true, trim(rest)),
        rest => (false, rest),
    };
    let (is_negative_behind, digits) = if has_currency && is_negative.is_none() {
        sign(inside)
    } else {
        (None, inside)
    };
    let signs = [is_negative, is_negative_behind];
    let has_sign = signs.iter().any(Option::is_some);
    if is_bracketed && has_sign {
        return Ok(Cow::Borrowed(text));
    }
    let is_negative = is_bracketed || signs.contains(&Some(true));
    let mut number = Vec::with_capacity(digits.len() + 1);
    if is_negative {
        number.push(b'-');
    }
    if digits
        .first()
        .is_some_and(|byte| matches!(byte, b'+' | b'-'))
    {
        return Ok(Cow::Borrowed(text));
    }
    let whole_bytes = digits.iter().position(|byte| *byte == b'.');
    let (whole, fraction) = digits.split_at(whole_bytes.unwrap_or(digits.len()));
    let groups: Vec<&[u8]> = whole.split(|byte| *byte == b',').collect();
    if groups.len() > 1 {
        let is_grouped = (1..=3).contains(&groups[0].len())
            && groups[1..].iter().all(|group| group.len() == 3)
            && groups
                .iter()
                .all(|group| group.iter().all(u8::is_ascii_digit))
            && !fraction.contains(&b',');
        if !is_grouped {
            return Ok(Cow::Borrowed(text));
        }
        if groups.len() == 2 && whole_bytes.is_none() && !has_currency {
            return Err(ValueError::syntax(
                "the comma may be a decimal comma or separate thousands; write 1234.00 or $1,234, or \
                 the decimal point",
            ));
        }
    }
    number.extend(groups.concat());
    number.extend(fraction);
    Ok(Cow::Owned(number))
}

/// The sign at the beginning (true for minus), and the text after it.
fn sign(text: &[u8]) -> (Option<bool>, &[u8]) {
    match text {
        [b'-', rest @ ..] => (Some(true), trim(rest)),
        [b'+', rest @ ..] => (Some(false), trim(rest)),
        rest => (None, rest),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn money(scale: u8, text: &str) -> Result<i128, RejectCode> {
        both_paths(&Money::new(scale), text).map_err(|error| error.code)
    }

    macro_rules! sums {
        ($($name:ident: $scale:expr, $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                assert_eq!(money($scale, $text), $expected);
            })*
        };
    }

    sums! {
        plain_number: 2, "1234.56" => Ok(123_456);
        whole: 2, "1234" => Ok(123_400);
        negative: 2, "-12.34" => Ok(-1_234);
        plus: 2, "+12.34" => Ok(1_234);
        dollars: 2, "$1,234.56" => Ok(123_456);
        minus_dollars: 2, "-$1,234.56" => Ok(-123_456);
        dollars_minus: 2, "$-1,234.56" => Ok(-123_456);
        brackets: 2, "(12.34)" => Ok(-1_234);
        brackets_and_dollars: 2, "($1,234.56)" => Ok(-123_456);
        brackets_and_minus: 2, "(-12.34)" => Err(RejectCode::Syntax);
        minus_brackets: 2, "-(12.34)" => Err(RejectCode::Syntax);
        open_bracket: 2, "(12.34" => Err(RejectCode::Syntax);
        two_signs: 2, "-$-5" => Err(RejectCode::Syntax);
        signs_in_a_row: 2, "$--5" => Err(RejectCode::Syntax);
        groups: 2, "1,234,567" => Ok(123_456_700);
        groups_and_point: 2, "1,234.5" => Ok(123_450);
        lone_comma: 2, "1,234" => Err(RejectCode::Syntax);
        lone_comma_of_dollars: 2, "$1,234" => Ok(123_400);
        decimal_comma: 2, "12,34" => Err(RejectCode::Syntax);
        german: 2, "1.234,56" => Err(RejectCode::Syntax);
        odd_groups: 2, "$12,34.00" => Err(RejectCode::Syntax);
        leading_comma: 2, "$,123" => Err(RejectCode::Syntax);
        other_currency: 2, "12.34 €" => Err(RejectCode::Syntax);
        currency_alone: 2, "$" => Err(RejectCode::Syntax);
        currency_behind: 2, "12.34$" => Err(RejectCode::Syntax);
        zeros_past: 2, "1.5000" => Ok(150);
        rounded: 2, "1.239" => Err(RejectCode::FractionLost);
        rounded_dollars: 2, "$0.001" => Err(RejectCode::FractionLost);
        no_fraction: 0, "1234" => Ok(1_234);
        no_fraction_lost: 0, "1234.5" => Err(RejectCode::FractionLost);
        three_digits: 3, "1.234" => Ok(1_234);
        largest: 2, "92233720368547758.07" => Ok(i64::MAX as i128);
        smallest: 2, "-92233720368547758.08" => Ok(i64::MIN as i128);
        past_largest: 2, "92233720368547758.08" => Err(RejectCode::OutOfRange);
        past_smallest: 2, "-92233720368547758.09" => Err(RejectCode::OutOfRange);
        far_past: 2, "$999999999999999999999" => Err(RejectCode::OutOfRange);
        blanks: 2, " $ 5 " => Ok(500);
        empty: 2, "" => Err(RejectCode::Syntax);
        not_a_number: 2, "NaN" => Err(RejectCode::Syntax);
        infinite: 2, "-Infinity" => Err(RejectCode::Syntax);
    }

    proptest! {
        #[test]
        fn as_postgresql_writes_it(value: i64) {
            let size = value.unsigned_abs();
            let whole = (size / 100).to_string();
            let digits = whole.as_bytes();
            let mut grouped = String::new();
            for (place, digit) in digits.iter().enumerate() {
                if place > 0 && (digits.len() - place) % 3 == 0 {
                    grouped.push(',');
                }
                grouped.push(char::from(*digit));
            }
            let sign = if value < 0 { "-" } else { "" };
            let text = format!("{sign}${grouped}.{:02}", size % 100);
            prop_assert_eq!(money(2, &text), Ok(i128::from(value)), "{}", text);
        }

        #[test]
        fn nothing_panics(text in "[-+$,.() 0-9]{0,24}", scale in 0u8..=10) {
            let _ = money(scale, &text);
        }
    }
}
