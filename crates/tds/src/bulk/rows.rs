//! Writes the rows of a batch, one after the other, into memory that is reserved once.
//!
//! # Why it is sound
//!
//! Before the first row, [`append`] establishes the facts on which [`values`](super::values) and
//! [`writer`](super::writer) rely:
//!
//! - every column has as many values, and bits of validity, as the batch has rows; this is asserted;
//! - the most bytes that all rows can need are summed and reserved, and a slack after them. The sum is large enough
//!   because [`Column::bytes_max`] is. This cannot be asserted beforehand, so it is asserted after each tile: a mistake
//!   ends the process and is noticed;
//! - the headers that are inserted after a tile have separate memory ([`PacketBuffer::reserve`]), so the rest of the
//!   reserved memory is never smaller than the rest of the rows;
//! - code for instructions that not every machine has runs only if the instruction set has the proof that this machine
//!   has them ([`inrush_scan::cpu`]).
#![expect(
    unsafe_code,
    reason = "rows are written without bounds checks, into spare capacity"
)]

use std::ops::Range;

use super::column::Column;
use super::instruction_set::{InstructionSet, Instructions};
use super::writer::{Cursor, SLACK_BYTES};
use crate::packet::PacketBuffer;

/// How many rows are written before packets are cut: few enough to be in the first-level cache when bytes are moved.
const TILE_ROWS: usize = 64;

/// Appends the rows of these columns, cut into packets. The columns have been checked. `units` is memory for texts of
/// UTF-16.
pub(super) fn append(
    columns: &[Column<'_>],
    row_count: usize,
    instruction_set: InstructionSet,
    units: &mut Vec<u16>,
    packets: &mut PacketBuffer,
) {
    // A token for each row.
    let mut bytes_left = row_count + SLACK_BYTES;
    for column in columns {
        assert!(
            column.row_count() == row_count && column.readable_rows() >= row_count,
            "a column has a value for every row"
        );
        bytes_left += column.bytes_max();
    }
    packets.reserve(bytes_left);
    let has_nulls = columns.iter().any(Column::has_nulls);
    for tile_start in (0..row_count).step_by(TILE_ROWS) {
        let rows = tile_start..row_count.min(tile_start + TILE_ROWS);
        let out = packets.bytes_mut();
        let spare = out.spare_capacity_mut();
        assert!(
            spare.len() >= bytes_left,
            "the headers of packets took memory of rows"
        );
        let start = spare.as_mut_ptr().cast::<u8>();
        let cursor = Cursor::new(start);
        // SAFETY: `bytes_left` bytes from `start` on are reserved: the most that the rows from this tile on need, and
        // the slack. Every column has a value for each row. The proofs say which instructions the machine has.
        let cursor = unsafe {
            match instruction_set.instructions() {
                #[cfg(target_arch = "x86_64")]
                Instructions::Avx2(_) => put_tile_avx2(columns, rows, has_nulls, units, cursor),
                Instructions::Portable => put_tile(columns, rows, has_nulls, units, cursor),
            }
        };
        let written_bytes = cursor.bytes_since(start);
        assert!(
            written_bytes + SLACK_BYTES <= bytes_left,
            "a column wrote more than its bytes_max: memory behind the output is damaged"
        );
        bytes_left -= written_bytes;
        // SAFETY: this number of bytes has been written, and they were reserved.
        unsafe { out.set_len(out.len() + written_bytes) };
        packets.cut();
    }
}

/// [`put_tile`] with the instructions of x86-64-v3.
///
/// # Safety
///
/// The same as for `put_tile`.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,movbe,popcnt")]
unsafe fn put_tile_avx2(
    columns: &[Column<'_>],
    rows: Range<usize>,
    has_nulls: bool,
    units: &mut Vec<u16>,
    cursor: Cursor,
) -> Cursor {
    // SAFETY: the caller's contract.
    unsafe { put_tile(columns, rows, has_nulls, units, cursor) }
}

/// Writes the rows of a tile.
///
/// # Safety
///
/// These bytes are reserved at the cursor: one for each row from this tile on, the sum of all columns' `bytes_max` for
/// these rows, and the slack. Each column has a value for each of the rows. If `has_nulls` is not set, no row has a
/// NULL.
#[inline(always)]
unsafe fn put_tile(
    columns: &[Column<'_>],
    rows: Range<usize>,
    has_nulls: bool,
    units: &mut Vec<u16>,
    cursor: Cursor,
) -> Cursor {
    // SAFETY: the caller's contract.
    unsafe {
        if has_nulls {
            put_rows::<true>(columns, rows, units, cursor)
        } else {
            put_rows::<false>(columns, rows, units, cursor)
        }
    }
}

/// Writes rows, each a token and its values. A closure cannot write the values: it would be compiled without these
/// instructions, and not inlined.
///
/// # Safety
///
/// The same as for `put_tile`.
#[inline(always)]
unsafe fn put_rows<const NULLS: bool>(
    columns: &[Column<'_>],
    rows: Range<usize>,
    units: &mut Vec<u16>,
    mut cursor: Cursor,
) -> Cursor {
    for row in rows {
        // SAFETY: the caller's contract.
        cursor = unsafe { cursor.put_row_token() };
        for column in columns {
            // SAFETY: the caller's contract.
            cursor = unsafe {
                if NULLS {
                    column.put(row, units, cursor)
                } else {
                    column.put_value(row, units, cursor)
                }
            };
        }
    }
    cursor
}
