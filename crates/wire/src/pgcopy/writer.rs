//! Stores into memory that has been reserved before: no bounds checks, no growth.

use arrow_buffer::Buffer;

use super::numeric::{QuickField, WideField};
use super::numeric_slots::Slot;

/// What a store may write behind the end of its field. It must be reserved behind the last.
pub(super) const SLACK_BYTES: usize = 64;

/// Texts up to this length are in their view.
const INLINE_BYTES_MAX: u32 = 12;

/// A place in reserved memory.
///
/// # The contract of all its functions
///
/// Each writes one field (or the start of a tuple) at the place and returns the place behind
/// it. The caller has reserved the bytes of the field and [`SLACK_BYTES`] more: that much is
/// written at most.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    next: *mut u8,
}

// SAFETY of every block below: the contract above. Stores are unaligned, and no store is wider
// than its field and the slack. Every byte of a field is written, so all bytes before the
// cursor are initialized.
impl Cursor {
    /// The cursor at `next`.
    pub(super) fn new(next: *mut u8) -> Cursor {
        Cursor { next }
    }

    /// How far it has come from `start`.
    pub(super) fn bytes_since(self, start: *const u8) -> usize {
        self.next as usize - start as usize
    }

    #[inline(always)]
    unsafe fn store<const BYTES: usize>(self, bytes: [u8; BYTES], at: usize) {
        const { assert!(BYTES <= SLACK_BYTES) };
        // SAFETY: see above; callers store within their field and the slack.
        unsafe {
            self.next
                .add(at)
                .cast::<[u8; BYTES]>()
                .write_unaligned(bytes)
        }
    }

    #[inline(always)]
    unsafe fn behind(self, field_bytes: usize) -> Cursor {
        // SAFETY: see above; the field's bytes are reserved.
        let next = unsafe { self.next.add(field_bytes) };
        Cursor { next }
    }

