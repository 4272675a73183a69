//! Rejects numbers that a column of floats would change.
//!
//! A float keeps 15 significant digits of a number (`real` keeps 6), and fewer for the smallest numbers (below
//! 2.2e-308, for `real` below 1.2e-38). For the smallest numbers, and for numbers with more digits, the rules are:
//!
//! - A whole number is kept if the float equals it: `9007199254740992` is, `9007199254740993` is not.
//! - Any other number (with a fraction, or with an exponent) is kept if it equals the printed float. The float is
//!   printed with as many digits as the number has, and with the fewest digits that identify it (for `real`: as `real`
//!   and as a double). So numbers that a program has printed from a float are kept: `0.30000000000000004`, and
//!   `0.10000000000000001` of `%.17g`.
//!
//! All other numbers are rejected, unless the column declares `lossless = false`. In files of typed rows a number means
//! exactly its digits, because no program has printed it from a float. In these files a number is kept only if it is
//! the shortest text of a float, even if it has few digits (2e-45 has one digit, and no `real` is near it).
//!
//! The quick path compares integers, and accepts only numbers that the exact path accepts.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use inrush_rows::column::{Column, ColumnType};
use inrush_rows::reject::RejectCode;

use super::error::ValueError;
use super::fields::Fields;
use super::kernel::{Fault, trim};
use super::output::Output;

/// More significant digits than the exact value of any float has.
const EXACT_DIGITS_MAX: usize = 800;

/// Finds numbers that a column of floats would change.
pub(super) struct ExactFloat {
    is_single: bool,
    /// The number of significant digits that a float keeps of every number, except very small ones.
    digits_kept: usize,
    /// The smallest number of which a float keeps `digits_kept` digits.
    smallest: f64,
    /// True if the values come from typed rows.
    is_typed: bool,
}

impl ExactFloat {
    /// The check for a column of floats, unless the column accepts the nearest float.
    pub fn of(column: &Column) -> Option<ExactFloat> {
        let is_single = match column.column_type {
            ColumnType::Float32 => true,
            ColumnType::Float64 => false,
            _ => return None,
        };
        let nearest_will_do = column.policies.nearest_floats;
        (!nearest_will_do).then(|| ExactFloat::new(is_single, column.policies.exact))
    }

    fn new(is_single: bool, is_typed: bool) -> ExactFloat {
        let (digits_kept, smallest) = match is_single {
            true => (f32::DIGITS, f64::from(f32::MIN_POSITIVE)),
            false => (f64::DIGITS, f64::MIN_POSITIVE),
        };
        ExactFloat {
            is_single,
            digits_kept: digits_kept as usize,
            smallest,
            is_typed,
        }
    }

    /// True if the float is large enough to keep all digits. Zero counts as large enough, because a number that would
    /// become zero is out of range.
    #[inline]
    fn has_all_digits(&self, value: f64) -> bool {
        value == 0.0 || value.abs() >= self.smallest
    }

    /// True if it examines the text of typed values, for which there is no quick path.
    pub fn is_typed(&self) -> bool {
        self.is_typed
    }

    /// Refuses a text in the package that the column would change.
    pub fn check_text(column: &Column, text: &[u8]) -> Result<(), ValueError> {
        match ExactFloat::of(column) {
            Some(exact) if !exact.keeps(text) => Err(exact.lost(text)),
            _ => Ok(()),
        }
    }

    /// Notes the fields of a column whose number would change; `output` has their values.
    pub fn check(&self, fields: &Fields<'_>, output: &Output, faults: &mut Vec<Fault>) {
        let Output::Array(array) = output else { return };
        let singles = array.as_primitive_opt::<Float32Type>();
        let doubles = array.as_primitive_opt::<Float64Type>();
        let value = |row: usize| match (singles, doubles) {
            (Some(singles), _) => f64::from(singles.value(row)),
            (_, Some(doubles)) => doubles.value(row),
            _ => f64::NAN,
        };
        for row in 0..fields.spans.len() {
            let Some(field) = fields.field(row) else {
                continue;
            };
            let is_kept = if self.is_typed {
                field.len() <= self.digits_kept && !field.contains(&b'e')
            } else {
                let value = value(row);
                self.has_all_digits(value)
                    && (field.len() <= self.digits_kept
                        || Digits::of(field)
                            .is_some_and(|digits| digits.is_kept_by(value, self.digits_kept)))
            };
            if !is_kept && !self.keeps(field) {
                let error = self.lost(field);
                faults.push(Fault { row, error });
            }
        }
    }

