//! The layout of a heap tuple, as `heap_form_tuple` makes it: a header, a bitmap of NULLs if there is one, then the
//! values in the order of the table, each at its alignment with zeros before it.
//!
//! `t_xmin` and the other fields of visibility stay 0: `heap_multi_insert` sets them.

use crate::column::Column;
use crate::decoder::MAX_COLUMNS;
use crate::kernels::{Sink, copy};

/// The header without the bitmap: `SizeofHeapTupleHeader`.
const HEADER: usize = 23;
/// Tuples and their data begin at multiples of this number of bytes: `MAXIMUM_ALIGNOF`.
const MAX_ALIGN: usize = 8;
/// The largest length of a value with a header of one byte, including this byte: `VARATT_SHORT_MAX`.
const SHORT_MAX: usize = 127;

/// `HEAP_HASNULL` of `t_infomask`.
const HAS_NULL: u16 = 1;
/// `HEAP_HASVARWIDTH`.
const HAS_VARIABLE_WIDTH: u16 = 2;
/// `HEAP_HASEXTERNAL`.
const HAS_EXTERNAL: u16 = 4;

/// A tuple in the arena.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Tuple {
    /// Where it begins, in bytes from the arena's begin; a multiple of 8.
    pub offset: usize,
    /// Its length in bytes: `t_len`.
    pub len: usize,
}

/// How a value from a receive function is stored: the cases of `fill_val`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Placement {
    /// Unchanged, at the column's alignment: a value of a fixed length.
    Fixed = 0,
    /// Unchanged, at the column's alignment: a varlena with a header of four bytes.
    Aligned = 1,
    /// Unchanged, without alignment: a varlena with a header of one byte, or a C string.
    Unaligned = 2,
    /// Unchanged, without alignment: a varlena that points elsewhere.
    External = 3,
    /// With a new header of one byte: the bytes are the value without its header.
    MakeShort = 4,
}

/// The state of the current tuple. C keeps it between two calls, as part of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct TupleState {
    /// The position of the tuple in the arena.
    start: usize,
    /// The position of its data, from `start` on; a multiple of 8.
    data: usize,
    /// How many bytes of data there are.
    len: usize,
    /// The bits of `t_infomask`.
    infomask: u16,
    /// True if the previous tuple had a NULL: then this one probably has one, too.
    nulls_before: u8,
    unused: [u8; 5],
    /// A bit for each column: 1 if it is NULL.
    nulls: [u64; MAX_COLUMNS / 64],
}

impl Default for TupleState {
    fn default() -> Self {
        TupleState {
            start: 0,
            data: 0,
            len: 0,
            infomask: 0,
            nulls_before: 0,
            unused: [0; 5],
            nulls: [0; MAX_COLUMNS / 64],
        }
    }
}

/// Makes a tuple at the end of an arena.
pub(crate) struct TupleSink<'a> {
    state: &'a mut TupleState,
    arena: &'a mut [u8],
    /// The next column.
    column: usize,
}

impl<'a> TupleSink<'a> {
    /// Continues a tuple; `column` is its next column.
    pub(crate) fn resumed(
        state: &'a mut TupleState,
        arena: &'a mut [u8],
        column: usize,
    ) -> TupleSink<'a> {
        TupleSink {
            state,
            arena,
            column,
        }
    }

    /// Begins a tuple at `start`, a multiple of 8, of a table with this many columns.
    pub(crate) fn begin(&mut self, start: usize, columns: usize) {
        let bitmap = if self.state.nulls_before == 0 {
            0
        } else {
            columns.div_ceil(8)
        };
        self.state.start = start;
        self.state.data = align_up(HEADER + bitmap, MAX_ALIGN);
        self.state.len = 0;
        if self.state.infomask & HAS_NULL != 0 {
            self.state.nulls = [0; MAX_COLUMNS / 64];
        }
        self.state.infomask = 0;
        self.column = 0;
    }

    /// Completes the tuple: its header and its bitmap. `None` if there is no space for them.
    pub(crate) fn finish(&mut self, columns: usize) -> Option<Tuple> {
        let has_null = self.state.infomask & HAS_NULL != 0;
        let bitmap = if has_null { columns.div_ceil(8) } else { 0 };
        let data = align_up(HEADER + bitmap, MAX_ALIGN);
        let len = self.state.len;
        let tuple = self.arena.get_mut(self.state.start..)?;
        if data != self.state.data {
            move_data(tuple, self.state.data, data, len)?;
            self.state.data = data;
        }
        let header = tuple.get_mut(..data)?;
        header.fill(0);
        let (fixed, bits) = header.split_first_chunk_mut::<HEADER>()?;
        let [.., natts_0, natts_1, mask_0, mask_1, hoff] = fixed;
        [*natts_0, *natts_1] = (columns as u16).to_le_bytes();
        [*mask_0, *mask_1] = self.state.infomask.to_le_bytes();
        *hoff = data as u8;
        if has_null {
            for (index, byte) in bits.iter_mut().take(bitmap).enumerate() {
                let word = self.state.nulls.get(index / 8)?;
                *byte = !*word.to_le_bytes().get(index % 8)?;
            }
            // The bits after the last column are 0.
            if let (1.., Some(last)) = (columns % 8, bits.get_mut(bitmap.wrapping_sub(1))) {
                *last &= (1 << (columns % 8)) - 1;
            }
        }
        self.state.nulls_before = u8::from(has_null);
        Some(Tuple {
            offset: self.state.start,
            len: data + len,
        })
    }

    /// Space for `len` bytes after the data, `align`ed, with zeros before it; [`TupleSink::advance`] then counts it as
    /// data.
    #[inline(always)]
    fn place(&mut self, len: usize, align: usize) -> Option<&mut [u8]> {
        let end = self.state.start + self.state.data;
        let padding = align_up(self.state.len, align) - self.state.len;
        let window = self
            .arena
            .get_mut(end + self.state.len..end + self.state.len + padding + len)?;
        let (zeros, place) = window.split_at_mut_checked(padding)?;
        zeros.fill(0);
        Some(place)
    }

    /// Counts the space of [`TupleSink::place`] as data.
    #[inline(always)]
    fn advance(&mut self, len: usize, align: usize, infomask: u16) {
        self.state.len = align_up(self.state.len, align) + len;
        self.state.infomask |= infomask;
        self.column += 1;
    }

    /// Stores a value from a receive function.
    pub(crate) fn give(
        &mut self,
        bytes: &[u8],
        placement: Placement,
        column: &Column,
    ) -> Option<()> {
        let (align, infomask) = match placement {
            Placement::Fixed => (column.align.into(), 0),
            Placement::Aligned => (column.align.into(), HAS_VARIABLE_WIDTH),
            Placement::Unaligned => (1, HAS_VARIABLE_WIDTH),
            Placement::External => (1, HAS_VARIABLE_WIDTH | HAS_EXTERNAL),
            Placement::MakeShort => {
                let place = self.place(1 + bytes.len(), 1)?;
                let (header, value) = place.split_first_mut()?;
                *header = short_header(bytes.len() + 1);
                copy(bytes, value);
                self.advance(1 + bytes.len(), 1, HAS_VARIABLE_WIDTH);
                return Some(());
            }
        };
        copy(bytes, self.place(bytes.len(), align)?);
        self.advance(bytes.len(), align, infomask);
        Some(())
    }
}

