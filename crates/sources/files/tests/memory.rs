//! Tests the memory of the process while large files are read. It is the only test of this file, because no other may
//! run in the process.

mod cases;

use cases::{FileCase, Kind};
use inrush_source_conformance::{Case, hold_memory};

/// The number of rows of the smaller file: more than the buffers can hold.
const ROWS: usize = 40_000;
/// Much less than the size of the larger file.
const MARGIN_BYTES: u64 = 3 << 20;

#[test]
fn memory_does_not_grow_with_rows() {
    for kind in [Kind::Tbl, Kind::Gzip, Kind::Parquet] {
        let make = |rows| -> Box<dyn Case> { Box::new(FileCase::new(kind, rows)) };
        hold_memory(kind.name(), &make, ROWS, MARGIN_BYTES);
    }
}
