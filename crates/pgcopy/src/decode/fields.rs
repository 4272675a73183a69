//! [`row_at`] finds where a row ends, and [`RowIndex`] where all fields of a block's rows are.

use super::error::DecodeError;

/// "The file trailer consists of a 16-bit integer word containing -1."
const TRAILER: i16 = -1;
/// The length of a NULL.
const NULL: i32 = -1;

/// The thing that begins at a position of a stream.
pub(super) enum At {
    /// A whole row.
    Row {
        /// The position after it.
        end: usize,
    },
    /// The trailer: no row follows.
    Trailer,
    /// A row or a trailer that is not whole.
    Short,
}

/// Looks at the row that begins at `at`. `row` is its number, counted from 1. `field` gets the position of each field's
/// length word, also for the fields of a row that is not whole.
#[inline]
pub(super) fn row_at(
    bytes: &[u8],
    at: usize,
    columns: usize,
    row: u64,
    mut field: impl FnMut(usize),
) -> Result<At, DecodeError> {
    let Some(count) = bytes.get(at..).and_then(|rest| rest.first_chunk()) else {
        return Ok(At::Short);
    };
    let count = i16::from_be_bytes(*count);
    if count == TRAILER {
        return Ok(At::Trailer);
    }
    if usize::try_from(count) != Ok(columns) {
        return Err(DecodeError::FieldCount {
            row,
            expected: columns,
            found: count,
        });
    }
    let mut end = at + 2;
    for column in 0..columns {
        let Some(length) = bytes.get(end..).and_then(|rest| rest.first_chunk()) else {
            return Ok(At::Short);
        };
        let length = i32::from_be_bytes(*length);
        if length < NULL {
            return Err(DecodeError::FieldLength {
                row,
                column: column + 1,
                found: length,
            });
        }
        field(end);
        end += 4 + length.max(0) as usize;
    }
    Ok(match end <= bytes.len() {
        true => At::Row { end },
        false => At::Short,
    })
}

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
        loop {
            let row = first_row + self.ends.len() as u64 + 1;
            let first_start = self.starts.len();
            let starts = &mut self.starts;
            match row_at(bytes, self.end, columns, row, |start| {
                starts.push(start as u32)
            })? {
                At::Row { end } => {
                    self.ends.push(end as u32);
                    self.end = end;
                }
                At::Trailer => {
                    self.is_last = true;
                    return Ok(());
                }
                At::Short => {
                    self.starts.truncate(first_start);
                    return Ok(());
                }
            }
        }
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
