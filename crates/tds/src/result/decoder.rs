//! Rows to Arrow columns.

use arrow_array::ArrayRef;

use crate::column_metadata::RowMetadata;
use crate::result::framing::{self, Framing, ROW, ROW_WITH_NULLS, RowError, ValueBytes};
use crate::result::values::Values;
use crate::type_info::TypeInfo;

/// A value that has no counterpart in Arrow, or that is not valid. The column has NULL in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueFlaw {
    /// The row, from 0, among the rows that were taken with it.
    pub row: usize,
    /// The column, from 0.
    pub column: usize,
    /// The reason, without the column's name.
    pub reason: &'static str,
    /// The value as text, as far as it has one.
    pub raw: Vec<u8>,
}

/// Rows that were decoded.
#[derive(Clone, Debug, Default)]
pub struct DecodedRows {
    /// An array for each column, of [`data_type`](crate::result::data_type).
    pub columns: Vec<ArrayRef>,
    /// The number of rows.
    pub row_count: usize,
    /// Values that became NULL, in the order of rows.
    pub flaws: Vec<ValueFlaw>,
}

/// Decodes the rows of one result.
#[derive(Debug)]
pub struct RowDecoder {
    columns: Vec<Column>,
    row_count: usize,
    flaws: Vec<ValueFlaw>,
    /// The chunks of a value, joined.
    joined: Vec<u8>,
}

#[derive(Debug)]
struct Column {
    type_info: TypeInfo,
    framing: Framing,
    values: Values,
}

impl RowDecoder {
    /// A decoder of rows with these columns.
    pub fn new(columns: &RowMetadata) -> RowDecoder {
        let column = |type_info: TypeInfo| Column {
            type_info,
            framing: Framing::of(&type_info),
            values: Values::new(&type_info),
        };
        RowDecoder {
            columns: columns
                .columns()
                .iter()
                .map(|described| column(described.type_info))
                .collect(),
            row_count: 0,
            flaws: Vec::new(),
            joined: Vec::new(),
        }
    }

    /// The number of rows that wait to be taken.
    pub fn row_count(&self) -> usize {
        self.row_count
    }

    /// Decodes whole rows. After an error the decoder must not be used again.
    pub fn add(&mut self, rows: &[u8]) -> Result<(), RowError> {
        let mut rest = rows;
        while let Some(&token) = rest.first() {
            if !matches!(token, ROW | ROW_WITH_NULLS) {
                return Err(RowError::new(format!("0x{token:02x} begins no row")));
            }
            let cut = || RowError::new("a row ends within a value".to_owned());
            let (nulls, behind) = framing::begin_row(self.columns.len(), rest).ok_or_else(cut)?;
            rest = behind;
            for (index, column) in self.columns.iter_mut().enumerate() {
                if framing::is_null(nulls, index) {
                    column.values.append_null();
                    continue;
                }
                let (value, length) = framing::value(column.framing, rest).ok_or_else(cut)?;
                rest = &rest[length..];
                let bytes = match value {
                    ValueBytes::Null => {
                        column.values.append_null();
                        continue;
                    }
                    ValueBytes::Plain(bytes) => bytes,
                    ValueBytes::Chunked(chunks) => join(chunks, &mut self.joined),
                };
                let appended = column
                    .values
                    .append(&column.type_info, bytes)
                    .map_err(|what| RowError::new(format!("column {}: {what}", index + 1)))?;
                if let Some((reason, raw)) = appended {
                    self.flaws.push(ValueFlaw {
                        row: self.row_count,
                        column: index,
                        reason,
                        raw,
                    });
                }
            }
            self.row_count += 1;
        }
        Ok(())
    }

    /// Takes the rows that were decoded so far.
    pub fn take(&mut self) -> DecodedRows {
        DecodedRows {
            columns: self
                .columns
                .iter_mut()
                .map(|column| column.values.finish())
                .collect(),
            row_count: std::mem::take(&mut self.row_count),
            flaws: std::mem::take(&mut self.flaws),
        }
    }
}

/// The bytes of chunks without their lengths.
fn join<'a>(chunks: &'a [u8], joined: &'a mut Vec<u8>) -> &'a [u8] {
    let split = |bytes: &'a [u8]| -> (&'a [u8], &'a [u8]) {
        // The lengths were checked when the value was found.
        let (length, rest) = bytes.split_first_chunk().expect("a length");
        rest.split_at(u32::from_le_bytes(*length) as usize)
    };
    if chunks.is_empty() {
        return chunks;
    }
    let (first, mut rest) = split(chunks);
    if rest.is_empty() {
        return first;
    }
    joined.clear();
    joined.extend_from_slice(first);
    while !rest.is_empty() {
        let (next, behind) = split(rest);
        joined.extend_from_slice(next);
        rest = behind;
    }
    joined
}
