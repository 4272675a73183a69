//! Text columns: views into the chunk, into the unescaped text of a column, or into text that was built for it.
//! `view_array` makes an array of them, and relies on the views made here.
//!
//! A view has 16 bytes. The lowest four are the length. A text of up to twelve bytes follows directly; for a longer
//! text, its first four bytes follow, then the number of its buffer and its offset there.

use std::hint::select_unpredictable;

use super::error::ValueError;
use super::fields::{Fields, Home};
use super::kernel::Fault;
#[cfg(target_arch = "x86_64")]
use super::simd::{self, LANES, Lanes};

/// The longest text that is in the view itself.
pub(super) const INLINE_BYTES_MAX: usize = 12;

/// The size at which built text continues in a new buffer, so that offsets stay below 2^31.
const BUILT_BYTES_MAX: usize = 1 << 30;

const CHUNK_BUFFER: u32 = 0;
const UNESCAPED_BUFFER: u32 = 1;
const BUILT_BUFFER: u32 = 2;

/// The part of a field that a text column keeps.
pub(super) enum Kept {
    /// All of it.
    Whole,
    /// `length` bytes that begin `offset` bytes after its start.
    Part { offset: usize, length: usize },
    /// Another text, which was appended to the buffer passed to the check.
    Built,
}

/// The end of the buffer for built texts. Views point into the text before it, so nothing may be removed.
pub(super) struct Built<'a>(&'a mut String);

impl<'a> Built<'a> {
    /// A text that is built at the end of this buffer.
    #[inline(always)]
    pub fn at_end_of(buffer: &'a mut String) -> Built<'a> {
        Built(buffer)
    }

    /// Appends a character.
    #[inline(always)]
    pub fn push(&mut self, character: char) {
        self.0.push(character);
    }

    /// Appends a text.
    #[inline(always)]
    pub fn push_str(&mut self, text: &str) {
        self.0.push_str(text);
    }
}

/// The check of a text column's values.
pub(super) trait TextCheck {
    /// The part of a field that is kept. A text that is not a part of the field is appended to `built`.
    fn check(&self, field: &str, built: &mut Built<'_>) -> Result<Kept, ValueError>;

    /// Fields of at most this many bytes are kept completely and need no check; `None` if all fields must be checked.
    #[inline(always)]
    fn whole_bytes_max(&self) -> Option<usize> {
        None
    }
}

/// [`views_with`] for x86-64-v3.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt")]
pub(super) fn views_avx2<C: TextCheck>(
    check: &C,
    fields: &Fields<'_>,
    built: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) -> Vec<u128> {
    views_with(check, fields, built, faults)
}

/// Does the same as [`views_with`], but for eight fields at a time.
#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi1,bmi2,fma,lzcnt,movbe,popcnt"
)]
pub(super) fn views_by_eight<C: TextCheck>(
    check: &C,
    fields: &Fields<'_>,
    bytes_max: usize,
    built: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) -> Vec<u128> {
    let limits = simd::views::Limits::new(&fields.ascii, bytes_max);
    let mut views = vec![0; fields.spans.len()];
    let (groups, rest) = views.as_chunks_mut::<LANES>();
    let (span_groups, _) = fields.spans.as_chunks::<LANES>();
    for (group, (spans, views)) in span_groups.iter().zip(&mut *groups).enumerate() {
        if let Some(lanes) = Lanes::load(spans, fields.text)
            && simd::views::views(&lanes, &limits, views)
        {
            continue;
        }
        for (lane, view) in views.iter_mut().enumerate() {
            *view = checked_view(check, fields, group * LANES + lane, built, faults);
        }
    }
    let first = groups.len() * LANES;
    for (lane, view) in rest.iter_mut().enumerate() {
        *view = checked_view(check, fields, first + lane, built, faults);
    }
    views
}

/// The views of a text column; NULL and faulty rows get an empty text. The loop is compiled for the instructions of its
/// caller.
#[inline(always)]
pub(super) fn views_with<C: TextCheck>(
    check: &C,
    fields: &Fields<'_>,
    built: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) -> Vec<u128> {
    // Loops over slices, as for other types.
    let mut views = vec![0; fields.spans.len()];
    // A limit of zero excludes even the empty field.
    let unseen_bytes_end = unseen_bytes_end(check);
    let text = fields.text;
    let places = fields.spans.iter().enumerate().zip(&mut views);
    if fields.is_plain {
        for ((row, span), made) in places {
            let (start, length) = (span.start as usize, span.length as usize);
            *made = if length < unseen_bytes_end {
                view(text, CHUNK_BUFFER, start, length)
            } else {
                checked_view(check, fields, row, built, faults)
            };
        }
    } else if let Some(mut last) = fields.first_among_nulls() {
        for ((row, span), made) in places {
            // There is no branch for NULL either.
            let is_null = span.is_null();
            last = select_unpredictable(is_null, last, *span);
            let (start, length) = (last.start as usize, last.length as usize);
            *made = if length < unseen_bytes_end {
                select_unpredictable(is_null, 0, view(text, CHUNK_BUFFER, start, length))
            } else {
                checked_view(check, fields, row, built, faults)
            };
        }
    } else {
        for ((row, _), made) in places {
            *made = checked_view(check, fields, row, built, faults);
        }
    }
    views
}

