//! Texts or bytes of arrays of views: they are anywhere in a few large buffers.
//!
//! A view has 16 bytes. The lowest four are the length. A text of up to twelve bytes follows directly; for a longer
//! text, its first four bytes follow, then the number of its buffer and its offset there.
//!
//! # Why it is sound
//!
//! It is an invariant of Arrow's arrays that every view is within the buffer that it names. The views and buffers of a
//! [`Views`] are those of one array, because [`Views::new`] is the only constructor. Callers ensure that a row is below
//! the array's length.
#![expect(
    unsafe_code,
    reason = "reads without the checks that the array's type has made"
)]

use arrow_array::{GenericByteViewArray, types::ByteViewType};
use arrow_buffer::Buffer;

use super::writer::{Cursor, SLACK_BYTES};

/// The longest text that is in the view itself.
const INLINE_BYTES_MAX: u32 = 12;

/// The texts of an array.
pub(super) struct Views<'a> {
    views: &'a [u128],
    buffers: &'a [Buffer],
}

impl<'a> Views<'a> {
    /// The views of this array.
    pub(super) fn new<T: ByteViewType + ?Sized>(array: &'a GenericByteViewArray<T>) -> Views<'a> {
        Views {
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

    /// The lengths of the first rows.
    pub(super) fn lengths(&self, row_count: usize) -> impl Iterator<Item = u32> {
        self.views[..row_count].iter().map(|view| *view as u32)
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

    /// Writes a field with the text of a row: 4 bytes more than the text.
    ///
    /// # Safety
    ///
    /// `row` is below the number of texts, and not NULL; the field and the slack are reserved at
    /// the cursor.
    #[inline(always)]
    pub(super) unsafe fn put(&self, row: usize, cursor: Cursor) -> Cursor {
        // SAFETY: the caller's contract. A valid view's text is within the buffer that it names. All 64 bytes of the
        // slack are stored only if that many can be read.
        unsafe {
            let view = *self.views.get_unchecked(row);
            let length = view as u32;
            if length <= INLINE_BYTES_MAX {
                return cursor.put_inline(view);
            }
            let length = length as usize;
            let offset = (view >> 96) as u32 as usize;
            let buffer = self.buffers.get_unchecked((view >> 64) as u32 as usize);
            let text = buffer.as_ptr().add(offset);
            if length <= SLACK_BYTES && offset + SLACK_BYTES <= buffer.len() {
                cursor.put_padded(&*text.cast::<[u8; SLACK_BYTES]>(), length)
            } else {
                cursor.put_bytes(std::slice::from_raw_parts(text, length))
            }
        }
    }
}
