//! Sums over columns of numbers, for comparison with promised sums.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use inrush_rows::column_type::ColumnType;
use serde::{Deserialize, Serialize};

use super::exact::ExactSum;

/// Ten to the power of 19: large numbers are cut into parts of this size, so that many can be added in 128 bits.
const CUT: i128 = 10_i128.pow(19);
const CUT_EXPONENT: i32 = 19;
/// Numbers with more digits before the point are not summed up, if the type does not limit them.
const SMALL_DIGITS_MAX: usize = 1_000;

/// How a column of numbers is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SumForm {
    /// Whole numbers of 16 bits.
    Int16,
    /// Whole numbers of 32 bits.
    Int32,
    /// Whole numbers of 64 bits.
    Int64,
    /// Decimal numbers of at most 38 digits.
    Decimal {
        /// Digits after the point.
        scale: u8,
    },
    /// Decimal numbers of any size, as texts.
    DecimalText {
        /// The number of digits after the point that the type stores; `None` if it stores all digits of a value.
        scale: Option<u16>,
    },
}

impl SumForm {
    /// The form of the sum for a column of this type, if it has numbers that can be summed up.
    pub fn new(column_type: &ColumnType) -> Option<SumForm> {
        match column_type {
            ColumnType::Int16 => Some(SumForm::Int16),
            ColumnType::Int32 => Some(SumForm::Int32),
            ColumnType::Int64 => Some(SumForm::Int64),
            ColumnType::Decimal { scale, .. } => Some(SumForm::Decimal { scale: *scale }),
            ColumnType::DecimalText { limit } => Some(SumForm::DecimalText {
                // A negative scale stores no digit after the point.
                scale: limit.map(|(_, scale)| scale.max(0) as u16),
            }),
            _ => None,
        }
    }

    /// The measures of its values other than their count, in words; in the order of [`SumForm::add`].
    pub fn measures(self) -> &'static [&'static str] {
        match self {
            SumForm::DecimalText { scale: None } => &["sum", "values of 1e1000 and more"],
            _ => &["sum"],
        }
    }

    /// Adds the values of a batch's column to the sums that [`SumForm::measures`] names.
    pub fn add(self, array: &ArrayRef, sums: &mut [ExactSum]) {
        match self {
            SumForm::Int16 => sums[0].add(whole(array.as_primitive::<Int16Type>(), i128::from)),
            SumForm::Int32 => sums[0].add(whole(array.as_primitive::<Int32Type>(), i128::from)),
            SumForm::Int64 => sums[0].add(whole(array.as_primitive::<Int64Type>(), i128::from)),
            SumForm::Decimal { scale } => {
                let (low, high) = decimals(array.as_primitive());
                sums[0].add_at(-i32::from(scale), low);
                sums[0].add_at(CUT_EXPONENT - i32::from(scale), high);
            }
            SumForm::DecimalText { scale } => {
                for text in array.as_string_view().iter().flatten() {
                    // A number that is too large for a database to add.
                    let is_small = scale.is_some() || whole_digits(text) <= SMALL_DIGITS_MAX;
                    if !is_small || !sums[0].add_text(text) {
                        sums[1].add(1);
                    }
                }
            }
        }
    }
}

/// Adds the number of values in a batch's column.
pub fn add_count(array: &ArrayRef, sum: &mut ExactSum) {
    sum.add((array.len() - array.null_count()) as i128);
}

/// The sum of a batch's values without NULLs. A batch has few enough rows for 128 bits.
pub fn whole<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    number: impl Fn(T::Native) -> i128,
) -> i128 {
    match array.null_count() {
        0 => array.values().iter().map(|value| number(*value)).sum(),
        _ => array.iter().flatten().map(number).sum(),
    }
}

/// The number of digits before the point, without leading zeros.
fn whole_digits(text: &str) -> usize {
    let unsigned = text.trim_start_matches(['-', '+']);
    let whole = unsigned
        .split_once('.')
        .map_or(unsigned, |(whole, _)| whole);
    whole.trim_start_matches('0').len()
}

/// The sum of a batch's decimals, in two parts: the unit of the second part is [`CUT`].
fn decimals(array: &PrimitiveArray<Decimal128Type>) -> (i128, i128) {
    let (mut low, mut high) = (0, 0);
    let mut add = |value: i128| match i64::try_from(value) {
        Ok(value) => low += i128::from(value),
        Err(_) => {
            high += value / CUT;
            low += value % CUT;
        }
    };
    match array.null_count() {
        0 => array.values().iter().for_each(|value| add(*value)),
        _ => array.iter().flatten().for_each(add),
    }
    (low, high)
}
