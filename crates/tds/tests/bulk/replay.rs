//! The stream that foreign clients read as the result of a SELECT, which has the same form as a bulk load ([MS-TDS]
//! 2.2.6.1). `tests/sqlserver/test_replay.py` compares the values that the clients read with the table; here the
//! committed stream must be what the encoder writes.

use arrow_array::ArrayRef;
use inrush_tds::RowMetadata;

use crate::batches::{batch, description, encoder, message};
use crate::captures::{array, captures, hex, json};
use crate::decoder;

/// The bytes of all columns and rows of the table.
fn stream() -> Vec<u8> {
    let table = json("table");
    let columns = table["columns"].as_array().expect("columns");
    let described: Vec<(Vec<u8>, bool)> = columns
        .iter()
        .map(|column| {
            let type_info = hex(column["type_info"].as_str().expect("hexadecimal"));
            (type_info, column["nullable"] == true)
        })
        .collect();
    let (target, _) = RowMetadata::parse(&description(&described)).expect("a description");
    let arrays: Vec<ArrayRef> = target
        .columns()
        .iter()
        .zip(columns)
        .map(|(described, column)| array(&described.type_info, column))
        .collect();
    let rows = arrays[0].len();
    let packets = message(&mut encoder(&target, 32_767), &[batch(arrays, rows)]);
    decoder::payload(&packets.expect("all values fit"), 32_767)
}

#[test]
fn the_stream_that_others_have_read_is_ours() {
    let ours: String = stream().iter().map(|byte| format!("{byte:02x}")).collect();
    let path = captures().join("replay/stream.hex");
    if std::env::var_os("INRUSH_BLESS").is_some() {
        std::fs::write(&path, format!("{ours}\n")).expect("a file of the checkout");
    }
    let committed = std::fs::read_to_string(&path).expect("the stream is committed");
    assert!(
        committed.trim_end() == ours,
        "the encoder writes other bytes than those in {}: write it again with INRUSH_BLESS=1, then let the clients read it \
         (make capture-tds)",
        path.display()
    );
}
