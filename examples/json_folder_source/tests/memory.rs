//! The memory of the process while large files are read. This is the only test of its program, because no other test
//! may run in the process.

mod case;

use case::{FolderCase, Form};
use inrush_source_conformance::{Case, hold_memory};

/// Rows of the smaller file: more than the buffers hold.
const ROWS: usize = 40_000;
/// Much less than the rows of the larger file.
const MARGIN_BYTES: u64 = 3 << 20;

#[test]
fn memory_does_not_grow_with_rows() {
    for form in [Form::Array, Form::Lines] {
        let make = |rows| -> Box<dyn Case> { Box::new(FolderCase::new(form, rows)) };
        hold_memory(&format!("{form:?}"), &make, ROWS, MARGIN_BYTES);
    }
}