/// Fields shorter than this need no check.
#[inline(always)]
fn unseen_bytes_end<C: TextCheck>(check: &C) -> usize {
    check
        .whole_bytes_max()
        .map_or(0, |bytes| bytes.saturating_add(1))
}

/// The view of the field of a row.
pub(super) fn checked_view<C: TextCheck>(
    check: &C,
    fields: &Fields<'_>,
    row: usize,
    built: &mut Vec<String>,
    faults: &mut Vec<Fault>,
) -> u128 {
    let Some((home, start, length)) = fields.place(row) else {
        return 0;
    };
    let (text, buffer) = match home {
        Home::Chunk => (fields.text, CHUNK_BUFFER),
        Home::Unescaped => (fields.unescaped, UNESCAPED_BUFFER),
    };
    if length < unseen_bytes_end(check) {
        return view(text, buffer, start, length);
    }
    let field = std::str::from_utf8(&text[start..start + length])
        .expect("invalid records were rejected, and unescaped text was checked");
    let target = built.last_mut().expect("one buffer at least");
    let built_start = target.len();
    match check.check(field, &mut Built::at_end_of(target)) {
        Ok(Kept::Whole) => view(text, buffer, start, length),
        Ok(Kept::Part { offset, length }) => {
            // Panics if the part does not begin and end between characters.
            let part = &field[offset..offset + length];
            view(text, buffer, start + offset, part.len())
        }
        Ok(Kept::Built) => {
            let buffer = BUILT_BUFFER + built.len() as u32 - 1;
            let target = built.last_mut().expect("one buffer at least");
            let made = short_view(&target.as_bytes()[built_start..], buffer, built_start);
            if target.len() > BUILT_BYTES_MAX {
                built.push(String::new());
            }
            made
        }
        Err(error) => {
            faults.push(Fault { row, error });
            0
        }
    }
}

/// The view of a text with at least 16 bytes after its start, as in a window.
#[inline(always)]
fn view(text: &[u8], buffer: u32, start: usize, length: usize) -> u128 {
    let bytes: &[u8; 16] = text[start..start + 16].try_into().expect("16 bytes");
    assert!(
        starts_character(bytes[0]) | (length == 0) && starts_character(text[start + length]),
        "a field begins and ends between characters"
    );
    let low = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    let high = u32::from_le_bytes(bytes[8..12].try_into().expect("4 bytes"));
    let (low_mask, high_mask) = INLINE_MASKS[length.min(INLINE_BYTES_MAX)];
    let (inline_low, inline_high) = (low & low_mask, high & high_mask);
    let length_bits = length as u64;
    let first = length_bits | inline_low << 32;
    // Both forms are made and one is chosen, because a branch would often be mispredicted with lengths around twelve.
    let second = if length <= INLINE_BYTES_MAX {
        inline_low >> 32 | u64::from(inline_high) << 32
    } else {
        u64::from(buffer) | (start as u64) << 32
    };
    u128::from(first) | u128::from(second) << 64
}

/// The view of a text without bytes after it.
fn short_view(text: &[u8], buffer: u32, start: usize) -> u128 {
    let length = text.len();
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(length as u32).to_le_bytes());
    if length <= INLINE_BYTES_MAX {
        bytes[4..4 + length].copy_from_slice(text);
    } else {
        bytes[4..8].copy_from_slice(&text[..4]);
        bytes[8..12].copy_from_slice(&buffer.to_le_bytes());
        bytes[12..].copy_from_slice(&(start as u32).to_le_bytes());
    }
    u128::from_le_bytes(bytes)
}

/// For every length, a mask of the bytes of a text in the view itself.
const INLINE_MASKS: [(u64, u32); INLINE_BYTES_MAX + 1] = {
    let mut masks = [(0, 0); INLINE_BYTES_MAX + 1];
    let mut length = 0;
    while length <= INLINE_BYTES_MAX {
        masks[length] = match length {
            0..8 => ((1 << (8 * length)) - 1, 0),
            8..12 => (u64::MAX, (1 << (8 * (length - 8))) - 1),
            _ => (u64::MAX, u32::MAX),
        };
        length += 1;
    }
    masks
};

/// True if a byte is not one that continues a character.
#[inline(always)]
fn starts_character(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}
