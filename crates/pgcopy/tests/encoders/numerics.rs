//! Tests `numeric` against an encoder that works digit by digit.

use std::sync::Arc;

use arrow_array::{Decimal128Array, StringViewArray};
use inrush_pgcopy::limits::{NUMERIC_DIGITS_AFTER_POINT_MAX, NUMERIC_DIGITS_BEFORE_POINT_MAX};
use inrush_pgcopy::{BinaryEncoder, EncodeError, InstructionSet, PgType};
use proptest::prelude::*;

use crate::batches::{any_decimal, batch};
use crate::plain;

/// The field's bytes, without field count and length word.
fn encode_text(text: &str) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    let array = StringViewArray::from(vec![text]);
    BinaryEncoder::new(vec![PgType::Numeric]).encode(&batch(vec![Arc::new(array)], 1), &mut out)?;
    Ok(out.split_off(6))
}

fn encode_decimals(values: Vec<i128>, scale: i8) -> Vec<u8> {
    let rows = values.len();
    let array = Decimal128Array::new(values.into(), None)
        .with_data_type(arrow_schema::DataType::Decimal128(38, scale));
    let batch = batch(vec![Arc::new(array)], rows);
    let encode = |instruction_set: InstructionSet| {
        let mut out = Vec::new();
        BinaryEncoder::with_instruction_set(vec![PgType::Numeric], instruction_set)
            .encode(&batch, &mut out)
            .expect("every decimal fits");
        out
    };
    let instruction_sets = InstructionSet::available();
    let out = encode(instruction_sets[0]);
    for instruction_set in &instruction_sets[1..] {
        assert!(
            out == encode(*instruction_set),
            "{instruction_set:?} differs"
        );
    }
    out
}

fn encode_decimals_plainly(values: &[i128], scale: i8) -> Vec<u8> {
    let mut out = Vec::new();
    for &value in values {
        let field = plain::numeric(&plain::decimal_text(value, scale as usize));
        out.extend([0, 1]);
        out.extend((field.len() as u32).to_be_bytes());
        out.extend(field);
    }
    out
}

#[test]
fn every_power_of_ten_at_every_scale() {
    for scale in 0..=38 {
        let values: Vec<i128> = (0..39)
            .flat_map(|power| [-1, 0, 1].map(|step| 10i128.pow(power) + step))
            .flat_map(|value| [value, -value])
            .chain([i128::MAX, i128::MIN])
            .collect();
        assert_eq!(
            encode_decimals(values.clone(), scale),
            encode_decimals_plainly(&values, scale),
            "scale {scale}"
        );
    }
}

#[test]
fn a_million_small_numbers() {
    for scale in [0, 2, 4] {
        let values: Vec<i128> = (-500_000..500_000).collect();
        assert!(
            encode_decimals(values.clone(), scale) == encode_decimals_plainly(&values, scale),
            "scale {scale}"
        );
    }
}

proptest! {
    #[test]
    fn decimals(values in proptest::collection::vec(any_decimal(), 1..50), scale in 0..=38i8) {
        prop_assert_eq!(
            encode_decimals(values.clone(), scale),
            encode_decimals_plainly(&values, scale)
        );
    }

    #[test]
    fn decimal_text(
        text in "-?(0{0,9}[1-9][0-9]{0,40}|0{1,9})(\\.(0{0,9}[0-9]{1,40}|[0-9]{1,9}0{1,9}))?"
    ) {
        prop_assert_eq!(encode_text(&text).expect("a number"), plain::numeric(&text));
    }

    #[test]
    fn long_decimal_text(before in "[0-9]{1,3000}", after in "[0-9]{0,3000}", zeros in 0..20usize) {
        let text = format!("-{before}.{}{after}", "0".repeat(zeros));
        prop_assert_eq!(encode_text(&text).expect("a number"), plain::numeric(&text));
    }
}

macro_rules! reads {
    ($($name:ident: $text:expr => $words:expr;)*) => {
        $(#[test]
        fn $name() {
            let words: &[u16] = &$words;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            assert_eq!(encode_text($text).expect("a number"), bytes);
            assert_eq!(plain::numeric($text), bytes);
        })*
    };
}

const MINUS_ONE: u16 = 0xffff;

// ndigits, weight, sign, dscale; then the digits.
reads! {
    zero: "0" => [0, 0, 0, 0];
    minus_zero: "-0" => [0, 0, 0, 0];
    zero_with_scale: "-000.00" => [0, 0, 0, 2];
    ten_thousandth: "0.0001" => [1, MINUS_ONE, 0, 4, 1];
    leading_zeros: "000000000000000000000000000007" => [1, 0, 0, 0, 7];
    trailing_zeros: "1.50000000000000000000000000000" => [2, 0, 0, 29, 1, 5000];
    only_trailing_zeros: "10000000000000000000000000000" => [1, 7, 0, 0, 1];
    first_digit_far_behind: "-0.000000000000000000000000000012"
        => [1, (-8i16) as u16, 0x4000, 30, 1200];
    eighteen_digits: "123456789012345678" => [5, 4, 0, 0, 12, 3456, 7890, 1234, 5678];
    nineteen_digits: "1234567890123456789" => [5, 4, 0, 0, 123, 4567, 8901, 2345, 6789];
    zero_of_twenty_digits: "0.00000000000000000000" => [0, 0, 0, 20];
    plus_sign: "+1" => [1, 0, 0, 0, 1];
    nothing_before_the_point: ".5" => [1, MINUS_ONE, 0, 1, 5000];
    nothing_behind_the_point: "5." => [1, 0, 0, 0, 5];
    nan: "NaN" => [0, 0, 0xC000, 0];
    infinity: "Infinity" => [0, 0, 0xD000, 0];
    minus_infinity: "-Infinity" => [0, 0, 0xF000, 0];
}

#[test]
fn the_longest() {
    let before = "9".repeat(NUMERIC_DIGITS_BEFORE_POINT_MAX);
    let after = "9".repeat(NUMERIC_DIGITS_AFTER_POINT_MAX);
    let text = format!("{before}.{after}");
    let bytes = encode_text(&text).expect("as long as it may be");
    assert!(bytes == plain::numeric(&text));
    assert!(encode_text(&format!("000{text}")).expect("zeros in front do not count") == bytes);
    for text in [format!("1{before}.0"), format!("0.{after}9")] {
        let error = encode_text(&text).expect_err("one digit too many");
        assert!(
            matches!(error, EncodeError::NumericTooLong { row: 0, .. }),
            "{error}"
        );
    }
}

#[test]
fn what_is_no_number() {
    for text in [
        "", "-", "+", ".", "-.", "1e5", "1 ", " 1", "1,5", "1.2.3", "--1", "+-1", "0x10", "nan",
        "1_000", "١",
    ] {
        let error = encode_text(text).expect_err(text);
        assert_eq!(
            error,
            EncodeError::NumericSyntax {
                column: "c0".into(),
                row: 0,
                value: text.into()
            }
        );
    }
}