impl Sink for TupleSink<'_> {
    #[inline(always)]
    fn null(&mut self) -> Option<()> {
        *self.state.nulls.get_mut(self.column / 64)? |= 1 << (self.column % 64);
        self.state.infomask |= HAS_NULL;
        self.column += 1;
        Some(())
    }

    #[inline(always)]
    fn by_value<const N: usize>(&mut self, bytes: [u8; N], _: u64, column: &Column) -> Option<()> {
        let align = column.align.into();
        *self.place(N, align)?.first_chunk_mut::<N>()? = bytes;
        self.advance(N, align, 0);
        Some(())
    }

    #[inline(always)]
    fn by_reference(&mut self, bytes: &[u8], column: &Column) -> Option<()> {
        let align = column.align.into();
        copy(bytes, self.place(bytes.len(), align)?);
        self.advance(bytes.len(), align, 0);
        Some(())
    }

    #[inline(always)]
    fn varlena(
        &mut self,
        len: usize,
        column: &Column,
        write: impl FnOnce(&mut [u8]),
    ) -> Option<()> {
        if column.packable != 0 && len < SHORT_MAX {
            let (header, value) = self.place(1 + len, 1)?.split_first_mut()?;
            *header = short_header(1 + len);
            write(value);
            self.advance(1 + len, 1, HAS_VARIABLE_WIDTH);
        } else {
            let align = column.align.into();
            let (header, value) = self.place(4 + len, align)?.split_first_chunk_mut::<4>()?;
            *header = long_header(4 + len);
            write(value);
            self.advance(4 + len, align, HAS_VARIABLE_WIDTH);
        }
        Some(())
    }
}

/// Moves `len` bytes `from` one position `to` another, both multiples of 8, in words: up to seven more bytes are moved.
fn move_data(tuple: &mut [u8], from: usize, to: usize, len: usize) -> Option<()> {
    let count = len.div_ceil(MAX_ALIGN);
    let (from, to) = (from / MAX_ALIGN, to / MAX_ALIGN);
    let (words, _) = tuple.as_chunks_mut::<MAX_ALIGN>();
    let words = words.get_mut(..from.max(to) + count)?;
    if to > from {
        for index in (0..count).rev() {
            *words.get_mut(to + index)? = *words.get(from + index)?;
        }
    } else {
        for index in 0..count {
            *words.get_mut(to + index)? = *words.get(from + index)?;
        }
    }
    Some(())
}

/// The one-byte header of a varlena of `len` bytes, including the header.
#[inline(always)]
fn short_header(len: usize) -> u8 {
    ((len << 1) | 1) as u8
}

/// The four-byte header of a varlena of `len` bytes, including the header.
#[inline(always)]
pub(crate) fn long_header(len: usize) -> [u8; 4] {
    ((len as u32) << 2).to_le_bytes()
}

/// The smallest multiple of `align` that is at least `len`; `align` is a power of two.
#[inline(always)]
pub(crate) fn align_up(len: usize, align: usize) -> usize {
    len.wrapping_add(align).wrapping_sub(1) & !align.wrapping_sub(1)
}
