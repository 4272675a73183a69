//! Texts or bytes, anywhere in a few big buffers, as arrays of views hold them.
//!
//! A view is 16 bytes: the length in the lowest four; then up to twelve bytes of text are the text
//! itself, and of longer ones the first four bytes, the number of the text's buffer and the offset
//! in it follow.
//!
//! # Why it is sound
//!
//! That every view lies in the buffer that it names is an invariant of Arrow's arrays, and the
//! views and buffers of a [`Views`] are those of one array: [`Views::new`] is the only way to make
//! one. A row that is asked for is below the array's length, which the callers promise.
#![expect(
    unsafe_code,
    reason = "reads without the checks that the array's type has made"
)]

use arrow_array::{GenericByteViewArray, types::ByteViewType};
use arrow_buffer::Buffer;

use super::writer::{Cursor, SLACK_BYTES};

/// Texts up to this length are in their view.
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

    /// Bytes of the text of a row; of a NULL any number.
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
        // SAFETY: the caller's contract. A valid view has its bytes behind its length, where they
        // are few, else it lies within the buffer that it names.
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

    /// Writes a field of the text of a row: 4 bytes more than it has.
    ///
    /// # Safety
    ///
    /// `row` is below the number of texts, and not NULL; the field and the slack are reserved at
    /// the cursor.
    #[inline(always)]
    pub(super) unsafe fn put(&self, row: usize, cursor: Cursor) -> Cursor {
        // SAFETY: the caller's contract. A valid view lies within the buffer that it names. All 64
        // bytes of the slack are stored only where as many can be read.
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
