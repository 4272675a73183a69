//! A hash of rows that does not depend on the batches in which they come.
//!
//! Each column has three running hashes: one of the positions of NULL, one of the lengths of values, and one of their
//! bytes. Values are added in the order of the rows, so borders between batches make no difference.

use std::hash::Hasher;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericByteArray, OffsetSizeTrait, downcast_primitive_array, types,
};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::DataType;
use inrush_rows::typed_rows::Cells;
use twox_hash::XxHash3_64;

use crate::ContentHash;

/// The hashes of all columns.
pub struct RowsHash {
    columns: Vec<ColumnHash>,
    /// A buffer that is used again from batch to batch.
    scratch: Vec<u8>,
}

struct ColumnHash {
    is_null: XxHash3_64,
    lengths: XxHash3_64,
    bytes: XxHash3_64,
}

impl RowsHash {
    /// Hashes of this many columns.
    pub fn new(column_count: usize) -> RowsHash {
        let columns = (0..column_count).map(|_| ColumnHash {
            is_null: XxHash3_64::with_seed(0),
            lengths: XxHash3_64::with_seed(0),
            bytes: XxHash3_64::with_seed(0),
        });
        RowsHash {
            columns: columns.collect(),
            scratch: Vec::new(),
        }
    }

    /// Adds the rows of a batch.
    pub fn add(&mut self, arrays: &[ArrayRef]) {
        for (column, array) in self.columns.iter_mut().zip(arrays) {
            column.add(array, &mut self.scratch);
        }
    }

    /// The hash of all rows so far, in the form that the ledger keeps.
    pub fn text(&self) -> String {
        let mut all = ContentHash::default();
        for column in &self.columns {
            for part in [&column.is_null, &column.lengths, &column.bytes] {
                all.add(&part.finish().to_le_bytes());
            }
        }
        all.take()
    }
}

impl ColumnHash {
    fn add(&mut self, array: &ArrayRef, scratch: &mut Vec<u8>) {
        scratch.clear();
        match array.nulls() {
            None => scratch.resize(array.len(), 0),
            Some(nulls) => scratch.extend(nulls.iter().map(|is_valid| u8::from(!is_valid))),
        }
        self.is_null.write(scratch);
        scratch.clear();
        match array.data_type() {
            DataType::Utf8 => self.add_texts(array.as_string::<i32>(), scratch),
            DataType::LargeUtf8 => self.add_texts(array.as_string::<i64>(), scratch),
            DataType::Binary => self.add_texts(array.as_binary::<i32>(), scratch),
            DataType::LargeBinary => self.add_texts(array.as_binary::<i64>(), scratch),
            _ => downcast_primitive_array!(
                array => {
                    let width = array.data_type().primitive_width().unwrap_or(1);
                    let bytes = array.values().inner().as_slice();
                    self.add_fixed(bytes, width, array.nulls(), scratch);
                },
                _ => self.add_others(array, scratch)
            ),
        }
    }

    fn add_fixed(
        &mut self,
        bytes: &[u8],
        width: usize,
        nulls: Option<&NullBuffer>,
        scratch: &mut Vec<u8>,
    ) {
        match nulls {
            None => self.bytes.write(bytes),
            Some(nulls) => {
                for row in nulls.valid_indices() {
                    scratch.extend_from_slice(&bytes[row * width..(row + 1) * width]);
                }
                self.bytes.write(scratch);
            }
        }
    }

    fn add_texts<T>(&mut self, array: &GenericByteArray<T>, scratch: &mut Vec<u8>)
    where
        T: types::ByteArrayType,
        T::Offset: OffsetSizeTrait,
    {
        let offsets = array.value_offsets();
        for (row, ends) in offsets.windows(2).enumerate() {
            if array.is_valid(row) {
                let length = (ends[1] - ends[0]).as_usize() as u64;
                scratch.extend_from_slice(&length.to_le_bytes());
            }
        }
        self.lengths.write(scratch);
        let bytes = array.value_data();
        match array.nulls() {
            None => {
                let (first, last) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
                self.bytes.write(&bytes[first..last]);
            }
            Some(nulls) => {
                for row in nulls.valid_indices() {
                    let (start, end) = (offsets[row].as_usize(), offsets[row + 1].as_usize());
                    self.bytes.write(&bytes[start..end]);
                }
            }
        }
    }

    /// Adds values of other types by their exact text.
    fn add_others(&mut self, array: &ArrayRef, scratch: &mut Vec<u8>) {
        let Some(cells) = Cells::of(array, false) else {
            return;
        };
        for row in 0..array.len() {
            scratch.clear();
            cells.append(row, scratch);
            self.lengths.write(&(scratch.len() as u64).to_le_bytes());
            self.bytes.write(scratch);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Int32Array, StringArray, StringViewArray};

    use super::*;

    fn arrays() -> Vec<ArrayRef> {
        let texts = [Some("one"), None, Some(""), Some("four"), None];
        vec![
            Arc::new(Int32Array::from(vec![
                Some(1),
                None,
                Some(3),
                Some(4),
                Some(5),
            ])),
            Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5])),
            Arc::new(StringArray::from(texts.to_vec())),
            Arc::new(StringViewArray::from(texts.to_vec())),
            Arc::new(BooleanArray::from(vec![
                Some(true),
                None,
                None,
                Some(false),
                None,
            ])),
        ]
    }

    fn hash(arrays: &[ArrayRef], cuts: &[usize]) -> String {
        let mut hash = RowsHash::new(arrays.len());
        let ends = cuts.iter().copied().chain([arrays[0].len()]);
        let mut start = 0;
        for end in ends {
            let part: Vec<ArrayRef> = arrays
                .iter()
                .map(|array| array.slice(start, end - start))
                .collect();
            hash.add(&part);
            start = end;
        }
        hash.text()
    }

    #[test]
    fn borders_of_batches_leave_no_trace() {
        let whole = hash(&arrays(), &[]);
        for cuts in [&[0][..], &[1], &[2, 2], &[1, 3, 4], &[1, 2, 3, 4, 5]] {
            assert_eq!(hash(&arrays(), cuts), whole, "{cuts:?}");
        }
    }

    #[test]
    fn every_value_counts() {
        let whole = hash(&arrays(), &[]);
        for column in 0..arrays().len() {
            for row in 0..4 {
                let mut changed = arrays();
                // This row gets the values of the next row.
                let array = &changed[column];
                let parts = [
                    array.slice(0, row),
                    array.slice(row + 1, 1),
                    array.slice(row + 1, 4 - row),
                ];
                let parts: Vec<&dyn Array> = parts.iter().map(|part| &**part).collect();
                let other = arrow_select::concat::concat(&parts).expect("of one type");
                if other.to_data() == array.to_data() {
                    continue;
                }
                changed[column] = other;
                assert_ne!(hash(&changed, &[]), whole, "column {column}, row {row}");
            }
        }
    }
}
