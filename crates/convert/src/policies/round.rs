//! Rounds number literals as text. This works for any number of digits, and the kernels need not support rounding.

use inrush_rows::column_policy::Rounding;

use super::super::number::literal;

/// A literal that was rounded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rounded {
    /// The literal in plain notation, with as many digits after the point as the column keeps.
    pub text: String,
    /// True if its value has changed.
    pub changed: bool,
}

/// The literal, rounded to `scale` digits after the point; a negative `scale` rounds digits before the point.
/// `is_whole` is true for columns that accept no point at all. `None` if the column's own kernel can read the text, or
/// gives a better error.
pub(super) fn rounded(
    text: &[u8],
    scale: i64,
    is_whole: bool,
    rounding: Rounding,
) -> Option<Rounded> {
    if rounding == Rounding::Reject {
        return None;
    }
    let number = literal(text).ok()?;
    let is_exponential = text.iter().any(|byte| matches!(byte, b'e' | b'E'));
    if is_whole && is_exponential {
        return None;
    }
    let digits: Vec<u8> = number.digits().collect();
    // The number of kept digits; if it is negative, zeros come before the first digit.
    let kept_count = number.integer.len() as i64 + number.exponent + scale;
    if kept_count >= digits.len() as i64 {
        let has_point = text.contains(&b'.');
        return (is_whole && has_point).then(|| Rounded {
            text: plain(number.negative, &digits, 0),
            changed: false,
        });
    }
    let split = kept_count.max(0) as usize;
    let (kept, dropped) = digits.split_at(split);
    if dropped.iter().all(|digit| *digit == b'0') {
        return is_whole.then(|| Rounded {
            text: plain(number.negative, kept, 0),
            changed: false,
        });
    }
    let rest = if kept_count < 0 || dropped[0] < b'5' {
        std::cmp::Ordering::Less
    } else if dropped[0] > b'5' || dropped[1..].iter().any(|digit| *digit != b'0') {
        std::cmp::Ordering::Greater
    } else {
        std::cmp::Ordering::Equal
    };
    let last_is_odd = kept.last().is_some_and(|digit| digit % 2 == 1);
    let mut kept = kept.to_vec();
    if rounding.goes_up(last_is_odd, rest) {
        add_one(&mut kept);
    }
    Some(Rounded {
        text: plain(number.negative, &kept, scale),
        changed: true,
    })
}

/// The next number of decimal digits.
fn add_one(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

/// Writes the digits, the last `scale` of them after the point. If `scale` is negative, that many zeros follow.
fn plain(negative: bool, digits: &[u8], scale: i64) -> String {
    let mut text = String::with_capacity(digits.len() + 3);
    if negative && digits.iter().any(|digit| *digit != b'0') {
        text.push('-');
    }
    let fraction = scale.max(0) as usize;
    // At least one digit before the point.
    let zeros = (fraction + 1).saturating_sub(digits.len());
    let all = std::iter::repeat_n(b'0', zeros).chain(digits.iter().copied());
    let point_at = zeros + digits.len() - fraction;
    for (at, digit) in all.enumerate() {
        if at == point_at {
            text.push('.');
        }
        text.push(char::from(digit));
    }
    if scale < 0 {
        text.extend(std::iter::repeat_n('0', scale.unsigned_abs() as usize));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    macro_rules! rounds {
        ($($name:ident: $text:expr, $scale:expr, $whole:expr =>
            $half_up:expr, $half_even:expr, $down:expr;)*) => {$(
            #[test]
            fn $name() {
                for (rounding, expected) in [
                    (Rounding::HalfUp, $half_up),
                    (Rounding::HalfEven, $half_even),
                    (Rounding::Down, $down),
                ] {
                    let expected: Option<(&str, bool)> = expected;
                    let found = rounded($text.as_bytes(), $scale, $whole, rounding);
                    assert_eq!(
                        found.as_ref().map(|found| (found.text.as_str(), found.changed)),
                        expected,
                        "{rounding:?}"
                    );
                }
            }
        )*};
    }

    rounds! {
        fits: "1.25", 2, false => None, None, None;
        zeros_past: "1.2500", 2, false => None, None, None;
        half: "1.125", 2, false => Some(("1.13", true)), Some(("1.12", true)), Some(("1.12", true));
        half_of_odd: "1.135", 2, false
            => Some(("1.14", true)), Some(("1.14", true)), Some(("1.13", true));
        past_half: "1.1250001", 2, false
            => Some(("1.13", true)), Some(("1.13", true)), Some(("1.12", true));
        below_half: "-1.1249", 2, false
            => Some(("-1.12", true)), Some(("-1.12", true)), Some(("-1.12", true));
        carries: "-9.999", 2, false
            => Some(("-10.00", true)), Some(("-10.00", true)), Some(("-9.99", true));
        minus_zero: "-0.001", 2, false
            => Some(("0.00", true)), Some(("0.00", true)), Some(("0.00", true));
        first_place: "0.005", 2, false
            => Some(("0.01", true)), Some(("0.00", true)), Some(("0.00", true));
        far_below: "9e-400", 2, false
            => Some(("0.00", true)), Some(("0.00", true)), Some(("0.00", true));
        exponent: "12345e-3", 2, false
            => Some(("12.35", true)), Some(("12.34", true)), Some(("12.34", true));
        before_the_point: "1250", -2, false
            => Some(("1300", true)), Some(("1200", true)), Some(("1200", true));
        whole_zeros: "12.00", 0, true
            => Some(("12", false)), Some(("12", false)), Some(("12", false));
        whole_point: "12.", 0, true => Some(("12", false)), Some(("12", false)), Some(("12", false));
        whole_half: "-12.5", 0, true => Some(("-13", true)), Some(("-12", true)), Some(("-12", true));
        whole_below_one: ".5", 0, true => Some(("1", true)), Some(("0", true)), Some(("0", true));
        whole_exponent: "1.5e1", 0, true => None, None, None;
        no_number: "abc", 0, true => None, None, None;
    }

    proptest! {
        /// Compares with integer arithmetic.
        #[test]
        fn as_reckoned(value in -999_999i64..=999_999, places in 1u32..=6, kept in 0u32..=5) {
            prop_assume!(kept < places);
            let power = 10i64.pow(places);
            let text = format!("{}{}.{:0width$}", if value < 0 { "-" } else { "" },
                value.abs() / power, value.abs() % power, width = places as usize);
            let step = 10i64.pow(places - kept);
            let up = (value.abs() + step / 2) / step;
            let Some(found) = rounded(text.as_bytes(), i64::from(kept), false, Rounding::HalfUp)
            else {
                prop_assert_eq!(value % step, 0);
                return Ok(());
            };
            let reckoned: i64 = found.text.replace('.', "").parse().expect("digits");
            prop_assert_eq!(reckoned.abs(), up);
            prop_assert!(reckoned == 0 || (reckoned < 0) == (value < 0));
        }

        #[test]
        fn nothing_panics(text in "[-+0-9.e]{0,12}", scale in -5i64..=5, whole: bool) {
            for rounding in [Rounding::HalfUp, Rounding::HalfEven, Rounding::Down] {
                let _ = rounded(text.as_bytes(), scale, whole, rounding);
            }
        }
    }
}
