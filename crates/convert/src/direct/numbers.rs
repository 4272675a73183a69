//! Integers, floats and decimals.
//!
//! The loops never end early, so that the compiler can vectorize them. They also check the values in the slots of NULLs.
//! If such a value does not fit, the column is made from its text, which is slower but has the same result.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray};
use arrow_schema::DataType;

/// Converts integers to another width. `None` if a value does not fit, or if the values are not integers.
macro_rules! integers {
    ($name:ident, $target:ty) => {
        pub(super) fn $name(values: &ArrayRef) -> Option<ArrayRef> {
            type Native = <$target as ArrowPrimitiveType>::Native;
            macro_rules! from {
                ($source:ty) => {{
                    let source = values.as_primitive::<$source>();
                    let mut fits = true;
                    let made: Vec<Native> = source
                        .values()
                        .iter()
                        .map(|value| {
                            let made = *value as Native;
                            fits &= i128::from(made) == i128::from(*value);
                            made
                        })
                        .collect();
                    fits.then(|| of::<$target>(made, values))
                }};
            }
            match values.data_type() {
                same if *same == <$target as ArrowPrimitiveType>::DATA_TYPE => Some(values.clone()),
                DataType::Int8 => from!(Int8Type),
                DataType::Int16 => from!(Int16Type),
                DataType::Int32 => from!(Int32Type),
                DataType::Int64 => from!(Int64Type),
                DataType::UInt8 => from!(UInt8Type),
                DataType::UInt16 => from!(UInt16Type),
                DataType::UInt32 => from!(UInt32Type),
                DataType::UInt64 => from!(UInt64Type),
                _ => None,
            }
        }
    };
}

integers!(int16, Int16Type);
integers!(int32, Int32Type);
integers!(int64, Int64Type);

/// The array of the converted values.
pub(super) fn of<T: ArrowPrimitiveType>(made: Vec<T::Native>, values: &ArrayRef) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::new(
        made.into(),
        values.nulls().cloned(),
    ))
}

pub(super) fn float32(values: &ArrayRef) -> Option<ArrayRef> {
    (*values.data_type() == DataType::Float32).then(|| {
        let values_of = values.as_primitive::<Float32Type>().values();
        // All NaNs have the same text, so they become the same NaN here, too.
        let made = values_of.iter().map(|value| match value.is_nan() {
            true => f32::NAN,
            false => *value,
        });
        of::<Float32Type>(made.collect(), values)
    })
}

pub(super) fn float64(values: &ArrayRef) -> Option<ArrayRef> {
    let one_nan = |value: f64| match value.is_nan() {
        true => f64::NAN,
        false => value,
    };
    let made: Vec<f64> = match values.data_type() {
        DataType::Float32 => {
            let singles = values.as_primitive::<Float32Type>().values();
            singles
                .iter()
                .map(|value| one_nan((*value).into()))
                .collect()
        }
        DataType::Float64 => {
            let doubles = values.as_primitive::<Float64Type>().values();
            doubles.iter().map(|value| one_nan(*value)).collect()
        }
        _ => return None,
    };
    Some(of::<Float64Type>(made, values))
}

/// Converts integers, and decimals with at most `scale` digits after the point. `None` if a value does not fit.
pub(super) fn decimal(values: &ArrayRef, precision: u8, scale: u8) -> Option<ArrayRef> {
    macro_rules! from {
        ($source:ty, $scale:expr) => {
            scaled::<$source>(values, $scale, precision, scale)
        };
    }
    match values.data_type() {
        DataType::Decimal128(_, from) if i16::from(*from) == i16::from(scale) => {
            let source = values.as_primitive::<Decimal128Type>();
            let most = 10_i128.pow(precision.into()) - 1;
            fits(source.values(), most).then(|| {
                let data_type = DataType::Decimal128(precision, *from);
                Arc::new(source.clone().with_data_type(data_type)) as ArrayRef
            })
        }
        DataType::Decimal32(_, scale) => from!(Decimal32Type, *scale),
        DataType::Decimal64(_, scale) => from!(Decimal64Type, *scale),
        DataType::Decimal128(_, scale) => from!(Decimal128Type, *scale),
        DataType::Int8 => from!(Int8Type, 0),
        DataType::Int16 => from!(Int16Type, 0),
        DataType::Int32 => from!(Int32Type, 0),
        DataType::Int64 => from!(Int64Type, 0),
        DataType::UInt8 => from!(UInt8Type, 0),
        DataType::UInt16 => from!(UInt16Type, 0),
        DataType::UInt32 => from!(UInt32Type, 0),
        DataType::UInt64 => from!(UInt64Type, 0),
        _ => None,
    }
}

/// True if no value exceeds `most` in magnitude.
fn fits(values: &[i128], most: i128) -> bool {
    // Below 2^128. One unsigned comparison replaces two.
    let range = 2 * most.unsigned_abs();
    let is_inside = |value: &i128| value.wrapping_add(most) as u128 <= range;
    values
        .iter()
        .fold(true, |fits, value| fits & is_inside(value))
}

fn scaled<S>(values: &ArrayRef, from: i8, precision: u8, scale: u8) -> Option<ArrayRef>
where
    S: ArrowPrimitiveType,
    S::Native: Into<i128>,
{
    let added = u32::from(scale.checked_sub(u8::try_from(from).ok()?)?);
    let factor = 10_i128.pow(added);
    let most = (10_i128.pow(precision.into()) - 1) / factor;
    let mut fits = true;
    let source = values.as_primitive::<S>().values();
    let made = source.iter().map(|value| {
        let value: i128 = (*value).into();
        fits &= -most <= value && value <= most;
        value.wrapping_mul(factor)
    });
    let made: Vec<i128> = made.collect();
    fits.then(|| {
        let array = PrimitiveArray::<Decimal128Type>::new(made.into(), values.nulls().cloned());
        // The scale is at most 38.
        let data_type = DataType::Decimal128(precision, scale as i8);
        Arc::new(array.with_data_type(data_type)) as ArrayRef
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_fit_up_to_their_last_digit() {
        let most = 10_i128.pow(38) - 1;
        for (value, expected) in [
            (0, true),
            (most, true),
            (-most, true),
            (most + 1, false),
            (-most - 1, false),
            (i128::MAX, false),
            (i128::MIN, false),
            (i128::MIN + 1, false),
        ] {
            assert_eq!(fits(&[0, value], most), expected, "{value}");
            assert_eq!(fits(&[value], 99), value == 0, "{value}");
        }
    }
}