    /// True if the float is the same number. A text that is not a number also counts as the same: it is reported
    /// elsewhere.
    #[cold]
    fn keeps(&self, field: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(trim(field)) else {
            return true;
        };
        let Some((value, shortest)) = self.parsed(text) else {
            return true;
        };
        let number = decimal(text);
        let (digits, point) = (number.0.len(), number.1);
        let has_few = digits <= self.digits_kept && self.has_all_digits(value);
        if !value.is_finite() || has_few && !self.is_typed {
            return true;
        }
        let is_whole = point >= digits as i64 && !text.contains(['e', 'E']);
        if is_whole && !has_few {
            return number == decimal(&format!("{value:.0}"));
        }
        if number == decimal(&shortest) {
            return true;
        }
        if self.is_typed {
            return false;
        }
        // A `real` that was printed as a double. If its last digit is a tie, the fewest digits may end differently from
        // the rounded ones.
        self.is_single && number == decimal(&format!("{value:e}"))
            || digits <= EXACT_DIGITS_MAX && number == decimal(&format!("{value:.*e}", digits - 1))
    }

    /// The float of a text, and the shortest text for it.
    fn parsed(&self, text: &str) -> Option<(f64, String)> {
        if self.is_single {
            let value: f32 = text.parse().ok()?;
            return Some((f64::from(value), format!("{value:e}")));
        }
        let value: f64 = text.parse().ok()?;
        Some((value, format!("{value:e}")))
    }

    #[cold]
    fn lost(&self, field: &[u8]) -> ValueError {
        let name = match self.is_single {
            true => "real",
            false => "double precision",
        };
        let text = String::from_utf8_lossy(trim(field));
        let nearest = match self.parsed(&text) {
            Some((value, _)) if value.fract() == 0.0 && value.abs() < 1e38 => format!("{value:.0}"),
            Some((_, shortest)) => shortest,
            None => String::new(),
        };
        let wider = match self.is_single {
            true => "double precision, or numeric",
            false => "numeric, or bigint for whole numbers",
        };
        ValueError::new(
            RejectCode::FormLost,
            format!(
                "{name} cannot hold this number exactly: its nearest value is {nearest}. It keeps \
                 {} digits of a number, and this is likely an identifier or an amount: make the \
                 column {wider}; if the nearest value is good enough, set lossless = false for it",
                self.digits_kept
            ),
        )
    }
}

/// A number as it is written, small enough for the quick path: `digits` times a power of ten.
#[derive(Clone, Copy, Debug)]
struct Digits {
    digits: u64,
    /// The number of digits without zeros at both ends.
    count: usize,
    exponent: i32,
    has_exponent: bool,
}

impl Digits {
    /// `None` for more than 19 digits, and for a text that is not a plain number.
    #[inline]
    fn of(field: &[u8]) -> Option<Digits> {
        let number = match field {
            [b'-' | b'+', number @ ..] => number,
            number => number,
        };
        let (mut digits, mut count, mut exponent) = (0_u64, 0, 0_i32);
        let mut zeros = 0_usize;
        let (mut has_point, mut any) = (false, false);
        let mut bytes = number.iter();
        let mut has_exponent = false;
        for byte in bytes.by_ref() {
            match byte {
                b'0'..=b'9' => {
                    any = true;
                    exponent -= i32::from(has_point);
                    if *byte == b'0' {
                        // Zeros before the first digit do not matter; zeros after it may.
                        zeros += usize::from(count > 0);
                        continue;
                    }
                    count += zeros + 1;
                    if count > 19 {
                        return None;
                    }
                    // Below 10^19.
                    digits = digits * 10_u64.pow(zeros as u32 + 1) + u64::from(byte - b'0');
                    zeros = 0;
                }
                b'.' if !has_point => has_point = true,
                b'e' | b'E' => {
                    has_exponent = true;
                    break;
                }
                _ => return None,
            }
        }
        if has_exponent {
            let written = std::str::from_utf8(bytes.as_slice()).ok()?;
            let written: i32 = written.parse().ok()?;
            exponent = exponent.checked_add(written)?;
        }
        // Zeros at the end do not count as digits, but they move the point.
        let exponent = exponent.checked_add(i32::try_from(zeros).ok()?)?;
        any.then_some(Digits {
            digits,
            count,
            exponent,
            has_exponent,
        })
    }

