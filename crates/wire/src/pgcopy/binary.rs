//! The encoder of `COPY ... (FORMAT binary)`.

use std::ops::Range;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{Field, Schema};

use super::PgType;
use super::column::{Column, Scratch};
use super::kernel::{Instructions, Kernel};
use super::numeric_slots::{Slot, TILE_ROWS};
use super::writer::{Cursor, SLACK_BYTES};
use crate::error::{EncodeError, ValueFault};
use crate::limits::COLUMNS_MAX;

/// "11-byte sequence PGCOPY\n\377\r\n\0": its odd bytes show transfers that changed line ends,
/// dropped zero bytes or cut the eighth bit.
const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// "32-bit integer bit mask to denote important aspects of the file format": none of them.
const FLAGS: i32 = 0;
/// "32-bit integer, length in bytes of remainder of header, not including self."
const EXTENSION_BYTES: i32 = 0;
/// "The file trailer consists of a 16-bit integer word containing -1."
const TRAILER: i16 = -1;

/// Encodes batches as `COPY ... (FORMAT binary)` takes them.
///
/// A stream is [`begin`](Self::begin) once, [`encode`](Self::encode) for each batch and
/// [`end`](Self::end) once; each appends to `out`.
#[derive(Clone, Debug)]
pub struct BinaryEncoder {
    types: Vec<PgType>,
    kernel: Kernel,
    scratch: Scratch,
}

impl BinaryEncoder {
    /// An encoder for columns of these types, in the order of the COPY statement.
    pub fn new(types: Vec<PgType>) -> Self {
        BinaryEncoder::with_kernel(types, Kernel::best())
    }

    /// For tests and measurements: with this kernel.
    #[doc(hidden)]
    pub fn with_kernel(types: Vec<PgType>, kernel: Kernel) -> Self {
        BinaryEncoder {
            types,
            kernel,
            scratch: Scratch::default(),
        }
    }

    /// Checks that batches of this schema can be encoded.
    pub fn check(&self, schema: &Schema) -> Result<(), EncodeError> {
        self.check_column_count(schema)?;
        for (&pg_type, field) in self.types.iter().zip(schema.fields()) {
            if !pg_type.takes(field.data_type()) {
                return Err(column_type_error(field, pg_type));
            }
        }
        Ok(())
    }

    /// Appends what a stream starts with.
    pub fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SIGNATURE);
        out.extend_from_slice(&FLAGS.to_be_bytes());
        out.extend_from_slice(&EXTENSION_BYTES.to_be_bytes());
    }

    /// Appends the rows of a batch. Where it fails, `out` is as before.
    pub fn encode(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let schema = batch.schema_ref();
        self.check_column_count(schema)?;
        let mut slot_count = 0;
        let columns = self
            .types
            .iter()
            .zip(schema.fields())
            .zip(batch.columns())
            .map(|((&pg_type, field), array)| {
                let array: &dyn Array = array;
                Column::new(pg_type, array, self.kernel, &mut slot_count)
                    .ok_or_else(|| column_type_error(field, pg_type))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let place = |column: usize, row: usize, fault: ValueFault| {
            fault.at(schema.field(column).name(), row)
        };

        // A field count for each row, and a row of the batch for each value of a column.
        let mut bytes_max = 2 * batch.num_rows() + SLACK_BYTES;
        for (index, column) in columns.iter().enumerate() {
            bytes_max += column
                .bytes_max()
                .map_err(|(row, fault)| place(index, row, fault))?;
        }
        out.reserve(bytes_max);
        let start = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
        let cursor = Cursor::new(start);
        let scratch = &mut self.scratch;
        scratch.slots.resize(slot_count, Slot::EMPTY);
        let row_count = batch.num_rows();
        // SAFETY: `bytes_max` bytes from `start` on are reserved: what all fields take at most,
        // and the slack. Every column has the batch's row count, as every batch has it so, and
        // the slots that it asked for. The kernel says what the machine has.
        let cursor = unsafe {
            match self.kernel.instructions() {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx512 => put_batch_avx512(&columns, row_count, scratch, cursor),
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2 => put_batch_avx2(&columns, row_count, scratch, cursor),
                Instructions::Portable => put_batch(&columns, row_count, scratch, cursor),
            }
        }
        .map_err(|(column, row, fault)| place(column, row, fault))?;

        let written_bytes = cursor.bytes_since(start);
        assert!(
            written_bytes + SLACK_BYTES <= bytes_max,
            "a column wrote more than its bytes_max: memory behind the output is damaged"
        );
        // SAFETY: so many bytes have been written, and they were reserved.
        unsafe { out.set_len(out.len() + written_bytes) };
        Ok(())
    }

    /// Appends what a stream ends with.
    pub fn end(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&TRAILER.to_be_bytes());
    }

    fn check_column_count(&self, schema: &Schema) -> Result<(), EncodeError> {
        let expected = self.types.len();
        let found = schema.fields().len();
        if expected != found {
            return Err(EncodeError::ColumnCount { expected, found });
        }
        if found > COLUMNS_MAX {
            return Err(EncodeError::TooManyColumns { found });
        }
        Ok(())
    }
}

