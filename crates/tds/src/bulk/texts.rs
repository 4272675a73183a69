//! Texts or bytes of arrays of views, and how they are written. The values are anywhere in a few large buffers.
//!
//! A view has 16 bytes. The lowest four are the length. A text of up to twelve bytes follows directly; for a longer
//! text, its first four bytes follow, then the number of its buffer and its offset there.
//!
//! # Why it is sound
//!
//! It is an invariant of Arrow's arrays that every view is within the buffer that it names. All views and buffers of a
//! [`Texts`] belong to one array, because [`Texts::new`] is the only constructor. Callers ensure that a row is below
//! the array's length. For stores see [`writer`](super::writer).
#![expect(
    unsafe_code,
    reason = "reads without the checks that the array's type has made, and stores into reserved memory"
)]

use arrow_array::{GenericByteViewArray, types::ByteViewType};
use arrow_buffer::Buffer;
use encoding_rs::mem::convert_utf8_to_utf16;

use super::writer::{Cursor, SLACK_BYTES};

/// The longest text that is in the view itself.
const INLINE_BYTES_MAX: u32 = 12;
/// The total of a value in chunks whose length is not given in advance.
const TOTAL_UNKNOWN: u64 = u64::MAX - 1;
/// The number of bytes that are widened with one store.
const PIECE_BYTES: usize = 16;
/// The highest bit of each byte of a piece.
const NOT_ASCII: u128 = u128::from_ne_bytes([0x80; PIECE_BYTES]);

/// The texts of an array.
pub(super) struct Texts<'a> {
    views: &'a [u128],
    buffers: &'a [Buffer],
}

impl<'a> Texts<'a> {
    /// The texts of this array.
    pub(super) fn new<T: ByteViewType + ?Sized>(array: &'a GenericByteViewArray<T>) -> Texts<'a> {
        Texts {
            views: array.views(),
            buffers: array.data_buffers(),
        }
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.views.len()
    }

    /// The length of a row's text in bytes; any number for a NULL.
    pub(super) fn length(&self, row: usize) -> u32 {
        self.views[row] as u32
    }

    /// The length of each text in bytes; any number for a NULL.
    pub(super) fn lengths(&self) -> impl Iterator<Item = u32> {
        self.views.iter().map(|view| *view as u32)
    }

    /// The text of a row that is not NULL, with all checks: for pass 1.
    pub(super) fn get(&self, row: usize) -> &[u8] {
        let view = &self.views[row];
        let length = *view as u32;
        if length <= INLINE_BYTES_MAX {
            // SAFETY: the bytes of a short text follow its length within the view.
            return unsafe {
                let start = std::ptr::from_ref(view).cast::<u8>().add(4);
                std::slice::from_raw_parts(start, length as usize)
            };
        }
        let offset = (view >> 96) as u32 as usize;
        &self.buffers[(view >> 64) as u32 as usize][offset..offset + length as usize]
    }

    /// The text of a row.
    ///
    /// # Safety
    ///
    /// `row` is below the number of texts, and not NULL.
    #[inline(always)]
    pub(super) unsafe fn bytes(&self, row: usize) -> &'a [u8] {
        // SAFETY: the caller's contract. A valid view has a short text after its length; otherwise the text is within
        // the buffer that it names.
        unsafe {
            let view = self.views.get_unchecked(row);
            let length = *view as u32;
            let start = if length <= INLINE_BYTES_MAX {
                std::ptr::from_ref(view).cast::<u8>().add(4)
            } else {
                let buffer = self.buffers.get_unchecked((*view >> 64) as u32 as usize);
                buffer.as_ptr().add((*view >> 96) as u32 as usize)
            };
            std::slice::from_raw_parts(start, length as usize)
        }
    }

    /// Writes a length of two bytes and the unchanged text of a row: 2 bytes more than the text.
    ///
    /// # Safety
    ///
    /// `row` is below the number of texts, and not NULL; the value and the slack are reserved at the cursor.
    #[inline(always)]
    pub(super) unsafe fn put(&self, row: usize, cursor: Cursor) -> Cursor {
        // SAFETY: the caller's contract. A valid view's text is within the buffer that it names. All 64 bytes of the
        // slack are stored only if that many can be read.
        unsafe {
            let view = *self.views.get_unchecked(row);
            let length = view as u32;
            cursor.store((length as u16).to_le_bytes(), 0);
            if length <= INLINE_BYTES_MAX {
                cursor.store((view >> 32).to_le_bytes(), 2);
                return cursor.behind(2 + length as usize);
            }
            let length = length as usize;
            let offset = (view >> 96) as u32 as usize;
            let buffer = self.buffers.get_unchecked((view >> 64) as u32 as usize);
            let text = buffer.as_ptr().add(offset);
            if length <= SLACK_BYTES && offset + SLACK_BYTES <= buffer.len() {
                cursor.store(text.cast::<[u8; SLACK_BYTES]>().read_unaligned(), 2);
            } else {
                cursor.copy(std::slice::from_raw_parts(text, length), 2);
            }
            cursor.behind(2 + length)
        }
    }