    /// True if a float is certainly this number, by the rules of [`ExactFloat::keeps`].
    #[inline]
    fn is_kept_by(&self, value: f64, digits_kept: usize) -> bool {
        if self.count <= digits_kept {
            return true;
        }
        if !value.is_normal() {
            return false;
        }
        let bits = value.to_bits();
        let mantissa = bits & ((1 << 52) - 1) | 1 << 52;
        let power = (bits >> 52 & 0x7FF) as i32 - 1_075 + mantissa.trailing_zeros() as i32;
        let mantissa = u128::from(mantissa >> mantissa.trailing_zeros());
        if self.exponent >= 0 && !self.has_exponent {
            let whole = u128::from(self.digits).checked_mul(power_of_ten(self.exponent));
            let is_small = (0..64).contains(&power);
            return is_small && whole == Some(mantissa << power);
        }
        // Both numbers in units of 2^power * 10^exponent; their distance must be less than half of the last digit's
        // place.
        let shift = (-power) as u32;
        if !(-22..=0).contains(&self.exponent)
            || !(-100..=0).contains(&power)
            || u128::from(self.digits).leading_zeros() <= shift
        {
            return false;
        }
        let written = u128::from(self.digits) << shift;
        // Below 2^53 * 10^22, which is below 2^127.
        let held = mantissa * power_of_ten(-self.exponent);
        written.abs_diff(held) * 2 < 1 << shift
    }
}

/// The power of ten for an exponent from 0 to 38; otherwise 0, which equals no number.
fn power_of_ten(exponent: i32) -> u128 {
    let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
    10_u128.checked_pow(exponent).unwrap_or(0)
}