/// The cursor behind all rows, or which column and row failed and why.
type Put = Result<Cursor, (usize, usize, ValueFault)>;

/// [`put_batch`] with AVX-512.
///
/// # Safety
///
/// As `put_batch`.
#[cfg(target_arch = "x86_64")]
#[target_feature(
    enable = "avx512f,avx512bw,avx512cd,avx512dq,avx512ifma,avx512vl,avx2,bmi1,bmi2,lzcnt,movbe,popcnt"
)]
unsafe fn put_batch_avx512(
    columns: &[Column<'_>],
    row_count: usize,
    scratch: &mut Scratch,
    cursor: Cursor,
) -> Put {
    // SAFETY: the caller's contract.
    unsafe { put_batch(columns, row_count, scratch, cursor) }
}

/// [`put_batch`] with AVX2 and what came with it.
///
/// # Safety
///
/// As `put_batch`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
unsafe fn put_batch_avx2(
    columns: &[Column<'_>],
    row_count: usize,
    scratch: &mut Scratch,
    cursor: Cursor,
) -> Put {
    // SAFETY: the caller's contract.
    unsafe { put_batch(columns, row_count, scratch, cursor) }
}

/// Writes all rows, a tile of them after the other.
///
/// # Safety
///
/// At the cursor, 2 bytes for each row are reserved, what all columns count as their
/// `bytes_max`, and the slack. Each column has `row_count` rows, and the slots that it asked
/// for; the machine has the instructions of its kernel.
#[inline(always)]
unsafe fn put_batch(
    columns: &[Column<'_>],
    row_count: usize,
    scratch: &mut Scratch,
    mut cursor: Cursor,
) -> Put {
    let has_nulls = columns.iter().any(Column::has_nulls);
    for tile_start in (0..row_count).step_by(TILE_ROWS) {
        let rows = tile_start..row_count.min(tile_start + TILE_ROWS);
        // SAFETY: the caller's contract; without NULLs anywhere no row is NULL.
        cursor = unsafe {
            for column in columns {
                column.fill_slots(rows.clone(), &mut scratch.slots);
            }
            if has_nulls {
                put_rows::<true>(columns, rows, scratch, cursor)
            } else {
                put_rows::<false>(columns, rows, scratch, cursor)
            }
        }?;
    }
    Ok(cursor)
}

/// Writes rows, each a field count and its fields. No closure writes a field: that would be
/// compiled for every machine, and called.
///
/// # Safety
///
/// As `put_batch` for these rows, whose slots are filled; where `NULLS` is not set, no row has
/// any.
#[inline(always)]
unsafe fn put_rows<const NULLS: bool>(
    columns: &[Column<'_>],
    rows: Range<usize>,
    scratch: &mut Scratch,
    mut cursor: Cursor,
) -> Put {
    for row in rows {
        // SAFETY: the caller's contract.
        cursor = unsafe { cursor.put_field_count(columns.len() as u16) };
        for (index, column) in columns.iter().enumerate() {
            // SAFETY: the caller's contract.
            let put = unsafe {
                if NULLS {
                    column.put(row, scratch, cursor)
                } else {
                    column.put_value(row, scratch, cursor)
                }
            };
            cursor = match put {
                Ok(cursor) => cursor,
                Err(fault) => return Err((index, row, fault)),
            };
        }
    }
    Ok(cursor)
}

#[cold]
fn column_type_error(field: &Field, pg_type: PgType) -> EncodeError {
    EncodeError::ColumnType {
        column: field.name().clone(),
        pg_type,
        expected: pg_type.arrow_types(),
        found: field.data_type().clone(),
    }
}
