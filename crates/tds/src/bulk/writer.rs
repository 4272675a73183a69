//! Stores into reserved memory, without bounds checks and without growing it.
//!
//! # Why it is sound
//!
//! Each function of [`Cursor`] writes one value (or the token of a row) at the cursor, and returns the cursor after it.
//! Its caller has reserved the bytes of the value, which the function's documentation names, and [`SLACK_BYTES`] more.
//! The function writes no more than these bytes. Stores need no alignment, no store is wider than its value and the
//! slack, and every byte of a value is written, so all bytes before the cursor are initialized. This is the contract of
//! every `unsafe fn` here, and "as above" in its blocks refers to it.
#![expect(
    unsafe_code,
    reason = "stores through a pointer, for which `rows` has reserved memory"
)]

/// How many bytes a store may write beyond the end of its value. They must be reserved after the last value.
pub(super) const SLACK_BYTES: usize = 64;

/// The length byte before a value. Columns that are NOT NULL may have none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    /// The length.
    pub(super) byte: u8,
    /// The number of length bytes, 0 or 1.
    pub(super) bytes: usize,
}

/// The bytes that stand for NULL: one byte, repeated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Null {
    /// Their number: 1 (a length of zero), 2 (a length of 0xFFFF) or 8 (a total of all ones).
    pub(super) bytes: usize,
    /// The byte, eight times.
    pub(super) word: u64,
}

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
    pub(super) unsafe fn store<const BYTES: usize>(self, bytes: [u8; BYTES], at: usize) {
        const { assert!(BYTES <= SLACK_BYTES) };
        // SAFETY: as above; callers store within their value and the slack.
        unsafe {
            let target = self.next.add(at).cast::<[u8; BYTES]>();
            target.write_unaligned(bytes);
        }
    }

    #[inline(always)]
    pub(super) unsafe fn copy(self, bytes: &[u8], at: usize) {
        // SAFETY: as above; callers copy within their value.
        unsafe {
            let target = self.next.add(at);
            target.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        }
    }

    #[inline(always)]
    pub(super) unsafe fn behind(self, value_bytes: usize) -> Cursor {
        // SAFETY: as above; the value's bytes are reserved.
        let next = unsafe { self.next.add(value_bytes) };
        Cursor { next }
    }

    /// The token that a row begins with: 1 byte.
    #[inline(always)]
    pub(super) unsafe fn put_row_token(self) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store([0xd1], 0);
            self.behind(1)
        }
    }

    /// NULL: as many bytes as `null` has.
    #[inline(always)]
    pub(super) unsafe fn put_null(self, null: Null) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store(null.word.to_le_bytes(), 0);
            self.behind(null.bytes)
        }
    }

    /// The length byte, if the column has one, and a value of a fixed length.
    #[inline(always)]
    pub(super) unsafe fn put<const BYTES: usize>(
        self,
        prefix: Prefix,
        value: [u8; BYTES],
    ) -> Cursor {
        // SAFETY: as above. Without a length byte, the value is stored over it.
        unsafe {
            self.store([prefix.byte], 0);
            self.store(value, prefix.bytes);
            self.behind(prefix.bytes + BYTES)
        }
    }

    /// A decimal: one byte more than `value_bytes`.
    #[inline(always)]
    pub(super) unsafe fn put_decimal(self, value: i128, value_bytes: u8) -> Cursor {
        let is_not_negative = u8::from(value >= 0);
        // SAFETY: as above.
        unsafe {
            self.store([value_bytes, is_not_negative], 0);
            self.store(value.unsigned_abs().to_le_bytes(), 2);
            self.behind(1 + usize::from(value_bytes))
        }
    }

    /// A date of three bytes, after its length: 4 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_date(self, days: u32) -> Cursor {
        // SAFETY: as above.
        unsafe {
            self.store((days << 8 | 3).to_le_bytes(), 0);
            self.behind(4)
        }
    }

    /// The length `value_bytes`, then a time of day of `time_bytes`, a date of three bytes, and an offset of zero in
    /// the remaining bytes: up to 11 bytes.
    #[inline(always)]
    pub(super) unsafe fn put_moment(
        self,
        ticks: u64,
        time_bytes: usize,
        days: u32,
        value_bytes: usize,
    ) -> Cursor {
        // SAFETY: as above. A time has 40 bits at most.
        unsafe {
            self.store((ticks << 8 | value_bytes as u64).to_le_bytes(), 0);
            self.store(u64::from(days).to_le_bytes(), 1 + time_bytes);
            self.behind(1 + value_bytes)
        }
    }
}
