//! The order of the rows of a reference that have the same key (`first` of a lookup).

use std::cmp::Ordering;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use inrush_rows::column_type::ColumnType;

use super::index::heap_bytes;
use crate::key::KeyClass;

/// The order of rows with the same key: the first one counts.
#[derive(Clone, Copy, Debug)]
pub struct First {
    /// The index of a column of the batches.
    pub column: usize,
    /// The largest value comes first.
    pub is_descending: bool,
}

/// A value by which rows are ordered. All values of a column have the same variant.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub(super) enum OrderValue {
    Number(i128),
    Float(f64),
    Bytes(Box<[u8]>),
}

impl OrderValue {
    /// The bytes of the value in the heap.
    pub(super) fn heap_bytes(&self) -> u64 {
        match self {
            OrderValue::Bytes(bytes) => heap_bytes(bytes.len()),
            OrderValue::Number(_) | OrderValue::Float(_) => 0,
        }
    }
}

// The first byte of an order value in a file is one of these.
const NUMBER: u8 = 1;
const FLOAT: u8 = 2;
const BYTES: u8 = 3;

impl OrderValue {
    /// Appends its form in a file.
    pub(super) fn append(&self, out: &mut Vec<u8>) {
        match self {
            OrderValue::Number(number) => {
                out.push(NUMBER);
                out.extend_from_slice(&number.to_le_bytes());
            }
            OrderValue::Float(float) => {
                out.push(FLOAT);
                out.extend_from_slice(&float.to_le_bytes());
            }
            OrderValue::Bytes(bytes) => {
                out.push(BYTES);
                out.extend_from_slice(bytes);
            }
        }
    }

    /// The value with this form; `None`, for NULL, if there are no bytes.
    pub(super) fn read(form: &[u8]) -> Option<OrderValue> {
        let (kind, value) = form.split_first()?;
        Some(match *kind {
            NUMBER => OrderValue::Number(i128::from_le_bytes(value.try_into().ok()?)),
            FLOAT => OrderValue::Float(f64::from_le_bytes(value.try_into().ok()?)),
            _ => OrderValue::Bytes(value.into()),
        })
    }
}

impl First {
    /// True if a row comes before another one; `None` if the order does not decide.
    pub(super) fn is_before(
        &self,
        own: &Option<OrderValue>,
        other: &Option<OrderValue>,
    ) -> Option<bool> {
        match (own, other) {
            (None, None) => None,
            // NULL comes last, whatever the direction.
            (None, Some(_)) => Some(false),
            (Some(_), None) => Some(true),
            (Some(own), Some(other)) => match own.partial_cmp(other)? {
                Ordering::Equal => None,
                Ordering::Less => Some(!self.is_descending),
                Ordering::Greater => Some(self.is_descending),
            },
        }
    }

    /// True if rows can be ordered by values of this type.
    pub fn orders(column_type: &ColumnType) -> bool {
        KeyClass::of(column_type).is_some()
            || matches!(column_type, ColumnType::Float32 | ColumnType::Float64)
    }
}

pub(super) fn order_value(array: &ArrayRef, row: usize) -> Option<OrderValue> {
    if array.is_null(row) {
        return None;
    }
    let number = |value: i64| OrderValue::Number(value.into());
    Some(match array.data_type() {
        DataType::Boolean => number(array.as_boolean().value(row).into()),
        DataType::Int16 => number(array.as_primitive::<Int16Type>().value(row).into()),
        DataType::Int32 => number(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => number(array.as_primitive::<Int64Type>().value(row)),
        DataType::Date32 => number(array.as_primitive::<Date32Type>().value(row).into()),
        DataType::Time64(_) => number(array.as_primitive::<Time64MicrosecondType>().value(row)),
        DataType::Timestamp(_, _) => {
            number(array.as_primitive::<TimestampMicrosecondType>().value(row))
        }
        // The scale is the same in all rows.
        DataType::Decimal128(_, _) => {
            OrderValue::Number(array.as_primitive::<Decimal128Type>().value(row))
        }
        DataType::Float32 => {
            OrderValue::Float(array.as_primitive::<Float32Type>().value(row).into())
        }
        DataType::Float64 => OrderValue::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::FixedSizeBinary(_) => {
            OrderValue::Bytes(array.as_fixed_size_binary().value(row).into())
        }
        DataType::BinaryView => OrderValue::Bytes(array.as_binary_view().value(row).into()),
        _ => OrderValue::Bytes(array.as_string_view().value(row).as_bytes().into()),
    })
}
