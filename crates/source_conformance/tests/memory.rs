//! Tests that the suite finds a source whose memory grows with its rows, and accepts one whose memory does not. It is
//! the only test of this file, because no other may run in the process.

mod json_folder;

use inrush_source_conformance::{Case, hold_memory, memory_breach};

use json_folder::{Flaw, JsonCase};

const ROWS: usize = 20_000;
/// Much less than the size of the larger file.
const MARGIN_BYTES: u64 = 4 << 20;

#[test]
fn memory_that_grows_is_found() {
    let make = |flaw| move |rows| -> Box<dyn Case> { Box::new(JsonCase::new(rows, flaw)) };
    hold_memory("JSON files", &make(Flaw::None), ROWS, MARGIN_BYTES);
    let found = memory_breach(&make(Flaw::ReadsAllAtOnce), ROWS, MARGIN_BYTES);
    let found = found.expect("memory is measured");
    assert_eq!(found.expect("it grows").clause, "S-17");
}
