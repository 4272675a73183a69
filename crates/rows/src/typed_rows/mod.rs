//! Rows of typed values (from Parquet and Arrow IPC files), which a source passes to the converters, and their text.
//!
//! If a column and its values have the same type, the values are used unchanged. All other columns are converted from
//! the exact text of the values ([`Cells`]), which rejects also show.

mod batch_values;
mod cells;
mod times;

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowDictionaryKeyType;
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray, OffsetSizeTrait};
use arrow_array::{downcast_dictionary_array, types};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

pub use batch_values::{odd_times_as_text, value_text};
pub use cells::{Cells, append_row, append_text, is_readable};

/// Rows of a file of typed rows.
#[derive(Clone, Debug)]
pub struct TypedRows {
    /// The file's columns, in its order.
    pub columns: Vec<TypedColumn>,
    /// The number of rows of each of them.
    pub row_count: usize,
    /// The bytes that replace their text in the content hash: none, or the digests of the row groups that begin with
    /// these rows.
    pub content: Vec<u8>,
    /// Bytes of their values.
    pub bytes_count: u64,
    /// Rows with a fault in their form, in their order: each becomes a reject, with any values in its columns.
    pub faults: Vec<RowFault>,
}

/// A row that its source cannot read as its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowFault {
    /// Its number in its [rows](TypedRows).
    pub row: usize,
    /// The fault, the likely cause and the fix, for people.
    pub reason: String,
    /// The text of the row in the source, in UTF-8.
    pub raw: Vec<u8>,
}

/// A column of typed rows.
#[derive(Clone, Debug)]
pub struct TypedColumn {
    /// Its values; `None` if its type has no text: then all count as NULL, and no column can be filled with them.
    pub values: Option<ArrayRef>,
    /// True if its values are 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
}

impl TypedRows {
    /// Some of the rows.
    pub fn slice(&self, rows: Range<usize>) -> TypedRows {
        let slice = |column: &TypedColumn| TypedColumn {
            values: column
                .values
                .as_ref()
                .map(|values| values.slice(rows.start, rows.len())),
            is_uuid: column.is_uuid,
        };
        let own = self.faults.iter().filter(|fault| rows.contains(&fault.row));
        let faults = own.map(|fault| RowFault {
            row: fault.row - rows.start,
            ..fault.clone()
        });
        TypedRows {
            columns: self.columns.iter().map(slice).collect(),
            row_count: rows.len(),
            content: Vec::new(),
            bytes_count: 0,
            faults: faults.collect(),
        }
    }

    /// The text of a row without its line end, and the position of each field in it.
    pub fn row_text(&self, row: usize) -> (Vec<u8>, Vec<Range<usize>>) {
        let mut text = Vec::new();
        let mut fields = Vec::with_capacity(self.columns.len());
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            let start = text.len();
            if let Some(values) = &column.values {
                // Only for one row, because a dictionary's keys are unpacked.
                let cells = Cells::of(&values.slice(row, 1), column.is_uuid);
                if let Some(cells) = cells {
                    cells.append(0, &mut text);
                }
            }
            fields.push(start..text.len());
        }
        (text, fields)
    }

    /// Bytes of each row's values, in memory.
    pub fn row_bytes(&self) -> Vec<u64> {
        let mut fixed = 0;
        let mut sizes = vec![0; self.row_count];
        for values in self.columns.iter().filter_map(|one| one.values.as_ref()) {
            match values.data_type().primitive_width() {
                Some(bytes) => fixed += bytes as u64,
                None => add_bytes(values, &mut sizes),
            }
        }
        for size in &mut sizes {
            *size += fixed;
        }
        sizes
    }
}

/// Adds the bytes of texts, of other values of variable size, and of values of a fixed size.
fn add_bytes(values: &ArrayRef, sizes: &mut [u64]) {
    match values.data_type() {
        DataType::Utf8 => add_lengths(values.as_string::<i32>(), sizes),
        DataType::LargeUtf8 => add_lengths(values.as_string::<i64>(), sizes),
        DataType::Binary => add_lengths(values.as_binary::<i32>(), sizes),
        DataType::LargeBinary => add_lengths(values.as_binary::<i64>(), sizes),
        DataType::Utf8View => add_view_lengths(values.as_string_view(), sizes),
        DataType::BinaryView => add_view_lengths(values.as_binary_view(), sizes),
        DataType::FixedSizeBinary(bytes) => {
            let bytes = u64::try_from(*bytes).unwrap_or(0);
            sizes.iter_mut().for_each(|size| *size += bytes);
        }
        DataType::Dictionary(_, _) => {
            downcast_dictionary_array!(
                values => add_dictionary_bytes(values, sizes),
                _ => {}
            );
        }
        _ => sizes.iter_mut().for_each(|size| *size += 1),
    }
}

fn add_lengths<T>(values: &GenericByteArray<T>, sizes: &mut [u64])
where
    T: types::ByteArrayType,
    T::Offset: OffsetSizeTrait,
{
    for (size, ends) in sizes.iter_mut().zip(values.value_offsets().windows(2)) {
        *size += (ends[1] - ends[0]).as_usize() as u64;
    }
}

fn add_view_lengths<T: types::ByteViewType>(values: &GenericByteViewArray<T>, sizes: &mut [u64]) {
    for (size, view) in sizes.iter_mut().zip(values.views()) {
        // The length is in a view's lowest 32 bits.
        *size += u64::from(*view as u32);
    }
}

fn add_dictionary_bytes<K: ArrowDictionaryKeyType>(
    values: &arrow_array::DictionaryArray<K>,
    sizes: &mut [u64],
) {
    let words = values.values();
    for (row, size) in sizes.iter_mut().enumerate() {
        let Some(key) = values.key(row) else { continue };
        let mut one = [0];
        match words.data_type().primitive_width() {
            Some(bytes) => one[0] = bytes as u64,
            None => add_bytes(&words.slice(key, 1), &mut one),
        }
        *size += one[0];
    }
}
