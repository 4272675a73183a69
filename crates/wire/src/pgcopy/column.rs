//! The columns of a batch as plain slices, and how a value of each is written.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, GenericByteViewArray, types::ByteViewType};
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::DataType;

use super::PgType;
use super::kernel::Kernel;
use super::numeric::{DECIMAL_FIELD_BYTES_MAX, Layout, quick_field, wide_field};
#[cfg(target_arch = "x86_64")]
use super::numeric_slots::avx512;
use super::numeric_slots::{Slot, TILE_ROWS};
use super::numeric_text::{self, DecimalText, short_layout};
use super::temporal::{postgres_date, postgres_time, postgres_timestamp};
use super::writer::{Cursor, view_bytes};
use crate::error::ValueFault;
use crate::limits::FIELD_BYTES_MAX;

/// Memory that rows are put together with, kept from batch to batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// Where long numbers are put together.
    number: Vec<u8>,
    /// The fields of a tile that were made before its rows.
    pub(super) slots: Vec<Slot>,
}

/// A column of a batch.
pub(super) struct Column<'a> {
    /// Which rows have a value; `None` where all have.
    validity: Option<&'a BooleanBuffer>,
    values: Values<'a>,
    row_count: usize,
}

/// Values by the way in which they are written. A slice has as many elements as the batch has
/// rows.
enum Values<'a> {
    Bool(&'a BooleanBuffer),
    Int2(&'a [i16]),
    Int4(&'a [i32]),
    Int8(&'a [i64]),
    Float4(&'a [f32]),
    Float8(&'a [f64]),
    Decimal(&'a [i128], Layout),
    /// The fields of a tile are made before its rows, in slots from this one on.
    DecimalInSlots(&'a [i128], Layout, usize),
    NumericText(Views<'a>),
    Text(Views<'a>),
    Jsonb(Views<'a>),
    Date(&'a [i32]),
    Time(&'a [i64]),
    Timestamp(&'a [i64]),
    Interval {
        months: &'a [i32],
        days: &'a [i32],
        microseconds: &'a [i64],
    },
    Uuid(&'a [[u8; 16]]),
}

/// Texts or bytes, anywhere in a few big buffers.
struct Views<'a> {
    views: &'a [u128],
    buffers: &'a [Buffer],
}

impl<'a> Column<'a> {
    /// The column of an array; `None` where its Arrow type does not fit. Where the kernel makes
    /// fields before their rows, `slot_count` grows by the slots that the column takes.
    pub(super) fn new(
        pg_type: PgType,
        array: &'a dyn Array,
        kernel: Kernel,
        slot_count: &mut usize,
    ) -> Option<Column<'a>> {
        if !pg_type.takes(array.data_type()) {
            return None;
        }
        let values = match pg_type {
            PgType::Bool => Values::Bool(array.as_boolean().values()),
            PgType::Int2 => Values::Int2(array.as_primitive::<Int16Type>().values()),
            PgType::Int4 => Values::Int4(array.as_primitive::<Int32Type>().values()),
            PgType::Int8 => Values::Int8(array.as_primitive::<Int64Type>().values()),
            PgType::Float4 => Values::Float4(array.as_primitive::<Float32Type>().values()),
            PgType::Float8 => Values::Float8(array.as_primitive::<Float64Type>().values()),
            PgType::Numeric => match array.data_type() {
                DataType::Decimal128(_, scale) => {
                    let values = array.as_primitive::<Decimal128Type>().values();
                    // `takes` lets scales from 0 to 38 through.
                    let layout = Layout::new(*scale as u8);
                    if kernel.fills_slots() {
                        let first_slot = *slot_count;
                        *slot_count += TILE_ROWS;
                        Values::DecimalInSlots(values, layout, first_slot)
                    } else {
                        Values::Decimal(values, layout)
                    }
                }
                _ => Values::NumericText(Views::new(array.as_string_view())),
            },
            PgType::Text => Values::Text(Views::new(array.as_string_view())),
            PgType::Bytea => Values::Text(Views::new(array.as_binary_view())),
            PgType::Jsonb => Values::Jsonb(Views::new(array.as_string_view())),
            PgType::Date => Values::Date(array.as_primitive::<Date32Type>().values()),
            PgType::Time => Values::Time(array.as_primitive::<Time64MicrosecondType>().values()),
            PgType::Timestamp => {
                Values::Timestamp(array.as_primitive::<TimestampMicrosecondType>().values())
            }
            PgType::Interval => {
                let fields = array.as_struct().columns();
                Values::Interval {
                    months: fields[0].as_primitive::<Int32Type>().values(),
                    days: fields[1].as_primitive::<Int32Type>().values(),
                    microseconds: fields[2].as_primitive::<Int64Type>().values(),
                }
            }
            PgType::Uuid => {
                let bytes = array.as_fixed_size_binary().value_data();
                Values::Uuid(bytes.as_chunks().0)
            }
        };
        let column = Column {
            validity: array
                .nulls()
                .filter(|nulls| nulls.null_count() > 0)
                .map(|nulls| nulls.inner()),
            values,
            row_count: array.len(),
        };
        // What `put` reads without asking again.
        assert!(column.values_count_min() >= column.row_count);
        assert!(
            column
                .validity
                .is_none_or(|bits| bits.len() >= column.row_count)
        );
        Some(column)
    }

    /// Whether any row is NULL.
    pub(super) fn has_nulls(&self) -> bool {
        self.validity.is_some()
    }

    /// How many values can be read.
    fn values_count_min(&self) -> usize {
        match &self.values {
            Values::Bool(bits) => bits.len(),
            Values::Int2(values) => values.len(),
            Values::Int4(values) | Values::Date(values) => values.len(),
            Values::Int8(values) | Values::Time(values) | Values::Timestamp(values) => values.len(),
            Values::Float4(values) => values.len(),
            Values::Float8(values) => values.len(),
            Values::Decimal(values, _) | Values::DecimalInSlots(values, ..) => values.len(),
            Values::NumericText(views) | Values::Text(views) | Values::Jsonb(views) => {
                views.views.len()
            }
            Values::Interval {
                months,
                days,
                microseconds,
            } => months.len().min(days.len()).min(microseconds.len()),
            Values::Uuid(values) => values.len(),
        }
    }

    /// What all rows take in the output, at most. `Err` names a row whose value no field can
    /// hold.
    pub(super) fn bytes_max(&self) -> Result<usize, (usize, ValueFault)> {
        let (field_bytes, text_bytes) = match &self.values {
            Values::Bool(_) => (5, 0),
            Values::Int2(_) => (6, 0),
            Values::Int4(_) | Values::Float4(_) | Values::Date(_) => (8, 0),
            Values::Int8(_) | Values::Float8(_) | Values::Time(_) | Values::Timestamp(_) => (12, 0),
            Values::Decimal(..) | Values::DecimalInSlots(..) => (DECIMAL_FIELD_BYTES_MAX, 0),
            // Each four decimal digits make two bytes, with one group begun on either side of
            // the point: half the text and 4 bytes. A short number goes the way of Decimal.
            Values::NumericText(views) => (DECIMAL_FIELD_BYTES_MAX, self.text_bytes(views)?),
            Values::Text(views) => (4, self.text_bytes(views)?),
            Values::Jsonb(views) => (5, self.text_bytes(views)?),
            Values::Interval { .. } | Values::Uuid(_) => (20, 0),
        };
        Ok(field_bytes * self.row_count + text_bytes)
    }

    /// The lengths of all texts that are not NULL.
    fn text_bytes(&self, views: &Views<'_>) -> Result<usize, (usize, ValueFault)> {
        let length = |row: usize| views.views[row] as u32;
        let valid = |row: usize| self.validity.is_none_or(|bits| bits.value(row));
        let (mut sum, mut longest) = (0usize, 0);
        if self.validity.is_none() {
            for view in &views.views[..self.row_count] {
                sum += *view as u32 as usize;
                longest = longest.max(*view as u32);
            }
        } else {
            for row in (0..self.row_count).filter(|&row| valid(row)) {
                sum += length(row) as usize;
                longest = longest.max(length(row));
            }
        }
        if longest > FIELD_BYTES_MAX {
            let row = (0..self.row_count)
                .find(|&row| valid(row) && length(row) > FIELD_BYTES_MAX)
                .expect("one of the rows is the longest");
            let field_bytes = u64::from(length(row));
            return Err((row, ValueFault::FieldTooLong { field_bytes }));
        }
        Ok(sum)
    }

    /// Makes the fields of a tile's rows, where the column has slots for them.
    ///
    /// # Safety
    ///
    /// The machine has the instructions of the kernel that the column was made with.
    #[inline(always)]
    pub(super) unsafe fn fill_slots(&self, rows: Range<usize>, slots: &mut [Slot]) {
        if let Values::DecimalInSlots(values, layout, first_slot) = &self.values {
            let slots = &mut slots[*first_slot..first_slot + rows.len()];
            #[cfg(target_arch = "x86_64")]
            // SAFETY: only the kernel that has them makes columns with slots.
            unsafe {
                avx512::fill(&values[rows], layout, slots)
            };
            #[cfg(not(target_arch = "x86_64"))]
            let _ = (values, layout, slots);
        }
    }

    /// Writes the value of a row, or NULL.
    ///
    /// # Safety
    ///
    /// As `put_value`.
    #[inline(always)]
    pub(super) unsafe fn put(
        &self,
        row: usize,
        scratch: &mut Scratch,
        cursor: Cursor,
    ) -> Result<Cursor, ValueFault> {
        // SAFETY: the caller's contract; the validity has as many bits as there are rows.
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
    /// `row` is below the row count and not NULL; where the cursor stands, as many bytes are
    /// reserved as [`Column::bytes_max`] counts for that row, and the slack. The slots hold the
    /// fields of the row's tile.
    #[inline(always)]
    pub(super) unsafe fn put_value(
        &self,
        row: usize,
        scratch: &mut Scratch,
        cursor: Cursor,
    ) -> Result<Cursor, ValueFault> {
        // SAFETY: the caller's contract; `new` has seen that all slices have enough elements.
        // Views are valid because their array is: that is an invariant of its type.
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
                Values::DecimalInSlots(values, layout, first_slot) => {
                    let slot = scratch.slots.get_unchecked(first_slot + row % TILE_ROWS);
                    if slot.field_bytes != 0 {
                        cursor.put_slot(slot)
                    } else {
                        cursor.put_wide_numeric(&wide_field(*values.get_unchecked(row), layout))
                    }
                }
                Values::NumericText(views) => put_numeric_text(
                    view_bytes(views.views.get_unchecked(row), views.buffers),
                    &mut scratch.number,
                    cursor,
                )?,
                Values::Text(views) => {
                    cursor.put_view(*views.views.get_unchecked(row), views.buffers)
                }
                Values::Jsonb(views) => {
                    cursor.put_jsonb(view_bytes(views.views.get_unchecked(row), views.buffers))
                }
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

impl<'a> Views<'a> {
    fn new<T: ByteViewType + ?Sized>(array: &'a GenericByteViewArray<T>) -> Views<'a> {
        Views {
            views: array.views(),
            buffers: array.data_buffers(),
        }
    }
}
