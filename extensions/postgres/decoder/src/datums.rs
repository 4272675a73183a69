//! The values of one row as Datums, for rows that go through the executor: triggers, defaults, routing.
//!
//! Values that the server passes by reference are in an arena; their Datum is their offset in it, and C adds the
//! arena's address. A varlena has a header of four bytes, as receive functions return it; the server shortens it.

use crate::column::Column;
use crate::kernels::{Sink, copy};
use crate::tuple::{align_up, long_header};

/// Each value begins in the arena at a multiple of this number of bytes.
const VALUE_ALIGN: usize = 8;

/// Collects the values of one row.
pub(crate) struct DatumSink<'a> {
    /// An element for each column of the table.
    pub(crate) values: &'a mut [u64],
    /// For each column: 1 if it is NULL, 2 if its Datum is an offset in the arena, otherwise 0.
    pub(crate) kinds: &'a mut [u8],
    pub(crate) arena: &'a mut [u8],
    /// How many bytes of the arena are used.
    pub(crate) used: &'a mut usize,
    /// The next column.
    pub(crate) column: usize,
}

impl DatumSink<'_> {
    #[inline(always)]
    fn set(&mut self, value: u64, kind: u8) -> Option<()> {
        *self.values.get_mut(self.column)? = value;
        *self.kinds.get_mut(self.column)? = kind;
        self.column += 1;
        Some(())
    }

    #[inline(always)]
    fn place(&mut self, len: usize) -> Option<(usize, &mut [u8])> {
        let start = align_up(*self.used, VALUE_ALIGN);
        Some((start, self.arena.get_mut(start..start + len)?))
    }
}

impl Sink for DatumSink<'_> {
    #[inline(always)]
    fn null(&mut self) -> Option<()> {
        self.set(0, 1)
    }

    #[inline(always)]
    fn by_value<const N: usize>(&mut self, _: [u8; N], datum: u64, _: &Column) -> Option<()> {
        self.set(datum, 0)
    }

    #[inline(always)]
    fn by_reference(&mut self, bytes: &[u8], _: &Column) -> Option<()> {
        let (start, place) = self.place(bytes.len())?;
        copy(bytes, place);
        *self.used = start + bytes.len();
        self.set(start as u64, 2)
    }

    #[inline(always)]
    fn varlena(&mut self, len: usize, _: &Column, write: impl FnOnce(&mut [u8])) -> Option<()> {
        let (start, place) = self.place(4 + len)?;
        let (header, value) = place.split_first_chunk_mut::<4>()?;
        *header = long_header(4 + len);
        write(value);
        *self.used = start + 4 + len;
        self.set(start as u64, 2)
    }
}