    /// The field count that a tuple starts with: 2 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_field_count(self, field_count: u16) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store(field_count.to_be_bytes(), 0);
            self.behind(2)
        }
    }

    /// NULL, whose length is -1: 4 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_null(self) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store((-1i32).to_be_bytes(), 0);
            self.behind(4)
        }
    }

    /// A field of one byte: 5 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_8(self, value: u8) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store((1u64 << 32 | u64::from(value) << 24).to_be_bytes(), 0);
            self.behind(5)
        }
    }

    /// A field of 16 bits: 6 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_16(self, value: u16) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store((2u64 << 32 | u64::from(value) << 16).to_be_bytes(), 0);
            self.behind(6)
        }
    }

    /// A field of 32 bits: 8 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_32(self, value: u32) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store((4u64 << 32 | u64::from(value)).to_be_bytes(), 0);
            self.behind(8)
        }
    }

    /// A field of 64 bits: 12 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_64(self, value: u64) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store(8u32.to_be_bytes(), 0);
            self.store(value.to_be_bytes(), 4);
            self.behind(12)
        }
    }

    /// A field of 16 bytes: 20 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_128(self, value: [u8; 16]) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store(16u32.to_be_bytes(), 0);
            self.store(value, 4);
            self.behind(20)
        }
    }

    /// A `numeric` of at most four digits: up to 20 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_quick_numeric(self, field: QuickField) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store(field.head.to_be_bytes(), 0);
            self.store(field.tail.to_be_bytes(), 8);
            self.store(field.digits.to_be_bytes(), 12);
            self.behind(field.field_bytes)
        }
    }

    /// A `numeric` of at most four digits, made before: up to 20 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_slot(self, slot: &Slot) -> Cursor {
        // SAFETY: see above; a slot is 32 bytes, all of which are initialized.
        unsafe {
            let bytes = std::ptr::from_ref(slot).cast::<[u8; size_of::<Slot>()]>();
            self.store(bytes.read(), 0);
            self.behind(slot.field_bytes as usize)
        }
    }

    /// A `numeric` of any 128-bit integer: up to `DECIMAL_FIELD_BYTES_MAX` bytes.
    pub(super) unsafe fn put_wide_numeric(self, field: &WideField) -> Cursor {
        let digits = field.digits();
        let digit_count = digits.len() as u16;
        // SAFETY: see above.
        unsafe {
            self.store((8 + 2 * u32::from(digit_count)).to_be_bytes(), 0);
            self.store(digit_count.to_be_bytes(), 4);
            self.store(field.weight.to_be_bytes(), 6);
            self.store(field.sign.to_be_bytes(), 8);
            self.store(field.scale.to_be_bytes(), 10);
            for (index, digit) in digits.iter().enumerate() {
                self.store(digit.to_be_bytes(), 12 + 2 * index);
            }
            self.behind(12 + 2 * digits.len())
        }
    }

    /// A field of these bytes: 4 bytes more than they are. Its length fits into an i32.
    pub(super) unsafe fn put_bytes(self, bytes: &[u8]) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store((bytes.len() as u32).to_be_bytes(), 0);
            self.next
                .add(4)
                .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            self.behind(4 + bytes.len())
        }
    }

    /// A field of the version byte of `jsonb` and this text: 5 bytes more than it is.
    pub(super) unsafe fn put_jsonb(self, text: &[u8]) -> Cursor {
        // SAFETY: see above.
        unsafe {
            self.store((text.len() as u32 + 1).to_be_bytes(), 0);
            // jsonb_recv: "version number = 1", then the text of the value.
            self.store([1], 4);
            self.next
                .add(5)
                .copy_from_nonoverlapping(text.as_ptr(), text.len());
            self.behind(5 + text.len())
        }
    }

    /// A field of the bytes of a view: 4 bytes more than they are.
    ///
    /// The view is a valid one of an array with these data buffers.
    #[inline(always)]
    pub(super) unsafe fn put_view(self, view: u128, buffers: &[Buffer]) -> Cursor {
        let length = view as u32;
        if length <= INLINE_BYTES_MAX {
            // The view is the length and the bytes, as the field is: only the order of the
            // length's bytes differs.
            let field = view & !u128::from(u32::MAX) | u128::from(length.swap_bytes());
            // SAFETY: see above.
            return unsafe {
                self.store(field.to_le_bytes(), 0);
                self.behind(4 + length as usize)
            };
        }
        let length = length as usize;
        let offset = (view >> 96) as u32 as usize;
        // SAFETY: see above; a valid view lies within the buffer that it names. A store of the
        // whole slack needs as many bytes to read, which is asked first.
        unsafe {
            let buffer = buffers.get_unchecked((view >> 64) as u32 as usize);
            let text = buffer.as_ptr().add(offset);
            self.store((length as u32).to_be_bytes(), 0);
            if length <= SLACK_BYTES && offset + SLACK_BYTES <= buffer.len() {
                self.store(text.cast::<[u8; SLACK_BYTES]>().read_unaligned(), 4);
            } else {
                self.next.add(4).copy_from_nonoverlapping(text, length);
            }
            self.behind(4 + length)
        }
    }
}

/// The bytes of a view.
///
/// # Safety
///
/// The view is a valid one, at its place in an array with these data buffers.
pub(super) unsafe fn view_bytes<'a>(view: &'a u128, buffers: &'a [Buffer]) -> &'a [u8] {
    let length = *view as u32;
    // SAFETY: a valid view has its bytes behind its length, where they are few, else it lies
    // within the buffer that it names.
    unsafe {
        let start = if length <= INLINE_BYTES_MAX {
            std::ptr::from_ref(view).cast::<u8>().add(4)
        } else {
            let buffer = buffers.get_unchecked((*view >> 64) as u32 as usize);
            buffer.as_ptr().add((*view >> 96) as u32 as usize)
        };
        std::slice::from_raw_parts(start, length as usize)
    }
}