    /// Writes a length of two bytes and the text of a row in UTF-16: up to twice its bytes and 2.
    ///
    /// # Safety
    ///
    /// The same as for [`put`](Self::put).
    #[inline(always)]
    pub(super) unsafe fn put_utf16(
        &self,
        row: usize,
        cursor: Cursor,
        units: &mut Vec<u16>,
    ) -> Cursor {
        // SAFETY: the caller's contract.
        unsafe {
            let view = *self.views.get_unchecked(row);
            let length = view as u32;
            if length <= INLINE_BYTES_MAX && view & NOT_ASCII << 32 == 0 {
                cursor.store((length as u16 * 2).to_le_bytes(), 0);
                cursor.store(widened((view >> 32).to_le_bytes()), 2);
                return cursor.behind(2 + 2 * length as usize);
            }
            let utf16_bytes = put_utf16_text(self.bytes(row), cursor.behind(2), units);
            cursor.store((utf16_bytes as u16).to_le_bytes(), 0);
            cursor.behind(2 + utf16_bytes)
        }
    }
}

/// Writes an unchanged text in chunks (PLP): its bytes and 16.
///
/// # Safety
///
/// The value and the slack are reserved at the cursor.
pub(super) unsafe fn put_chunked(text: &[u8], cursor: Cursor) -> Cursor {
    // SAFETY: the caller's contract.
    unsafe {
        cursor.copy(text, 12);
        put_chunk_marks(text.len(), cursor)
    }
}

/// Writes a text in chunks (PLP) in UTF-16: up to twice its bytes and 16.
///
/// # Safety
///
/// The same as for [`put_chunked`].
pub(super) unsafe fn put_chunked_utf16(
    text: &[u8],
    cursor: Cursor,
    units: &mut Vec<u16>,
) -> Cursor {
    // SAFETY: the caller's contract.
    unsafe {
        let utf16_bytes = put_utf16_text(text, cursor.behind(12), units);
        put_chunk_marks(utf16_bytes, cursor)
    }
}

/// Writes the total, the length of the only chunk, and the end after it. The total is sent as unknown, as all recorded
/// clients do (`tests/sqlserver/captures`). An empty value has no chunk: a chunk of no bytes would be its end, and the
/// next four bytes would be read as the next value.
///
/// # Safety
///
/// `value_bytes`, 16 more bytes and the slack are reserved at the cursor.
#[inline(always)]
unsafe fn put_chunk_marks(value_bytes: usize, cursor: Cursor) -> Cursor {
    // SAFETY: the caller's contract.
    unsafe {
        cursor.store(TOTAL_UNKNOWN.to_le_bytes(), 0);
        cursor.store((value_bytes as u32).to_le_bytes(), 8);
        if value_bytes == 0 {
            return cursor.behind(12);
        }
        cursor.store([0; 4], 12 + value_bytes);
        cursor.behind(16 + value_bytes)
    }
}

/// Writes a text in UTF-16, and returns the number of bytes written: at most twice the bytes of the text.
///
/// # Safety
///
/// Twice the text's bytes are reserved at the cursor, and the slack.
#[inline(always)]
unsafe fn put_utf16_text(text: &[u8], cursor: Cursor, units: &mut Vec<u16>) -> usize {
    // SAFETY: the caller's contract.
    unsafe {
        if put_if_ascii(text, cursor) {
            return 2 * text.len();
        }
    }
    // The function requires space for one unit more than there are bytes, and writes at most one unit per byte.
    units.resize(text.len() + 1, 0);
    let count = convert_utf8_to_utf16(text, units);
    for (index, unit) in units[..count].iter().enumerate() {
        // SAFETY: as above.
        unsafe { cursor.store(unit.to_le_bytes(), 2 * index) };
    }
    2 * count
}

/// Writes each byte of a text as 16 bits, and returns true if the text is ASCII. Only then are the written bytes the
/// text in UTF-16.
///
/// # Safety
///
/// The same as for [`put_utf16_text`].
#[inline(always)]
unsafe fn put_if_ascii(text: &[u8], cursor: Cursor) -> bool {
    let (pieces, rest) = text.as_chunks::<PIECE_BYTES>();
    let mut seen = 0;
    for (index, piece) in pieces.iter().enumerate() {
        seen |= u128::from_ne_bytes(*piece);
        // SAFETY: the caller's contract.
        unsafe { cursor.store(widened(*piece), 2 * PIECE_BYTES * index) };
    }
    if !rest.is_empty() {
        // The last store is a whole piece, too: it writes some bytes of the text for the second time, if the text is
        // long enough.
        let last = match text.last_chunk::<PIECE_BYTES>() {
            Some(last) => *last,
            None => {
                let mut last = [0; PIECE_BYTES];
                last[..rest.len()].copy_from_slice(rest);
                last
            }
        };
        seen |= u128::from_ne_bytes(last);
        let at = text.len().saturating_sub(PIECE_BYTES);
        // SAFETY: the caller's contract; a short text takes 32 bytes, within the slack.
        unsafe { cursor.store(widened(last), 2 * at) };
    }
    seen & NOT_ASCII == 0
}

/// Each byte as 16 bits.
#[inline(always)]
fn widened(piece: [u8; PIECE_BYTES]) -> [u8; 2 * PIECE_BYTES] {
    let mut wide = [0; 2 * PIECE_BYTES];
    for (index, byte) in piece.into_iter().enumerate() {
        wide[2 * index] = byte;
    }
    wide
}
