//! Tests of skipped lines at the beginning of a file: the text after them is read like a separate file, except for its
//! places.

use std::io::Write;

use inrush_rows::cancel::Stop;
use inrush_scan::{ShortText, Terminator};
use proptest::prelude::*;
use tempfile::tempdir;

use super::super::{SplitCheckSettings, check_split};
use super::*;

fn skipping(skip_lines: u32, dialect: Dialect) -> Dialect {
    Dialect {
        skip_lines,
        ..dialect
    }
}

fn titled(folder: &Path, text: &str, dialect: &Dialect) -> Read {
    let file = write(folder, "a.csv", text);
    read(&file, dialect, 1 << 16).expect("readable")
}

#[test]
fn nothing_in_them_means_anything() {
    let folder = tempdir().expect("a folder");
    let text = "\u{feff}a \"report\n\n# \"x\",y\r\nid,n\n1,a\n\n2,b\n";
    let found = titled(folder.path(), text, &skipping(3, Dialect::csv()));
    assert_eq!(found.header, Some(vec!["id".to_owned(), "n".to_owned()]));
    assert_eq!(rows(&found), ["1·a", "2·b"]);
    assert_eq!(
        (found.records[0].line, found.records[0].byte_offset),
        (5, 28)
    );
    assert_eq!(
        (found.records[1].line, found.records[1].byte_offset),
        (7, 33)
    );
    // Three lines and a blank line.
    assert_eq!(found.skipped_line_count, 4);
}

#[test]
fn files_that_end_within_them_have_no_rows() {
    let folder = tempdir().expect("a folder");
    for (text, skipped) in [("", 0), ("a", 1), ("a\n", 1), ("a\n\n", 2), ("a\nb\nc", 3)] {
        for dialect in [Dialect::csv(), Dialect::tsv()] {
            let found = titled(folder.path(), text, &skipping(3, dialect));
            assert_eq!(found.header, None);
            assert_eq!(rows(&found), Vec::<String>::new());
            assert_eq!(found.skipped_line_count, skipped, "{text:?}");
        }
    }
}

#[test]
fn lines_end_as_the_dialect_says() {
    let folder = tempdir().expect("a folder");
    let ended = |terminator| {
        skipping(
            1,
            Dialect {
                header: false,
                terminator,
                ..Dialect::csv()
            },
        )
    };
    let text = ShortText::new(b"@@").expect("it is short");
    for (text, dialect, place) in [
        ("x\ny\r\n1,2\r\n", ended(Terminator::CrLf), (3, 5)),
        ("x\ny\r1,2\r", ended(Terminator::Cr), (2, 4)),
        ("x\r\n1,2\n", ended(Terminator::Any), (2, 3)),
        ("x\ny@@1,2@@", ended(Terminator::Text(text)), (2, 5)),
    ] {
        let found = titled(folder.path(), text, &dialect);
        assert_eq!(rows(&found), ["1·2"], "{text:?}");
        let first = &found.records[0];
        assert_eq!((first.line, first.byte_offset), place, "{text:?}");
        assert_eq!(found.skipped_line_count, 1);
    }
}

#[test]
fn a_line_may_be_longer_than_a_record() {
    let folder = tempdir().expect("a folder");
    let dialect = Dialect {
        record_bytes_max: 1 << 10,
        ..skipping(1, Dialect::tsv())
    };
    let text = format!("{}\n1\t2\n", "é\"".repeat(100_000));
    let found = titled(folder.path(), &text, &dialect);
    assert_eq!(rows(&found), ["1·2"]);
    assert_eq!(found.records[0].line, 2);
}

#[test]
fn translated_text_keeps_its_places() {
    let folder = tempdir().expect("a folder");
    let text = "Übersicht\r\nid,n\r\n1,ä\r\n";
    let bytes: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
        .collect();
    let file = write(folder.path(), "a.csv", bytes);
    let found = read(&file, &skipping(1, Dialect::csv()), 5).expect("readable");
    assert_eq!(rows(&found), ["1·\\xc3\\xa4"]);
    let first = &found.records[0];
    assert_eq!((first.line, first.byte_offset), (3, 2 + 2 * 17));
}

proptest! {
    /// The rows are the rows of the file without the lines, however the file is cut, and whether it is read in ranges,
    /// fed or by one reader.
    #[test]
    fn what_follows_is_a_file_of_its_own(
        title in "[a\"#\\\\,\n]{0,40}",
        rows_text in "([ab]{0,3}|\"[ab\n]{0,3}\")(,[ab]{0,3}\n[ab]{1,3}){1,12}\n?",
        mark in any::<bool>(),
        kind in 0_usize..4,
        chunk_bytes in 1_usize..40,
        range_bytes in 1_u64..60,
    ) {
        let dialect = match kind {
            0 => Dialect::csv(),
            1 => Dialect { header: false, ..Dialect::csv() },
            2 => Dialect { quote: None, escape: inrush_scan::Escape::None, ..Dialect::csv() },
            _ => Dialect {
                quote: None,
                escape: inrush_scan::Escape::Byte(b'\\'),
                header: false,
                ..Dialect::csv()
            },
        };
        let mark = if mark { "\u{feff}" } else { "" };
        let lines = title.matches('\n').count() as u32 + 1;
        let text = format!("{mark}{title}\n{rows_text}");
        let folder = tempdir().expect("a folder");
        let file = write(folder.path(), "a.csv", &text);
        let alone = write(folder.path(), "alone.csv", &rows_text);
        let before = (text.len() - rows_text.len()) as u64;
        let mut expected = read(&alone, &dialect, 1 << 16);
        if let Ok(expected) = &mut expected {
            expected.skipped_line_count += u64::from(lines);
            for record in &mut expected.records {
                record.line += u64::from(lines);
                record.byte_offset += before;
                if let Some((_, at)) = &mut record.fault {
                    *at += before;
                }
            }
        }
        let dialect = skipping(lines, dialect);
        let found = read(&file, &dialect, chunk_bytes);
        prop_assert_eq!(found.is_ok(), expected.is_ok());
        let (Ok(found), Ok(expected)) = (found, expected) else { return Ok(()) };
        prop_assert_eq!(&found, &expected);
        let settings = SplitCheckSettings { range_bytes, threads: 2 };
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).expect("memory");
        let packed = write(folder.path(), "a.csv.gz", encoder.finish().expect("memory"));
        for file in [file, packed] {
            let check = check_split(&file, &dialect, settings, &Stop::default())
                .expect("readable")
                .expect("nobody stops it");
            prop_assert_eq!(check.difference, None);
            prop_assert_eq!(check.record_count, expected.records.len() as u64);
            prop_assert_eq!(check.skipped_count, expected.skipped_line_count);
        }
    }
}
