//! Tests decoding the rows of a result. The encoder's own bytes are decoded to its batch again, also if they come in
//! pieces of any size, or with a bitmap of NULLs. Values without a counterpart are reported, and wrong bytes never
//! cause a panic.

use arrow_array::{Array, ArrayRef};
use inrush_rows::typed_rows::Cells;
use inrush_tds::result::{DecodedRows, RowDecoder, data_type, row_bytes};
use inrush_tds::{RowMetadata, SqlType};
use proptest::prelude::*;

use crate::batches::{CP1252, UTF8, any_batch, description};
use crate::plain;

/// A value's text; `None` for NULL.
fn text(array: &ArrayRef, row: usize, is_uuid: bool) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let mut text = Vec::new();
    let cells = Cells::of(array, is_uuid).expect("a type with a text");
    cells.append(row, &mut text);
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn texts(columns: &[ArrayRef], target: &RowMetadata, rows: usize) -> Vec<Vec<Option<String>>> {
    let is_uuid =
        |index: usize| target.columns()[index].type_info.sql_type == SqlType::UniqueIdentifier;
    (0..rows)
        .map(|row| {
            let columns = columns.iter().enumerate();
            columns
                .map(|(index, array)| text(array, row, is_uuid(index)))
                .collect()
        })
        .collect()
}

/// Decodes bytes that come in pieces of this size.
fn decoded(target: &RowMetadata, bytes: &[u8], piece: usize) -> DecodedRows {
    let mut decoder = RowDecoder::new(target);
    let mut buffer = Vec::new();
    for bytes in bytes.chunks(piece) {
        buffer.extend_from_slice(bytes);
        let mut end = 0;
        while let Some(length) = row_bytes(target, &buffer[end..]).expect("rows") {
            end += length;
        }
        decoder.add(&buffer[..end]).expect("rows");
        buffer.drain(..end);
    }
    assert!(buffer.is_empty(), "all rows are whole");
    let rows = decoder.take();
    assert_eq!(decoder.row_count(), 0);
    rows
}

/// The same rows with a bitmap of NULLs: the bytes of a NULL are left out.
fn with_bitmaps(target: &RowMetadata, bytes: &[u8]) -> Vec<u8> {
    let columns = 0..target.columns().len();
    let alone: Vec<RowMetadata> = columns.map(|index| column_alone(target, index)).collect();
    let mut out = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = row_bytes(target, rest)
            .expect("a row")
            .expect("a whole one");
        let (row, behind) = rest.split_at(length);
        rest = behind;
        let mut bitmap = vec![0u8; target.columns().len().div_ceil(8)];
        let mut values = Vec::new();
        let mut at = 1;
        for (index, column) in target.columns().iter().enumerate() {
            // A row of this column alone.
            let one = [&[0xd1], &row[at..]].concat();
            let length = row_bytes(&alone[index], &one)
                .expect("a value")
                .expect("whole")
                - 1;
            let value = &row[at..at + length];
            at += length;
            let is_null = match column.type_info.is_fixed {
                true => false,
                false => value == [0] || value == [0xff; 2] || value == [0xff; 8],
            };
            match is_null {
                true => bitmap[index / 8] |= 1 << (index % 8),
                false => values.extend_from_slice(value),
            }
        }
        out.push(0xd2);
        out.extend(bitmap);
        out.extend(values);
    }
    out
}

fn column_alone(target: &RowMetadata, index: usize) -> RowMetadata {
    let types: Vec<(Vec<u8>, bool)> = vec![(type_info(target, index), true)];
    RowMetadata::parse(&description(&types))
        .expect("a description")
        .0
}

