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

use super::byte::byte_of;
use super::column::{Column, Scratch, Values};
use super::numeric::{Layout, quick_field, wide_field};
use super::numeric_slots::TILE_ROWS;
use super::numeric_text::{self, DecimalText, short_layout};
use super::temporal::{postgres_date, postgres_time, postgres_timestamp};
use super::writer::Cursor;
use crate::error::ValueFault;

impl Column<'_> {
    /// Writes the value of a row, or NULL.
    ///
    /// # Safety
    ///
    /// The conditions of `put_value` hold, except that the row may be NULL. The validity has as many bits as there are
    /// rows.
    #[inline(always)]
    pub(super) unsafe fn put(
        &self,
        row: usize,
        scratch: &mut Scratch,
        cursor: Cursor,
    ) -> Result<Cursor, ValueFault> {
        // SAFETY: the caller's contract. Every column's `bytes_max` counts at least 4 bytes for a row.
        unsafe {
            match self.validity {
                Some(bits) if !bits.value_unchecked(row) => Ok(cursor.put_null()),
                _ => self.put_value(row, scratch, cursor),
            }
        }
    }

    /// Writes the value of a row.
    ///
    /// # Safety
    ///
    /// `row` is below the number of values and not NULL. The bytes that [`Column::bytes_max`] counts for that row are
    /// reserved at the cursor, and the slack. The slots contain the fields of the row's tile.
    #[inline(always)]
    pub(super) unsafe fn put_value(
        &self,
        row: usize,
        scratch: &mut Scratch,
        cursor: Cursor,
    ) -> Result<Cursor, ValueFault> {
        // SAFETY: the caller's contract.
        Ok(unsafe {
            match &self.values {
                Values::Bool(bits) => cursor.put_8(u8::from(bits.value_unchecked(row))),
                Values::Int2(values) => cursor.put_16(*values.get_unchecked(row) as u16),
                Values::Int4(values) => cursor.put_32(*values.get_unchecked(row) as u32),
                Values::Int8(values) => cursor.put_64(*values.get_unchecked(row) as u64),
                Values::Float4(values) => cursor.put_32(values.get_unchecked(row).to_bits()),
                Values::Float8(values) => cursor.put_64(values.get_unchecked(row).to_bits()),
                Values::Decimal(values, layout) => {
                    put_decimal(*values.get_unchecked(row), layout, cursor)
                }
                Values::DecimalInSlots(values, layout, first_slot, _) => {
                    let slot = scratch.slots.get_unchecked(first_slot + row % TILE_ROWS);
                    if slot.field_bytes != 0 {
                        cursor.put_slot(slot)
                    } else {
                        cursor.put_wide_numeric(&wide_field(*values.get_unchecked(row), layout))
                    }
                }
                Values::NumericText(views) => {
                    put_numeric_text(views.bytes(row), &mut scratch.number, cursor)?
                }
                Values::Text(views) => views.put(row, cursor),
                Values::Jsonb(views) => cursor.put_jsonb(views.bytes(row)),
                Values::Date(values) => {
                    cursor.put_32(postgres_date(*values.get_unchecked(row))? as u32)
                }
                Values::Time(values) => {
                    cursor.put_64(postgres_time(*values.get_unchecked(row))? as u64)
                }
                Values::Timestamp(values) => {
                    cursor.put_64(postgres_timestamp(*values.get_unchecked(row))? as u64)
                }
                Values::Interval {
                    months,
                    days,
                    microseconds,
                } => {
                    // interval_send: the time as an int64, then days, then months.
                    let value = (*microseconds.get_unchecked(row) as u64 as u128) << 64
                        | (*days.get_unchecked(row) as u32 as u128) << 32
                        | *months.get_unchecked(row) as u32 as u128;
                    cursor.put_128(value.to_be_bytes())
                }
                Values::Uuid(values) => cursor.put_128(*values.get_unchecked(row)),
                Values::Char(views) => cursor.put_8(byte_of(views.bytes(row))),
                Values::Money(values) => {
                    cursor.put_64(postgres_money(*values.get_unchecked(row))? as u64)
                }
                Values::TimeTz(values) => cursor.put_bytes(values.get_unchecked(row)),
            }
        })
    }
}

/// # Safety
///
/// `DECIMAL_FIELD_BYTES_MAX` bytes and the slack are reserved at the cursor.
#[inline(always)]
unsafe fn put_decimal(value: i128, layout: &Layout, cursor: Cursor) -> Cursor {
    // SAFETY: the caller's contract.
    unsafe {
        match quick_field(value, layout) {
            Some(field) => cursor.put_quick_numeric(field),
            None => cursor.put_wide_numeric(&wide_field(value, layout)),
        }
    }
}

/// # Safety
///
/// `DECIMAL_FIELD_BYTES_MAX` bytes, those of the text and the slack are reserved at the cursor.
unsafe fn put_numeric_text(
    text: &[u8],
    scratch: &mut Vec<u8>,
    cursor: Cursor,
) -> Result<Cursor, ValueFault> {
    scratch.clear();
    match numeric_text::parse(text)? {
        DecimalText::Short { value, scale } => {
            // SAFETY: the caller's contract.
            return Ok(unsafe { put_decimal(i128::from(value), short_layout(scale), cursor) });
        }
        DecimalText::Special(sign) => {
            scratch.extend_from_slice(&[0; 4]);
            scratch.extend_from_slice(&sign.to_be_bytes());
            scratch.extend_from_slice(&[0; 2]);
        }
        DecimalText::Long {
            negative,
            before_point,
            after_point,
        } => numeric_text::append_long(negative, before_point, after_point, scratch),
    }
    // SAFETY: the caller's contract: 8 bytes and two for each digit are not more.
    Ok(unsafe { cursor.put_bytes(scratch) })
}

/// The whole number that PostgreSQL stores for `money`.
fn postgres_money(number: i128) -> Result<i64, ValueFault> {
    i64::try_from(number).map_err(|_| ValueFault::OutOfRange {
        value: if number < 0 { i64::MIN } else { i64::MAX },
        unit: "of the smallest coin",
        type_name: "money",
        range: "64 bits",
    })
}