/// The digits of a number without zeros at the ends, and the position of its point among them. The sign is left out,
/// because no conversion changes it.
fn decimal(text: &str) -> (String, i64) {
    let text = text.trim_start_matches(['-', '+']);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse().unwrap_or(0)),
        None => (text, 0_i64),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let leading = digits.len() - digits.trim_start_matches('0').len();
    let own = digits.trim_matches('0').to_owned();
    match own.is_empty() {
        true => (own, 0),
        false => (own, whole.len() as i64 - leading as i64 + exponent),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn exact(is_single: bool, is_typed: bool) -> ExactFloat {
        ExactFloat::new(is_single, is_typed)
    }

    fn keeps(is_single: bool, text: &str) -> bool {
        exact(is_single, true).keeps(text.as_bytes())
    }

    #[test]
    fn the_smallest_numbers_are_kept_or_told() {
        for (is_single, text, expected) in [
            (true, "1.1e-45", false),
            (true, "1.23456e-44", false),
            (true, "1e-45", true),
            (true, "1.4012985e-45", true),
            (true, "1.17549435e-38", true),
            (true, "1.23456e-37", true),
            (false, "7e-324", false),
            (false, "2.5e-324", false),
            (false, "1.23456789e-320", false),
            (false, "5e-324", true),
            (false, "4.9406564584124654e-324", true),
            (false, "2.2250738585072014e-308", true),
            (false, "1.23456789e-300", true),
        ] {
            let exact = exact(is_single, false);
            assert_eq!(exact.keeps(text.as_bytes()), expected, "{text}");
        }
    }

    /// The results of the quick path and of the exact path. Fails if the quick one accepts more.
    fn both(is_single: bool, text: &str) -> (bool, bool) {
        let exact = exact(is_single, false);
        let value = match is_single {
            true => f64::from(text.parse::<f32>().expect(text)),
            false => text.parse().expect(text),
        };
        let digits = Digits::of(text.as_bytes());
        let quick = exact.has_all_digits(value)
            && digits.is_some_and(|digits| digits.is_kept_by(value, exact.digits_kept));
        (quick, exact.keeps(text.as_bytes()))
    }

    #[test]
    fn a_real_that_was_printed_as_a_double_is_kept() {
        // 965.52447509765625: the last of 16 digits is a tie.
        for text in ["965.5244750976563", "965.5244750976562", "965.5245"] {
            assert!(exact(true, false).keeps(text.as_bytes()), "{text}");
        }
        assert!(!exact(true, false).keeps(b"965.5244750976564"));
        assert!(!exact(true, true).keeps(b"965.5244750976563"));
    }

    #[test]
    fn typed_numbers_are_kept_or_told() {
        for (is_single, text, expected) in [
            (false, "9007199254740992", true),
            (false, "9007199254740993", false),
            (false, "-9223372036854775808", true),
            (false, "9223372036854775807", false),
            (false, "36028797018963968", true),
            (false, "36028797018963970", false),
            (false, "123456789.123456789", false),
            (false, "0.30000000000000004", true),
            (false, "1000000000000000000000", true),
            (false, "NaN", true),
            (false, "not a number", true),
            (true, "16777216", true),
            (true, "16777217", false),
            (true, "0.1", true),
            (true, "0.10000000149011612", false),
            (true, "0.123456789012", false),
            (true, "-0.0000000", true),
            (true, "2e-45", false),
            (false, "1152921504606846976", true),
        ] {
            assert_eq!(keeps(is_single, text), expected, "{text}");
        }
    }

    #[test]
    fn written_numbers_are_kept_or_told() {
        for (is_single, text, expected) in [
            (false, "9007199254740992", true),
            (false, "9007199254740993", false),
            (false, "9007199254740993.0", false),
            (false, "-9007199254740993", false),
            (false, "12345678901234567", false),
            (false, "12345678901234568", true),
            (false, "36028797018963968", true),
            // The shortest text of the next smaller float.
            (false, "36028797018963970", false),
            (false, "3.602879701896397e16", true),
            (false, "123456789012345", true),
            (false, "123456789012345000000000", true),
            (false, "100000000000000000000000", true),
            (false, "18446744073709551616", true),
            (false, "18446744073709551617", false),
            (false, "1e300", true),
            (false, "1.7976931348623157e308", true),
            (false, "4.9E-324", true),
            (false, "2.2250738585072014E-308", true),
            (false, "0.30000000000000004", true),
            (false, "0.10000000000000001", true),
            (false, "1.000000000000000056e-01", true),
            (
                false,
                "0.1000000000000000055511151231257827021181583404541015625",
                true,
            ),
            (
                false,
                "0.1000000000000000055511151231257827021181583404541015626",
                false,
            ),
            (false, "0.1234567890123456789", false),
            (false, "123456789.123456789", false),
            (false, "900719925474099.3", true),
            (false, "8007199254740991.5", false),
            (false, "900719925474099.25", true),
            (false, "5.684341886080802e-14", true),
            (false, "1.2345678901234568e+25", true),
            (false, "00000000000000000000000000007", true),
            (false, "+1.50000000000000000000000000", true),
            (false, ".50000000000000000000000001", false),
            (true, "16777216", true),
            (true, "16777217", false),
            (true, "16777217.0", false),
            (true, "250000000000", true),
            (true, "33554434", false),
            (true, "0.1234567", true),
            (true, "0.12345678", true),
            (true, "0.123456789", false),
            (true, "1.4E-45", true),
            (true, "2e-45", false),
            (true, "3.4028235e38", true),
        ] {
            let (quick, exact) = both(is_single, text);
            assert_eq!(exact, expected, "{text}");
            assert!(exact || !quick, "{text}");
        }
        for text in [
            "0.30000000000000004",
            "12.345678901234567",
            "-98.765432109876543",
            "0.001234567890123456",
        ] {
            let exact = exact(false, false);
            let value: f64 = text.parse().expect(text);
            let digits = Digits::of(text.as_bytes()).expect(text);
            assert_eq!(
                digits.is_kept_by(value, 15),
                exact.keeps(text.as_bytes()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_error_names_the_nearest_number() {
        let reason = exact(false, false).lost(b"9007199254740993").reason;
        assert!(reason.contains("is 9007199254740992."), "{reason}");
        assert!(reason.contains("lossless = false"), "{reason}");
        let reason = exact(true, false).lost(b"0.123456789").reason;
        assert!(reason.contains("is 1.2345679e-1."), "{reason}");
    }

    fn number() -> impl Strategy<Value = String> {
        prop_oneof![
            "[-+]?[0-9]{1,22}",
            "[-+]?[0-9]{0,19}[.][0-9]{1,22}",
            "[-+]?[0-9][.][0-9]{1,20}[eE][-+]?[0-9]{1,2}",
            any::<f64>().prop_map(|value| format!("{value:e}")),
            any::<f64>().prop_map(|value| format!("{value:.16e}")),
            (-1e6..1e6).prop_map(|value: f64| value.to_string()),
            (-1e6..1e6).prop_map(|value: f64| format!("{value:.18}")),
            (-1e6_f32..1e6).prop_map(|value| value.to_string()),
            any::<i64>().prop_map(|value| value.to_string()),
            any::<i64>().prop_map(|value| (value as f64 as i128).to_string()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn the_quick_path_takes_only_what_is_kept(text in number()) {
            for is_single in [false, true] {
                let (quick, exact) = both(is_single, &text);
                prop_assert!(exact || !quick, "{} {}", is_single, text);
            }
        }

        #[test]
        fn what_a_double_prints_is_kept(value in any::<f64>(), digits in 16_usize..25) {
            let printed = [
                format!("{value:?}"),
                format!("{value:e}"),
                format!("{value:.digits$e}"),
            ];
            for text in printed {
                prop_assert!(both(false, &text).1, "{}", text);
            }
        }

        #[test]
        fn whole_numbers_are_kept_where_they_are_equal(value: i64) {
            let has_few = decimal(&value.to_string()).0.len() <= 15;
            let is_kept = value as f64 as i128 == i128::from(value) || has_few;
            prop_assert_eq!(both(false, &value.to_string()).1, is_kept);
            prop_assert_eq!(keeps(false, &value.to_string()), is_kept);
        }

        #[test]
        fn doubles_are_kept_by_doubles(value: f64) {
            let text = format!("{value:?}");
            prop_assert!(keeps(false, &text));
        }
    }
}
