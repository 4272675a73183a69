//! Keys of lookups and of distinct rows: values that are equal have the same bytes.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Int16Type, Int32Type, Int64Type, Time64MicrosecondType,
    TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use inrush_rows::column_type::ColumnType;
use inrush_rows::typed_rows::value_text;

use crate::fold::Folds;

/// How the values of a key column are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyClass {
    /// Whole numbers and decimals.
    Number,
    /// Texts, by their bytes.
    Text,
    /// Texts; some differences are ignored, such as upper and lower case.
    Folded(Folds),
    /// Booleans.
    Bool,
    /// Days.
    Date,
    /// Times of the day.
    Time,
    /// Timestamps without a zone.
    Timestamp,
    /// Timestamps with a zone.
    TimestampTz,
    /// UUIDs and bytes.
    Bytes,
}

impl KeyClass {
    /// The class of a type; `None` if values of the type cannot be keys.
    pub fn of(column_type: &ColumnType) -> Option<KeyClass> {
        Some(match column_type {
            ColumnType::Int16
            | ColumnType::Int32
            | ColumnType::Int64
            | ColumnType::Decimal { .. } => KeyClass::Number,
            ColumnType::Text { .. } | ColumnType::Enum { .. } => KeyClass::Text,
            ColumnType::Bool => KeyClass::Bool,
            ColumnType::Date => KeyClass::Date,
            ColumnType::Time { .. } => KeyClass::Time,
            ColumnType::Timestamp { .. } => KeyClass::Timestamp,
            ColumnType::TimestampTz { .. } => KeyClass::TimestampTz,
            ColumnType::Uuid | ColumnType::Binary => KeyClass::Bytes,
            _ => return None,
        })
    }

    /// The class in which these differences of texts are ignored.
    pub fn folded(self, folds: Folds) -> KeyClass {
        match self {
            KeyClass::Text if !folds.is_none() => KeyClass::Folded(folds),
            own => own,
        }
    }
}

/// The length of NULL in a key. No value is so long: a batch has fewer bytes.
const NULL_LENGTH: u32 = u32::MAX;

/// The bytes of a key; false if a value is NULL. Values of several columns are kept apart by their lengths.
pub(crate) fn append_key(keys: &[(&ArrayRef, KeyClass)], row: usize, key: &mut Vec<u8>) -> bool {
    key.clear();
    for (array, class) in keys {
        if array.is_null(row) {
            return false;
        }
        append_part(array, *class, row, key);
    }
    true
}

/// The bytes of a key in which NULL is equal to NULL, as in SQL's DISTINCT.
pub(crate) fn append_key_with_nulls(keys: &[(&ArrayRef, KeyClass)], row: usize, key: &mut Vec<u8>) {
    key.clear();
    for (array, class) in keys {
        match array.is_null(row) {
            true => key.extend_from_slice(&NULL_LENGTH.to_le_bytes()),
            false => append_part(array, *class, row, key),
        }
    }
}

/// Appends the length of a value, and then the value.
fn append_part(array: &ArrayRef, class: KeyClass, row: usize, key: &mut Vec<u8>) {
    let start = key.len();
    key.extend_from_slice(&[0; 4]);
    append_value(array, class, row, key);
    let length = (key.len() - start - 4) as u32;
    key[start..start + 4].copy_from_slice(&length.to_le_bytes());
}

fn append_value(array: &ArrayRef, class: KeyClass, row: usize, key: &mut Vec<u8>) {
    let mut number = |value: i64| key.extend_from_slice(&value.to_le_bytes());
    match (class, array.data_type()) {
        (KeyClass::Number, DataType::Int16) => {
            append_number(array.as_primitive::<Int16Type>().value(row).into(), 0, key);
        }
        (KeyClass::Number, DataType::Int32) => {
            append_number(array.as_primitive::<Int32Type>().value(row).into(), 0, key);
        }
        (KeyClass::Number, DataType::Int64) => {
            append_number(array.as_primitive::<Int64Type>().value(row).into(), 0, key);
        }
        (KeyClass::Number, DataType::Decimal128(_, scale)) => {
            append_number(
                array.as_primitive::<Decimal128Type>().value(row),
                *scale,
                key,
            );
        }
        (KeyClass::Date, _) => number(array.as_primitive::<Date32Type>().value(row).into()),
        (KeyClass::Time, _) => number(array.as_primitive::<Time64MicrosecondType>().value(row)),
        (KeyClass::Timestamp | KeyClass::TimestampTz, _) => {
            number(array.as_primitive::<TimestampMicrosecondType>().value(row));
        }
        (KeyClass::Bool, _) => key.push(array.as_boolean().value(row).into()),
        (KeyClass::Bytes, DataType::FixedSizeBinary(_)) => {
            key.extend_from_slice(array.as_fixed_size_binary().value(row));
        }
        (KeyClass::Bytes, _) => key.extend_from_slice(array.as_binary_view().value(row)),
        (KeyClass::Folded(folds), _) => folds.append(array.as_string_view().value(row), key),
        _ => key.extend_from_slice(array.as_string_view().value(row).as_bytes()),
    }
}

/// Appends the digits of a number without zeros at the end of its fraction, and the number of digits that remain after
/// the point: 1.50 becomes 15 and 1.
fn append_number(mut value: i128, scale: i8, key: &mut Vec<u8>) {
    let mut scale = i32::from(scale);
    if value == 0 {
        scale = 0;
    }
    while scale > 0 && value % 10 == 0 {
        value /= 10;
        scale -= 1;
    }
    key.push(scale as u8);
    // The high bytes of a small number are all the same, and are left out.
    let bytes = value.to_le_bytes();
    let filler = if value < 0 { 0xff } else { 0 };
    let length = bytes
        .iter()
        .rposition(|byte| *byte != filler)
        .map_or(0, |at| at + 1);
    key.push(u8::from(value < 0));
    key.extend_from_slice(&bytes[..length]);
}

pub(crate) fn key_text(keys: &[(&ArrayRef, KeyClass)], row: usize) -> String {
    let values = keys.iter().map(|(array, _)| {
        if array.is_null(row) {
            return "NULL".to_owned();
        }
        if let Some(texts) = array.as_string_view_opt() {
            return format!("{:?}", texts.value(row));
        }
        plain_text(array, row).unwrap_or_default()
    });
    values.collect::<Vec<_>>().join(", ")
}

pub(crate) fn plain_text(array: &ArrayRef, row: usize) -> Option<String> {
    let is_uuid = matches!(array.data_type(), DataType::FixedSizeBinary(16));
    value_text(array, row, is_uuid)
}
