//! Turns values of a driver into the values that the converters expect: texts that are UTF-8, and text for infinite
//! dates.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ByteArrayType, Date32Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, GenericByteArray, GenericStringArray, OffsetSizeTrait,
    PrimitiveArray, StringArray, StringViewArray,
};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{DataType, TimeUnit};
use inrush_rows::typed_rows::{Cells, RowFault};

/// The number of bytes of an array's values.
pub fn values_bytes(array: &ArrayRef) -> u64 {
    match array.data_type().primitive_width() {
        Some(width) => (width * array.len()) as u64,
        None => array.to_data().get_slice_memory_size().unwrap_or(0) as u64,
    }
}

/// The array with NULL for each text that is not UTF-8, and a fault for each of these rows.
pub fn with_valid_texts(array: ArrayRef, column: &str, faults: &mut Vec<RowFault>) -> ArrayRef {
    let mut fault = |row, bytes: &[u8]| {
        faults.push(RowFault {
            row,
            reason: format!(
                "the text of the column `{column}` is not UTF-8: correct it in the database, or leave the column out"
            ),
            raw: String::from_utf8_lossy(bytes).into_owned().into_bytes(),
        });
    };
    match array.data_type() {
        DataType::Utf8 => of_bytes::<i32>(array, &mut fault),
        DataType::LargeUtf8 => of_bytes::<i64>(array, &mut fault),
        DataType::Utf8View => {
            let bytes = array.as_string_view().clone().to_binary_view();
            let is_text =
                |bytes: Option<&[u8]>| bytes.is_none_or(|one| str::from_utf8(one).is_ok());
            if bytes.iter().all(is_text) {
                return array;
            }
            let texts = bytes.iter().enumerate().map(|(row, bytes)| {
                let bytes = bytes?;
                let text = str::from_utf8(bytes);
                text.inspect_err(|_| fault(row, bytes)).ok()
            });
            Arc::new(texts.collect::<StringViewArray>())
        }
        _ => array,
    }
}

fn of_bytes<O: OffsetSizeTrait>(array: ArrayRef, fault: &mut dyn FnMut(usize, &[u8])) -> ArrayRef {
    let texts = array.as_string::<O>();
    if is_utf8(texts) {
        return array;
    }
    let (offsets, bytes) = (texts.value_offsets(), texts.value_data());
    let valid = (0..texts.len()).map(|row| {
        if texts.is_null(row) {
            return None;
        }
        let bytes = &bytes[offsets[row].as_usize()..offsets[row + 1].as_usize()];
        let text = str::from_utf8(bytes);
        text.inspect_err(|_| fault(row, bytes)).ok()
    });
    Arc::new(valid.collect::<GenericStringArray<O>>())
}

/// True if all texts are UTF-8: they are valid together, and no text begins inside a character.
fn is_utf8<T: ByteArrayType>(texts: &GenericByteArray<T>) -> bool {
    let offsets = texts.value_offsets();
    let bytes = texts.value_data();
    let (first, last) = (offsets[0].as_usize(), offsets[texts.len()].as_usize());
    let begins = |offset: &T::Offset| {
        bytes
            .get(offset.as_usize())
            .is_none_or(|byte| byte & 0xC0 != 0x80)
    };
    str::from_utf8(&bytes[first..last]).is_ok() && offsets.iter().all(begins)
}

/// Dates and timestamps of DuckDB: unchanged, or all of them as text if one is infinite, because Arrow has no number
/// for it.
pub fn plain_or_text(array: ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Date32 => text_if_infinite::<Date32Type>(array, i32::MAX),
        DataType::Timestamp(TimeUnit::Second, _) => {
            text_if_infinite::<TimestampSecondType>(array, i64::MAX)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            text_if_infinite::<TimestampMillisecondType>(array, i64::MAX)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            text_if_infinite::<TimestampMicrosecondType>(array, i64::MAX)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            text_if_infinite::<TimestampNanosecondType>(array, i64::MAX)
        }
        _ => array,
    }
}

fn text_if_infinite<T: ArrowPrimitiveType>(array: ArrayRef, infinity: T::Native) -> ArrayRef
where
    T::Native: std::ops::Neg<Output = T::Native>,
{
    let numbers: &PrimitiveArray<T> = array.as_primitive();
    let is_infinite = |number: &T::Native| *number == infinity || *number == -infinity;
    if !numbers.values().iter().any(is_infinite) {
        return array;
    }
    let Some(cells) = Cells::of(&array, false) else {
        return array;
    };
    let text = |row: usize| {
        if numbers.is_null(row) {
            return None;
        }
        Some(match numbers.value(row) {
            number if number == infinity => "infinity".to_owned(),
            number if number == -infinity => "-infinity".to_owned(),
            _ => {
                let mut text = Vec::new();
                cells.append(row, &mut text);
                String::from_utf8_lossy(&text).into_owned()
            }
        })
    };
    Arc::new((0..numbers.len()).map(text).collect::<StringArray>())
}

#[cfg(test)]
mod tests {
    use arrow_array::{BinaryArray, Date32Array, StringArray};
    use arrow_buffer::{Buffer, OffsetBuffer};

    use super::*;

    #[test]
    fn texts_are_utf8_one_by_one() {
        let bytes = "aéb".as_bytes();
        for (ends, expected) in [
            (vec![0, 1, 3, 4], true),
            (vec![0, 1, 3, 3], true),
            // The second text begins inside a character.
            (vec![0, 2, 3, 4], false),
            (vec![2, 3, 4, 4], false),
        ] {
            let offsets = OffsetBuffer::new(ends.clone().into());
            let texts = BinaryArray::new(offsets, Buffer::from(bytes), None);
            assert_eq!(is_utf8(&texts), expected, "{ends:?}");
        }
    }

    #[test]
    fn infinite_dates_are_text() {
        let days: ArrayRef = Arc::new(Date32Array::from(vec![
            Some(0),
            Some(i32::MAX),
            None,
            Some(-i32::MAX),
        ]));
        let text = plain_or_text(days);
        let text: &StringArray = text.as_string();
        let text: Vec<Option<&str>> = text.iter().collect();
        assert_eq!(
            text,
            [
                Some("1970-01-01"),
                Some("infinity"),
                None,
                Some("-infinity")
            ]
        );
        let plain: ArrayRef = Arc::new(Date32Array::from(vec![0, 1]));
        assert_eq!(*plain_or_text(plain).data_type(), DataType::Date32);
    }
}
