//! Stores into reserved memory, without bounds checks and without growing it.
//!
//! # Why it is sound
//!
//! Each function of [`Cursor`] writes one field (or the start of a tuple) at the cursor, and returns the cursor after
//! it. Its caller has reserved the bytes of the field, which the function's documentation names, and [`SLACK_BYTES`]
//! more; not more than that is written. Stores need no alignment, no store is wider than its field and the slack, and
//! every byte of a field is written, so all bytes before the cursor are initialized. This is the contract of every
//! `unsafe fn` here, and "as above" in its blocks refers to it.
#![expect(
    unsafe_code,
    reason = "stores through a pointer, for which `rows` has reserved memory"
)]

use super::numeric::{QuickField, WideField};
use super::numeric_slots::Slot;

/// How many bytes a store may write beyond the end of its field. They must be reserved after the last field.
pub(super) const SLACK_BYTES: usize = 64;

/// A position in reserved memory.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    next: *mut u8,
}

impl Cursor {
    /// The cursor at `next`.
    pub(super) fn new(next: *mut u8) -> Cursor {
        Cursor { next }
    }

    /// The number of bytes written since `start`.
    pub(super) fn bytes_since(self, start: *const u8) -> usize {
        self.next as usize - start as usize
    }

    #[inline(always)]
    unsafe fn store<const BYTES: usize>(self, bytes: [u8; BYTES], at: usize) {
        const { assert!(BYTES <= SLACK_BYTES) };
        // SAFETY: as above; callers store within their field and the slack.
        unsafe {
            let target = self.next.add(at).cast::<[u8; BYTES]>();
            target.write_unaligned(bytes);
        }
    }

    #[inline(always)]
    unsafe fn copy(self, bytes: &[u8], at: usize) {
        // SAFETY: as above; callers copy within their field.
        unsafe {
            let target = self.next.add(at);
            target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    #[inline(always)]
    unsafe fn behind(self, field_bytes: usize) -> Cursor {
        // SAFETY: as above; the field's bytes are reserved.
        let next = unsafe { self.next.add(field_bytes) };
        Cursor { next }
    }

    /// A field that is written with one store.
    #[inline(always)]
    unsafe fn put<const BYTES: usize>(self, bytes: [u8; BYTES], field_bytes: usize) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store(bytes, 0);
            self.behind(field_bytes)
        }
    }

    /// The field count that a tuple starts with: 2 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_field_count(self, field_count: u16) -> Cursor {
        // SAFETY: as above.
        unsafe { self.put(field_count.to_be_bytes(), 2) }
    }

    /// NULL, whose length is -1: 4 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_null(self) -> Cursor {
        // SAFETY: as above.
        unsafe { self.put((-1i32).to_be_bytes(), 4) }
    }

    /// A field of one byte: 5 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_8(self, value: u8) -> Cursor {
        let word = 1u64 << 32 | u64::from(value) << 24;
        // SAFETY: as above.
        unsafe { self.put(word.to_be_bytes(), 5) }
    }

    /// A field of 16 bits: 6 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_16(self, value: u16) -> Cursor {
        let word = 2u64 << 32 | u64::from(value) << 16;
        // SAFETY: as above.
        unsafe { self.put(word.to_be_bytes(), 6) }
    }

    /// A field of 32 bits: 8 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_32(self, value: u32) -> Cursor {
        let word = 4u64 << 32 | u64::from(value);
        // SAFETY: as above.
        unsafe { self.put(word.to_be_bytes(), 8) }
    }

    /// A field of 64 bits: 12 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_64(self, value: u64) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store(8u32.to_be_bytes(), 0);
            self.store(value.to_be_bytes(), 4);
            self.behind(12)
        }
    }

    /// A field of 16 bytes: 20 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_128(self, value: [u8; 16]) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store(16u32.to_be_bytes(), 0);
            self.store(value, 4);
            self.behind(20)
        }
    }

    /// A `numeric` of at most four digits: up to 20 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_quick_numeric(self, field: QuickField) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store(field.head.to_be_bytes(), 0);
            self.store(field.tail.to_be_bytes(), 8);
            self.store(field.digits.to_be_bytes(), 12);
            self.behind(field.field_bytes)
        }
    }

    /// A `numeric` of at most four digits, already made in a slot: up to 20 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_slot(self, slot: &Slot) -> Cursor {
        // The whole slot, of which all 32 bytes are initialized: one load and one store.
        let bytes = std::ptr::from_ref(slot).cast::<[u8; size_of::<Slot>()]>();
        // SAFETY: as above.
        unsafe { self.put(bytes.read(), slot.field_bytes as usize) }
    }

    /// A `numeric` of any 128-bit integer: up to `DECIMAL_FIELD_BYTES_MAX` bytes.
    pub(super) unsafe fn put_wide_numeric(self, field: &WideField) -> Cursor {
        let digits = field.digits();
        let digit_count = digits.len() as u16;
        // SAFETY: as above.
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

    /// A field of these bytes: 4 bytes more than their number, which must fit in an i32.
    #[inline]
    pub(super) unsafe fn put_bytes(self, bytes: &[u8]) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store((bytes.len() as u32).to_be_bytes(), 0);
            self.copy(bytes, 4);
            self.behind(4 + bytes.len())
        }
    }

    /// A field of the version byte of `jsonb` and this text: 5 bytes more than the text.
    pub(super) unsafe fn put_jsonb(self, text: &[u8]) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store((text.len() as u32 + 1).to_be_bytes(), 0);
            // jsonb_recv: "version number = 1", then the text of the value.
            self.store([1], 4);
            self.copy(text, 5);
            self.behind(5 + text.len())
        }
    }

    /// A field of a text that is in the view itself: 4 bytes more than the text.
    #[inline(always)]
    pub(super) unsafe fn put_inline(self, view: u128) -> Cursor {
        // A view is the length and the bytes, like the field: only the byte order of the length differs.
        let length = view as u32;
        let field = view & !u128::from(u32::MAX) | u128::from(length.swap_bytes());
        // SAFETY: as above.
        unsafe { self.put(field.to_le_bytes(), 4 + length as usize) }
    }

    /// A field of the first `length` of these bytes: 4 bytes more.
    #[inline(always)]
    pub(super) unsafe fn put_padded(self, bytes: &[u8; SLACK_BYTES], length: usize) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store((length as u32).to_be_bytes(), 0);
            self.store(*bytes, 4);
            self.behind(4 + length)
        }
    }
}
