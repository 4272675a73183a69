//! The columns of a batch as plain slices, and the most bytes that a value of each needs in the output.
//! [`values`](super::values) writes values, and relies on these facts.

use std::ops::Range;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use inrush_scan::cpu::Avx512Ifma;

use super::avx512;
use super::instruction_set::InstructionSet;
use super::numeric::{DECIMAL_FIELD_BYTES_MAX, Layout};
use super::numeric_slots::{Slot, TILE_ROWS};
use super::views::Views;
use crate::error::ValueFault;
use crate::limits::FIELD_BYTES_MAX;
use crate::pg_type::PgType;

/// Working memory for rows, kept from batch to batch.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// Buffer in which long numbers are put together.
    pub(super) number: Vec<u8>,
    /// The fields of a tile that were made before its rows.
    pub(super) slots: Vec<Slot>,
}

/// A column of a batch.
pub(super) struct Column<'a> {
    /// The rows that have a value; `None` if all have one.
    pub(super) validity: Option<&'a BooleanBuffer>,
    pub(super) values: Values<'a>,
    row_count: usize,
}

/// Values by the way in which they are written. A slice has as many elements as the batch has
/// rows.
pub(super) enum Values<'a> {
    Bool(&'a BooleanBuffer),
    Int2(&'a [i16]),
    Int4(&'a [i32]),
    Int8(&'a [i64]),
    Float4(&'a [f32]),
    Float8(&'a [f64]),
    Decimal(&'a [i128], Layout),
    /// The first slot of the column, if the fields of a tile are made before its rows.
    DecimalInSlots(&'a [i128], Layout, usize, Avx512Ifma),
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
    Char(Views<'a>),
    Money(&'a [i128]),
    TimeTz(&'a [[u8; 12]]),
}

impl<'a> Column<'a> {
    /// The column of an array; `None` if its Arrow type does not fit. If the instruction set makes fields before their
    /// rows, `slot_count` grows by the slots that the column needs.
    pub(super) fn new(
        pg_type: PgType,
        array: &'a dyn Array,
        instruction_set: InstructionSet,
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
                    // `takes` accepts only scales from 0 to 38.
                    let layout = Layout::new(*scale as u8);
                    match instruction_set.avx512() {
                        Some(proof) => {
                            let first_slot = *slot_count;
                            *slot_count += TILE_ROWS;
                            Values::DecimalInSlots(values, layout, first_slot, proof)
                        }
                        None => Values::Decimal(values, layout),
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
            PgType::Char => Values::Char(Views::new(array.as_string_view())),
            PgType::Money => Values::Money(array.as_primitive::<Decimal128Type>().values()),
            PgType::TimeTz => {
                let bytes = array.as_fixed_size_binary().value_data();
                Values::TimeTz(bytes.as_chunks().0)
            }
        };
        Some(Column {
            validity: array
                .nulls()
                .filter(|nulls| nulls.null_count() > 0)
                .map(|nulls| nulls.inner()),
            values,
            row_count: array.len(),
        })
    }

    /// The number of rows of the array.
    pub(super) fn row_count(&self) -> usize {
        self.row_count
    }

    /// True if any row is NULL.
    pub(super) fn has_nulls(&self) -> bool {
        self.validity.is_some()
    }

    /// The number of rows whose value and validity can be read: at least the number of rows of the array.
    pub(super) fn readable_rows(&self) -> usize {
        let value_count = match &self.values {
            Values::Bool(bits) => bits.len(),
            Values::Int2(values) => values.len(),
            Values::Int4(values) | Values::Date(values) => values.len(),
            Values::Int8(values) | Values::Time(values) | Values::Timestamp(values) => values.len(),
            Values::Float4(values) => values.len(),
            Values::Float8(values) => values.len(),
            Values::Decimal(values, _) | Values::DecimalInSlots(values, ..) => values.len(),
            Values::NumericText(views)
            | Values::Text(views)
            | Values::Jsonb(views)
            | Values::Char(views) => views.len(),
            Values::Money(values) => values.len(),
            Values::TimeTz(values) => values.len(),
            Values::Interval {
                months,
                days,
                microseconds,
            } => months.len().min(days.len()).min(microseconds.len()),
            Values::Uuid(values) => values.len(),
        };
        self.validity
            .map_or(value_count, |bits| bits.len().min(value_count))
    }

    /// The slots that are needed for this column and those before it.
    pub(super) fn slots_end(&self) -> usize {
        match &self.values {
            Values::DecimalInSlots(_, _, first_slot, _) => first_slot + TILE_ROWS,
            _ => 0,
        }
    }

    /// The most bytes that all rows need in the output. `Err` has a row whose value is too long for any field.
    pub(super) fn bytes_max(&self) -> Result<usize, (usize, ValueFault)> {
        let (field_bytes, text_bytes) = match &self.values {
            Values::Bool(_) | Values::Char(_) => (5, 0),
            Values::Int2(_) => (6, 0),
            Values::Int4(_) | Values::Float4(_) | Values::Date(_) => (8, 0),
            Values::Int8(_)
            | Values::Float8(_)
            | Values::Time(_)
            | Values::Timestamp(_)
            | Values::Money(_) => (12, 0),
            Values::TimeTz(_) => (16, 0),
            Values::Decimal(..) | Values::DecimalInSlots(..) => (DECIMAL_FIELD_BYTES_MAX, 0),
            // Every four decimal digits need two bytes, and each side of the point may have one incomplete group: half
            // the text and 4 bytes. A short number is written like a Decimal.
            Values::NumericText(views) => (DECIMAL_FIELD_BYTES_MAX, self.text_bytes(views)?),
            Values::Text(views) => (4, self.text_bytes(views)?),
            Values::Jsonb(views) => (5, self.text_bytes(views)?),
            Values::Interval { .. } | Values::Uuid(_) => (20, 0),
        };
        Ok(field_bytes * self.row_count + text_bytes)
    }

    /// The lengths of all texts that are not NULL.
    fn text_bytes(&self, views: &Views<'_>) -> Result<usize, (usize, ValueFault)> {
        let length = |row: usize| views.length(row);
        let valid = |row: usize| self.validity.is_none_or(|bits| bits.value(row));
        let (mut sum, mut longest) = (0usize, 0);
        if self.validity.is_none() {
            for length in views.lengths(self.row_count) {
                sum += length as usize;
                longest = longest.max(length);
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

    /// Makes the fields of a tile's rows, if the column has slots for them.
    #[inline(always)]
    pub(super) fn fill_slots(&self, rows: Range<usize>, slots: &mut [Slot]) {
        if let Values::DecimalInSlots(values, layout, first_slot, proof) = &self.values {
            let slots = &mut slots[*first_slot..first_slot + rows.len()];
            avx512::fill(*proof, &values[rows], layout, slots);
        }
    }
}
