//! The memory of the process while large tables are read. It is the only test of this file, because no other may run in
//! the process. DuckDB is left out: it keeps what it has read of its file, up to its own limit.

mod case;

use case::{Form, Kind, TableCase, site_packages};
use inrush_source_conformance::{Case, hold_memory};

/// The number of rows of the smaller table: more than the buffers hold.
const ROWS: usize = 40_000;
/// Much less than the size of the rows of the larger table.
const MARGIN_BYTES: u64 = 3 << 20;

#[test]
fn memory_does_not_grow_with_rows() {
    if site_packages().is_none() {
        return;
    }
    for form in [Form::Table, Form::Query] {
        let make = |rows| -> Box<dyn Case> { Box::new(TableCase::new(Kind::Sqlite, form, rows)) };
        hold_memory(&format!("{form:?}"), &make, ROWS, MARGIN_BYTES);
    }
}
