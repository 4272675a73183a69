//! Writes the value of a row, by the kind of its column.
//!
//! # Why it is sound
//!
//! Two conditions hold for every call, and [`rows`](super::rows) ensures both. First, the row is below the number of
//! values of each of the column's slices; this is checked once for the batch, so values are read without bounds checks.
//! Second, the bytes that [`Column::bytes_max`] counts for the row are reserved at the cursor, and the slack. So a
//! value written here must never be longer than `bytes_max` for its kind of column.
#![expect(
    unsafe_code,
    reason = "reads and writes that `rows` has checked for the whole batch"
)]

use super::column::{Column, EncodedTexts, Text, TextForm, Values};
use super::texts::{put_chunked, put_chunked_utf16};
use super::ticks::{datetime, days_of_date, smalldatetime, split};
use super::writer::{Cursor, Prefix};

/// The length byte of a `uniqueidentifier`, which is always there.
const UNIQUEIDENTIFIER_PREFIX: Prefix = Prefix { byte: 16, bytes: 1 };

impl Column<'_> {
    /// Writes the value of a row, or NULL.
    ///
    /// # Safety
    ///
    /// The same as for `put_value`, but the row may be NULL; the validity has as many bits as there are rows.
    #[inline(always)]
    pub(super) unsafe fn put(&self, row: usize, units: &mut Vec<u16>, cursor: Cursor) -> Cursor {
        // SAFETY: the caller's contract. `bytes_max` counts at least the bytes of NULL for a row.
        unsafe {
            match self.validity {
                Some(bits) if !bits.value_unchecked(row) => cursor.put_null(self.null),
                _ => self.put_value(row, units, cursor),
            }
        }
    }

    /// Writes the value of a row.
    ///
    /// # Safety
    ///
    /// `row` is below the number of values and not NULL. The bytes that [`Column::bytes_max`] counts for that row are
    /// reserved at the cursor, and the slack. The column was checked.
    #[inline(always)]
    pub(super) unsafe fn put_value(
        &self,
        row: usize,
        units: &mut Vec<u16>,
        cursor: Cursor,
    ) -> Cursor {
        // SAFETY: the caller's contract.
        unsafe {
            match &self.values {
                Values::Bit(bits, prefix) => {
                    cursor.put(*prefix, [u8::from(bits.value_unchecked(row))])
                }
                Values::TinyInt(values, prefix) => {
                    cursor.put(*prefix, [*values.get_unchecked(row) as u8])
                }
                Values::SmallInt(values, prefix) => {
                    cursor.put(*prefix, values.get_unchecked(row).to_le_bytes())
                }
                Values::Int(values, prefix) => {
                    cursor.put(*prefix, values.get_unchecked(row).to_le_bytes())
                }
                Values::BigInt(values, prefix) => {
                    cursor.put(*prefix, values.get_unchecked(row).to_le_bytes())
                }
                Values::Real(values, prefix) => {
                    cursor.put(*prefix, values.get_unchecked(row).to_le_bytes())
                }
                Values::Float(values, prefix) => {
                    cursor.put(*prefix, values.get_unchecked(row).to_le_bytes())
                }
                Values::Decimal(values, precision) => {
                    cursor.put_decimal(*values.get_unchecked(row), precision.value_bytes)
                }
                Values::Money(values, prefix) => {
                    // The upper half first, each half little-endian.
                    let number = *values.get_unchecked(row) as i64;
                    cursor.put(*prefix, number.rotate_left(32).to_le_bytes())
                }
                Values::SmallMoney(values, prefix) => {
                    cursor.put(*prefix, (*values.get_unchecked(row) as i32).to_le_bytes())
                }
                Values::Date(values) => cursor.put_date(days_of_date(*values.get_unchecked(row))),
                Values::Time(values, fraction) => {
                    let ticks = fraction.ticks(*values.get_unchecked(row) as u64);
                    let time_bytes = fraction.time_bytes;
                    cursor.put_moment(ticks, time_bytes, 0, time_bytes)
                }
                Values::DateTime2(values, fraction) => {
                    let (days, of_day) = split(*values.get_unchecked(row));
                    let time_bytes = fraction.time_bytes;
                    cursor.put_moment(fraction.ticks(of_day), time_bytes, days, time_bytes + 3)
                }
                Values::DateTimeOffset(values, fraction) => {
                    // The moment is in UTC, so the offset is zero minutes.
                    let (days, of_day) = split(*values.get_unchecked(row));
                    let time_bytes = fraction.time_bytes;
                    cursor.put_moment(fraction.ticks(of_day), time_bytes, days, time_bytes + 5)
                }
                Values::DateTime(values, prefix) => {
                    let (days, ticks) = datetime(*values.get_unchecked(row));
                    let value = u64::from(ticks) << 32 | u64::from(days as u32);
                    cursor.put(*prefix, value.to_le_bytes())
                }
                Values::SmallDateTime(values, prefix) => {
                    let (days, minutes) = smalldatetime(*values.get_unchecked(row));
                    let value = u32::from(minutes) << 16 | u32::from(days);
                    cursor.put(*prefix, value.to_le_bytes())
                }
                Values::UniqueIdentifier(values) => {
                    cursor.put(UNIQUEIDENTIFIER_PREFIX, guid(*values.get_unchecked(row)))
                }
                Values::Text(text) => text.put(row, units, cursor),
            }
        }
    }
}

impl Text<'_> {
    /// # Safety
    ///
    /// The same as for [`Column::put_value`].
    #[inline(always)]
    unsafe fn put(&self, row: usize, units: &mut Vec<u16>, cursor: Cursor) -> Cursor {
        // SAFETY: the caller's contract.
        unsafe {
            match (&self.form, self.is_chunked) {
                (TextForm::AsIs, false) => self.texts.put(row, cursor),
                (TextForm::Utf16, false) => self.texts.put_utf16(row, cursor, units),
                (TextForm::CodePage(_, encoded), false) => {
                    let bytes = encoded.text(row);
                    cursor.store((bytes.len() as u16).to_le_bytes(), 0);
                    cursor.copy(bytes, 2);
                    cursor.behind(2 + bytes.len())
                }
                (TextForm::AsIs, true) => put_chunked(self.texts.bytes(row), cursor),
                (TextForm::Utf16, true) => put_chunked_utf16(self.texts.bytes(row), cursor, units),
                (TextForm::CodePage(_, encoded), true) => put_chunked(encoded.text(row), cursor),
            }
        }
    }
}

impl EncodedTexts {
    fn text(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[row]]
    }
}

/// The first three groups of a GUID are numbers and little-endian, the rest is as written.
#[inline(always)]
fn guid(bytes: [u8; 16]) -> [u8; 16] {
    let [a, b, c, d, e, f, g, h, rest @ ..] = bytes;
    let [i, j, k, l, m, n, o, p] = rest;
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}
