//! [`RowIndex`] finds where the fields of a block's rows are.

use super::error::DecodeError;

/// "The file trailer consists of a 16-bit integer word containing -1."
const TRAILER: i16 = -1;
/// The length of a NULL.
const NULL: i32 = -1;

/// The whole rows of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct RowIndex {
    /// The position of each field's length word, row by row.
    pub(super) starts: Vec<u32>,
    /// The position behind each row.
    pub(super) ends: Vec<u32>,
    /// The position of the first byte that belongs to no whole row.
    pub(super) end: usize,
    /// True if the trailer begins at `end`, so no row follows.
    pub(super) is_last: bool,
}

impl RowIndex {
    /// Finds the whole rows from `start` on. `first_row` is the number of rows of the stream before them.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        start: usize,
        columns: usize,
        first_row: u64,
    ) -> Result<(), DecodeError> {
        self.starts.clear();
        self.ends.clear();
        self.end = start;
        self.is_last = false;
        while let Some(count) = bytes[self.end..].first_chunk() {
            let count = i16::from_be_bytes(*count);
            if count == TRAILER {
                self.is_last = true;
                return Ok(());
            }
            let row = first_row + self.ends.len() as u64 + 1;
            if usize::try_from(count) != Ok(columns) {
                return Err(DecodeError::FieldCount {
                    row,
                    expected: columns,
                    found: count,
                });
            }
            let first_start = self.starts.len();
            let Some(end) = self.add_fields(bytes, self.end + 2, columns, row)? else {
                self.starts.truncate(first_start);
                return Ok(());
            };
            self.ends.push(end as u32);
            self.end = end;
        }
        Ok(())
    }

    /// Adds the fields of a row, and returns the position behind it; none if the row is not whole.
    fn add_fields(
        &mut self,
        bytes: &[u8],
        mut at: usize,
        columns: usize,
        row: u64,
    ) -> Result<Option<usize>, DecodeError> {
        for column in 0..columns {
            let Some(length) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
                return Ok(None);
            };
            let length = i32::from_be_bytes(*length);
            if length < NULL {
                return Err(DecodeError::FieldLength {
                    row,
                    column: column + 1,
                    found: length,
                });
            }
            self.starts.push(at as u32);
            at += 4 + length.max(0) as usize;
        }
        Ok((at <= bytes.len()).then_some(at))
    }

    /// The fields of a column.
    pub(super) fn fields<'a>(
        &'a self,
        bytes: &'a [u8],
        columns: usize,
        column: usize,
        first_row: u64,
    ) -> Fields<'a> {
        Fields {
            bytes,
            starts: &self.starts,
            columns,
            column,
            first_row,
            row_count: self.ends.len(),
        }
    }
}

/// The fields of one column of a block.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    starts: &'a [u32],
    columns: usize,
    column: usize,
    first_row: u64,
    row_count: usize,
}

impl<'a> Fields<'a> {
    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.row_count
    }

    /// The column, from 0.
    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// The same column of the first rows only.
    pub(super) fn first(self, row_count: usize) -> Fields<'a> {
        Fields {
            row_count: row_count.min(self.row_count),
            ..self
        }
    }

    /// The position of each value in the block, and its bytes; none for NULL.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<(usize, &'a [u8])>> + use<'a> {
        let bytes = self.bytes;
        let starts = self.starts.iter().skip(self.column);
        starts
            .step_by(self.columns.max(1))
            .take(self.row_count)
            .map(move |start| {
                let start = *start as usize;
                let length = bytes[start..]
                    .first_chunk()
                    .map(|word| i32::from_be_bytes(*word));
                let length = usize::try_from(length.unwrap_or(NULL)).ok()?;
                Some((start + 4, &bytes[start + 4..start + 4 + length]))
            })
    }

    /// The error of a row's value.
    #[cold]
    pub(super) fn fault(&self, row: usize, what: String) -> DecodeError {
        DecodeError::Value {
            row: self.first_row + row as u64 + 1,
            column: self.column + 1,
            what,
        }
    }
}
