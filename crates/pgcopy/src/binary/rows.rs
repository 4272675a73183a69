//! Writes the rows of a batch, one after the other, into memory that is reserved once.
//!
//! # Why it is sound
//!
//! Before the first row, [`append`] establishes the facts on which [`values`](super::values) and
//! [`writer`](super::writer) rely:
//!
//! - every column has as many values, and bits of validity, as the batch has rows; this is asserted;
//! - the most bytes that all rows can need are summed and reserved, and a slack after them. That the sum is large
//!   enough follows from [`Column::bytes_max`] and cannot be asserted beforehand. It is asserted afterwards, so that a
//!   mistake ends the process instead of staying unnoticed;
//! - the slots that a column needs exist, and those of a tile are filled before its rows are written;
//! - code for instructions that not every machine has runs only if the instruction set has the proof that this machine
//!   has them ([`inrush_scan::cpu`]).
#![expect(
    unsafe_code,
    reason = "rows are written without bounds checks, into spare capacity"
)]

use std::ops::Range;

use super::column::{Column, Scratch};
use super::instruction_set::{InstructionSet, Instructions};
use super::numeric_slots::{Slot, TILE_ROWS};
use super::writer::{Cursor, SLACK_BYTES};
use crate::error::ValueFault;

/// The column, the row and the fault.
pub(super) type RowFault = (usize, usize, ValueFault);

/// Appends the rows of these columns. If it fails, `out` is unchanged.
pub(super) fn append(
    columns: &[Column<'_>],
    row_count: usize,
    instruction_set: InstructionSet,
    scratch: &mut Scratch,
    out: &mut Vec<u8>,
) -> Result<(), RowFault> {
    // Each row has a field count, and each column has one value for each row of the batch.
    let mut bytes_max = 2 * row_count + SLACK_BYTES;
    let mut slot_count = 0;
    for (index, column) in columns.iter().enumerate() {
        assert!(
            column.row_count() == row_count && column.readable_rows() >= row_count,
            "a column has a value for every row"
        );
        slot_count = slot_count.max(column.slots_end());
        bytes_max += column
            .bytes_max()
            .map_err(|(row, fault)| (index, row, fault))?;
    }
    scratch.slots.resize(slot_count, Slot::EMPTY);
    out.reserve(bytes_max);
    let start = out.spare_capacity_mut().as_mut_ptr().cast::<u8>();
    let cursor = Cursor::new(start);
    // SAFETY: `bytes_max` bytes from `start` on are reserved: the most that all fields take, and the slack. Every
    // column has a value for each row, and the slots that it asked for. The proofs say which instructions the machine
    // has.
    let cursor = unsafe {
        match instruction_set.instructions() {
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx512(_) => put_batch_avx512(columns, row_count, scratch, cursor),
            #[cfg(target_arch = "x86_64")]
            Instructions::Avx2(_) => put_batch_avx2(columns, row_count, scratch, cursor),
            Instructions::Portable => put_batch(columns, row_count, scratch, cursor),
        }
    }?;
    let written_bytes = cursor.bytes_since(start);
    assert!(
        written_bytes + SLACK_BYTES <= bytes_max,
        "a column wrote more than its bytes_max: memory behind the output is damaged"
    );
    // SAFETY: this number of bytes has been written, and they were reserved.
    unsafe { out.set_len(out.len() + written_bytes) };
    Ok(())
}

/// The cursor after all rows.
type Put = Result<Cursor, RowFault>;

/// [`put_batch`] with AVX-512.
///
/// # Safety
///
/// The conditions of `put_batch` hold.
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

/// [`put_batch`] with the instructions of x86-64-v3.
///
/// # Safety
///
/// The conditions of `put_batch` hold.
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

/// Writes all rows, one tile after the other.
///
/// # Safety
///
/// At the cursor, 2 bytes for each row, the sum of all columns' `bytes_max`, and the slack are reserved. Each column
/// has a value for each of `row_count` rows, and the slots that it asked for.
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
        for column in columns {
            column.fill_slots(rows.clone(), &mut scratch.slots);
        }
        // SAFETY: the caller's contract; without NULLs anywhere no row is NULL.
        cursor = unsafe {
            if has_nulls {
                put_rows::<true>(columns, rows, scratch, cursor)
            } else {
                put_rows::<false>(columns, rows, scratch, cursor)
            }
        }?;
    }
    Ok(cursor)
}

/// Writes rows, each a field count and its fields. A closure cannot write the fields: it would be compiled without
/// these instructions, and not inlined.
///
/// # Safety
///
/// The conditions of `put_batch` hold for these rows, and their slots are filled. If `NULLS` is not set, no row has a
/// NULL.
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
