//! The memory of the process while large tables are read. It is the only test of this file, because no other may run in
//! the process.

mod case;

use case::server::{installations, open_folder, temporary};
use case::{Database, Form, TableCase};
use inrush_embedded::EmbeddedServer;
use inrush_source_conformance::{Case, hold_memory};

/// The number of rows of the smaller table. The buffers do not hold all of them.
const ROWS: usize = 40_000;
/// The most additional memory for the larger table: much less than its rows need.
const MARGIN_BYTES: u64 = 3 << 20;

#[test]
fn memory_does_not_grow_with_rows() {
    let installations = installations();
    let Some(binaries) = installations.first() else {
        return;
    };
    let parent = open_folder();
    let server = EmbeddedServer::start(temporary(binaries, parent.path())).expect("a server");
    let database = Database::new(&server, binaries);
    for form in [Form::Table, Form::Query] {
        let make = |rows| -> Box<dyn Case> { Box::new(TableCase::new(&database, form, rows)) };
        hold_memory(&format!("{form:?}"), &make, ROWS, MARGIN_BYTES);
    }
}