/// TYPE_INFO of a column, as a bulk load repeats it.
fn type_info(target: &RowMetadata, index: usize) -> Vec<u8> {
    let mut encoder = crate::batches::encoder(target, 32_767);
    let packets = crate::batches::message(&mut encoder, &[]).expect("no values");
    let payload = crate::decoder::payload(&packets, 32_767);
    let mut at = 3;
    for column in 0..=index {
        // The user type and the flags are before it; the length and the characters of the name are after it.
        let name = format!("c{column}");
        let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let named = [&[(name.len() / 2) as u8], &name[..]].concat();
        let start = at + 6;
        let length = payload[start..]
            .windows(named.len())
            .position(|bytes| bytes == named)
            .expect("the name");
        if column == index {
            return payload[start..start + length].to_vec();
        }
        at = start + length + named.len();
    }
    unreachable!("the column is there")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn rows_are_read_as_they_were_written(
        (target, batch) in any_batch(),
        piece in prop_oneof![1..40usize, 1..5_000usize],
    ) {
        let bytes = plain::encode(&target, &batch);
        let expected = texts(batch.columns(), &target, batch.num_rows());
        let found = decoded(&target, &bytes, piece);
        prop_assert_eq!(found.row_count, batch.num_rows());
        prop_assert_eq!(&found.flaws, &Vec::new());
        for (array, column) in found.columns.iter().zip(target.columns()) {
            prop_assert_eq!(array.data_type(), &data_type(&column.type_info.sql_type));
        }
        prop_assert_eq!(&texts(&found.columns, &target, found.row_count), &expected);
        let found = decoded(&target, &with_bitmaps(&target, &bytes), piece);
        prop_assert_eq!(&texts(&found.columns, &target, found.row_count), &expected);
    }

    /// Cut or changed bytes are an error, or other values: never a panic.
    #[test]
    fn wrong_bytes_are_an_error_at_worst(
        (target, batch) in any_batch(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = plain::encode(&target, &batch);
        if !bytes.is_empty() {
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let mut decoder = RowDecoder::new(&target);
            let _ = decoder.add(&bytes);
            let _ = RowDecoder::new(&target).add(&bytes[..at]);
            let _ = row_bytes(&target, &bytes[at..]);
        }
    }
}

fn one_column(type_info: &[u8]) -> RowMetadata {
    let (target, _) = RowMetadata::parse(&description(&[(type_info.to_vec(), true)])).expect("one");
    target
}

fn text_type(token: u8, collation: [u8; 5]) -> Vec<u8> {
    [&[token, 20, 0], &collation[..]].concat()
}

#[test]
fn values_without_a_counterpart_are_told() {
    // datetime2(7) of 0001-01-01 00:00:00.0000001; half of a surrogate pair; a byte that is not UTF-8; a byte that the
    // code page 1252 lacks.
    let cases: [(Vec<u8>, &[u8], &str, &str); 4] = [
        (
            vec![0x2a, 7],
            &[8, 1, 0, 0, 0, 0, 0, 0, 0],
            "finer",
            "00:00:00.0000001",
        ),
        (
            text_type(0xe7, CP1252),
            &[2, 0, 0x3d, 0xd8],
            "surrogate",
            "=\u{fffd}",
        ),
        (text_type(0xa7, UTF8), &[1, 0, 0xff], "UTF-8", "\u{fffd}"),
        (
            text_type(0xa7, [0x04, 0x04, 0xd0, 0x00, 0x00]),
            &[1, 0, 0x81],
            "code page",
            "\u{fffd}",
        ),
    ];
    for (type_info, value, reason, raw) in cases {
        let target = one_column(&type_info);
        let row = [&[0xd1], value].concat();
        let found = decoded(&target, &[row.clone(), row].concat(), 3);
        assert_eq!(found.row_count, 2);
        assert_eq!(found.columns[0].null_count(), 2, "{reason}");
        let rows: Vec<usize> = found.flaws.iter().map(|flaw| flaw.row).collect();
        assert_eq!(rows, [0, 1], "{reason}");
        let flaw = &found.flaws[1];
        assert!(flaw.reason.contains(reason), "{flaw:?}");
        assert_eq!(String::from_utf8_lossy(&flaw.raw), raw);
    }
}

#[test]
fn bytes_that_are_no_row_are_refused() {
    let int = one_column(&[0x26, 4]);
    let refused = |target: &RowMetadata, bytes: &[u8]| {
        let error = RowDecoder::new(target).add(bytes).expect_err("no row");
        error.to_string()
    };
    assert!(refused(&int, &[0xd3]).contains("0xd3"));
    assert!(refused(&int, &[0xd1, 4, 1]).contains("within a value"));
    assert!(refused(&int, &[0xd1, 3, 1, 2, 3]).contains("column 1: a value of int has 3 bytes"));
    // No such hour; no such day.
    assert!(refused(&one_column(&[0x29, 0]), &[0xd1, 3, 0xff, 0xff, 0xff]).contains("3 bytes"));
    assert!(refused(&one_column(&[0x28]), &[0xd1, 3, 0xff, 0xff, 0xff]).contains("date"));
    assert_eq!(row_bytes(&int, &[]), Ok(None));
    assert!(row_bytes(&int, &[0xfd]).is_err());
}
