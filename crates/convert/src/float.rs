//! Floating point, read by the library, which rounds to the nearest value as PostgreSQL does.

use std::marker::PhantomData;
use std::str::FromStr;

use super::error::ValueError;
use super::kernel::{Kernel, WINDOW_BYTES, Window, trim};
use super::number::{is_not_finite, literal, not_a_number};

/// Converts floats of one width.
pub(super) struct Float<N> {
    native: PhantomData<N>,
}

impl<N> Float<N> {
    pub fn new() -> Float<N> {
        Float {
            native: PhantomData,
        }
    }
}

/// A float of one width.
pub(super) trait Native: Copy + Default + FromStr + PartialEq {
    /// Its name in SQL and its limits.
    const RANGE: &'static str;
    /// True if it is neither an infinity nor `NaN`.
    fn is_finite(self) -> bool;
    /// Zero of either sign.
    fn is_zero(self) -> bool;
}

impl Native for f32 {
    const RANGE: &'static str =
        "real (about 1e-45 to 3.4e38 on both sides of zero); double precision holds more";
    fn is_finite(self) -> bool {
        f32::is_finite(self)
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl Native for f64 {
    const RANGE: &'static str =
        "double precision (about 5e-324 to 1.8e308 on both sides of zero); numeric holds more";
    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }
    fn is_zero(self) -> bool {
        self == 0.0
    }
}

impl<N: Native> Kernel for Float<N> {
    type Native = N;

    #[inline(always)]
    fn quick(&self, window: &Window, length: usize) -> Option<N> {
        let field = window.get(..length.min(WINDOW_BYTES))?;
        if length > WINDOW_BYTES || !matches!(field.first(), Some(b'0'..=b'9' | b'-')) {
            return None;
        }
        let value = std::str::from_utf8(field).ok()?.parse::<N>().ok()?;
        (value.is_finite() && !value.is_zero()).then_some(value)
    }

    fn exact(&self, field: &[u8]) -> Result<N, ValueError> {
        let text = trim(field);
        // The library accepts every form that PostgreSQL documents, including `NaN`, `inf` and `infinity` in any case,
        // and no other.
        let Some(value) = std::str::from_utf8(text)
            .ok()
            .and_then(|text| text.parse::<N>().ok())
        else {
            return Err(ValueError::syntax(not_a_number(text, "a number")));
        };
        if is_not_finite(text) {
            return Ok(value);
        }
        let number = literal(text)?;
        let is_lost = if value.is_zero() {
            number.digits().any(|digit| digit != b'0')
        } else {
            !value.is_finite()
        };
        if is_lost {
            return Err(ValueError::out_of_range(format!(
                "outside the range of {}",
                N::RANGE
            )));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use inrush_rows::reject::RejectCode;
    use proptest::prelude::*;

    use super::super::kernel::both_paths;
    use super::*;

    fn double(text: &str) -> Result<u64, RejectCode> {
        both_paths(&Float::<f64>::new(), text)
            .map(f64::to_bits)
            .map_err(|error| error.code)
    }

    fn single(text: &str) -> Result<u32, RejectCode> {
        both_paths(&Float::<f32>::new(), text)
            .map(f32::to_bits)
            .map_err(|error| error.code)
    }

    macro_rules! doubles {
        ($($name:ident: $text:expr => $expected:expr;)*) => {
            $(#[test]
            fn $name() {
                let expected: Result<f64, RejectCode> = $expected;
                assert_eq!(double($text), expected.map(f64::to_bits));
            })*
        };
    }

    doubles! {
        zero: "0" => Ok(0.0);
        minus_zero: "-0" => Ok(-0.0);
        zero_with_exponent: "0e-400" => Ok(0.0);
        blanks_around: " 1.5\n" => Ok(1.5);
        point_last: "1." => Ok(1.0);
        point_first: ".5" => Ok(0.5);
        plus: "+2e3" => Ok(2000.0);
        infinity: "Infinity" => Ok(f64::INFINITY);
        minus_infinity: "-iNf" => Ok(f64::NEG_INFINITY);
        largest: "1.7976931348623157e308" => Ok(f64::MAX);
        past_largest: "1.8e308" => Err(RejectCode::OutOfRange);
        smallest: "5e-324" => Ok(5e-324);
        past_smallest: "1e-400" => Err(RejectCode::OutOfRange);
        long_literal: "0.1000000000000000055511151231257827021181583404541015625000000000000000001"
            => Ok(0.1);
        empty: "" => Err(RejectCode::Syntax);
        exponent_alone: "1e" => Err(RejectCode::Syntax);
        hexadecimal: "0x1p3" => Err(RejectCode::Syntax);
        decimal_comma: "1,5" => Err(RejectCode::Syntax);
        underscore: "1_0" => Err(RejectCode::Syntax);
    }

    #[test]
    fn not_a_number_in_any_case() {
        for text in ["NaN", "nan", "-nan", "+NAN"] {
            assert!(f64::from_bits(double(text).expect(text)).is_nan());
        }
    }

    #[test]
    fn single_width_ends() {
        assert_eq!(single("3.4028235e38"), Ok(f32::MAX.to_bits()));
        assert_eq!(single("3.4028236e38"), Err(RejectCode::OutOfRange));
        assert_eq!(single("1e-46"), Err(RejectCode::OutOfRange));
        assert_eq!(single("1e-40"), Ok(1e-40f32.to_bits()));
        assert_eq!(single("16777217"), Ok(16_777_216f32.to_bits()));
    }

    proptest! {
        #[test]
        fn every_double_survives(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            prop_assert_eq!(double(&format!("{value:e}")), Ok(bits));
        }

        #[test]
        fn paths_agree(text in "[-+ ]?[0-9]{0,20}[.]?[0-9]{0,20}(e[-+]?[0-9]{0,3})?") {
            let _ = double(&text);
            let _ = single(&text);
        }
    }
}
