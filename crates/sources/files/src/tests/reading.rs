//! Tests of plain files: every chunk size gives the same rows, places are exact, unusual beginnings are recognized.

use inrush_scan::Escape;
use proptest::prelude::*;
use tempfile::tempdir;

use super::*;

const MIXED: &[u8] = b"\xef\xbb\xbf\n\r\nid,\"na\nme\"\r\n1,a\r\n\n2,\"b\nc\"\n3,\xff\n\
    4,d\"e\n5,\"\"\"\"\n\xc3\xa9,x\n\n\n6,last";

#[test]
fn every_chunk_size_finds_the_same() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "mixed.csv", MIXED);
    let whole = read(&file, &Dialect::csv(), 1 << 20).expect("readable");
    assert_eq!(
        whole.header,
        Some(vec!["id".to_owned(), "na\nme".to_owned()])
    );
    assert_eq!(
        rows(&whole),
        [
            "1·a",
            "2·\\\"b\\nc\\\"",
            "3·\\xff",
            "4·d\\\"e",
            "5·\\\"\\\"\\\"\\\"",
            "\\xc3\\xa9·x",
            "6·last"
        ]
    );
    let places: Vec<_> = whole
        .records
        .iter()
        .map(|r| (r.line, r.byte_offset))
        .collect();
    assert_eq!(
        places,
        [
            (5, 18),
            (7, 24),
            (9, 32),
            (10, 36),
            (11, 42),
            (12, 49),
            (15, 56)
        ]
    );
    for record in &whole.records {
        let start = record.byte_offset as usize;
        assert!(MIXED[start..].starts_with(&record.fields[0]));
        let lines = MIXED[..start].iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(record.line, lines as u64 + 1);
    }
    let is_utf8: Vec<_> = whole.records.iter().map(|r| r.is_utf8).collect();
    assert_eq!(is_utf8, [true, true, false, true, true, true, true]);
    assert_eq!(whole.records[3].fault, Some((FaultKind::StrayQuote, 39)));
    assert_eq!(whole.skipped_line_count, 5);
    for chunk_bytes in 1..=MIXED.len() + 2 {
        let split = read(&file, &Dialect::csv(), chunk_bytes).expect("readable");
        assert_eq!(split, whole, "chunks of {chunk_bytes} bytes");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_chunk_size_finds_the_same_in_any_text(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "|", ",", "\n", "\r\n", "\"", "\"\"", "\\", "é", "\u{feff}", "long text, of words\n",
        ]), 0..40),
        which in 0usize..4,
        header in any::<bool>(),
        chunk_bytes in 1usize..40,
    ) {
        let backslashes = Dialect { escape: Escape::Byte(b'\\'), ..Dialect::csv() };
        let dialects = [Dialect::tbl(), Dialect::csv(), Dialect::tsv(), backslashes];
        let dialect = Dialect { header, ..dialects[which].clone() };
        let folder = tempdir().expect("a folder");
        let file = write(folder.path(), "file", pieces.concat());
        match (read(&file, &dialect, 1 << 20), read(&file, &dialect, chunk_bytes)) {
            (Ok(whole), Ok(split)) => prop_assert_eq!(whole, split),
            (whole, split) => prop_assert_eq!(
                whole.map_err(|error| error.to_string()),
                split.map_err(|error| error.to_string())
            ),
        }
    }
}

#[test]
fn a_chunk_is_about_as_large_as_asked() {
    let folder = tempdir().expect("a folder");
    let text = "0123456789\n".repeat(10_000);
    let file = write(folder.path(), "file.csv", &text);
    let dialect = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let (found, meter) = read_metered(&file, &dialect, 4096).expect("readable");
    assert_eq!(found.records.len(), 10_000);
    assert_eq!(
        meter.chunk_count,
        text.len().div_ceil(4096 / 11 * 11) as u64
    );
    assert_eq!(meter.text_bytes, text.len() as u64);
    assert_eq!(meter.decompress_ns, 0);
    assert!(meter.scan_ns > 0 && meter.read_ns > 0);
}

#[test]
fn empty_files_have_no_rows() {
    let folder = tempdir().expect("a folder");
    for (name, text) in [("empty", ""), ("mark", "\u{feff}"), ("blank", "\n\r\n\n")] {
        let file = write(folder.path(), name, text);
        for dialect in [Dialect::tbl(), Dialect::csv()] {
            let found = read(&file, &dialect, 2).expect("readable");
            assert_eq!(found.header, None);
            assert_eq!(found.records, []);
            assert_eq!(found.skipped_line_count, text.matches('\n').count() as u64);
        }
    }
}

#[test]
fn a_header_may_stand_alone() {
    let folder = tempdir().expect("a folder");
    for text in ["a,\"b\",", "a,\"b\",\n", "\na,\"b\",\r\n\n"] {
        let file = write(folder.path(), "file.csv", text);
        let found = read(&file, &Dialect::csv(), 1).expect("readable");
        let names = ["a", "b", ""].map(str::to_owned);
        assert_eq!(found.header.as_deref(), Some(names.as_slice()));
        assert_eq!(found.records, []);
    }
}

#[test]
fn a_header_needs_no_trailing_delimiter() {
    let folder = tempdir().expect("a folder");
    let dialect = Dialect {
        header: true,
        ..Dialect::tbl()
    };
    for text in ["a|b|\n1|2|\n", "a|b\n1|2|\n"] {
        let file = write(folder.path(), "file.tbl", text);
        let found = read(&file, &dialect, 1).expect("readable");
        assert_eq!(found.header, Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(rows(&found), ["1·2"]);
        assert_eq!(found.records[0].fault, None);
    }
}

#[test]
fn a_great_run_of_blank_lines_needs_no_great_buffer() {
    let folder = tempdir().expect("a folder");
    let text = [
        "\n".repeat(100_000),
        "a,b\n".to_owned(),
        "\n".repeat(100_000),
        "1,2".to_owned(),
    ];
    let file = write(folder.path(), "file.csv", text.concat());
    let found = read(&file, &Dialect::csv(), 1000).expect("readable");
    assert_eq!(found.skipped_line_count, 200_000);
    assert_eq!(
        (found.records[0].line, found.records[0].byte_offset),
        (200_002, 200_004)
    );
}

#[test]
fn long_records_make_the_buffer_grow_up_to_the_limit() {
    let folder = tempdir().expect("a folder");
    let dialect = Dialect {
        record_bytes_max: 5000,
        header: false,
        ..Dialect::csv()
    };
    let text = |bytes: usize| format!("a\n{}\nb\n", "x".repeat(bytes));
    for chunk_bytes in [1, 7, 100, 5001, 6000] {
        let file = write(folder.path(), "fits", text(5000));
        let found = read(&file, &dialect, chunk_bytes).expect("fits");
        assert_eq!(found.records.len(), 3);
        let file = write(folder.path(), "long", text(5001));
        let error = read(&file, &dialect, chunk_bytes).expect_err("too long");
        assert_eq!(
            message(error, folder.path()),
            "FOLDER/long:2 (byte 2): a record is longer than record_bytes_max (5000 bytes); likely \
             the file's records have another terminator than the format (old Macs wrote lone \
             carriage returns: terminator = \"cr\"), or the file is not text; if records are this \
             long, raise record_bytes_max"
        );
    }
    let file = write(
        folder.path(),
        "unclosed",
        format!("a\n\"b\n{}", "c,d\n".repeat(10_000)),
    );
    let error = read(&file, &dialect, 100).expect_err("too long");
    let text = message(error, folder.path());
    assert!(
        text.starts_with("FOLDER/unclosed:2 (byte 2): a record is longer"),
        "{text}"
    );
    assert!(
        text.contains("a quote in it is likely not closed"),
        "{text}"
    );
}

#[test]
fn a_header_has_the_limit_too() {
    let folder = tempdir().expect("a folder");
    let dialect = Dialect {
        record_bytes_max: 2000,
        ..Dialect::csv()
    };
    let file = write(
        folder.path(),
        "file.csv",
        format!("\n\"a\n{}", "b,c\n".repeat(1000)),
    );
    let error = read(&file, &dialect, 100).expect_err("too long");
    assert!(message(error, folder.path()).starts_with("FOLDER/file.csv:2 (byte 1): a record"));
}

#[test]
fn a_long_record_does_not_keep_its_memory() {
    let folder = tempdir().expect("a folder");
    let text = format!("a\n{}\n{}", "x".repeat(1 << 20), "b\n".repeat(600_000));
    let file = write(folder.path(), "file", text);
    let dialect = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let split = Split::whole(file);
    let mut reader =
        TextReader::open(split, &dialect, 1000, BufferPool::default()).expect("readable");
    let mut records = Records::default();
    let mut last_bytes = 0;
    while let Some(chunk) = reader.next_chunk(&mut records).expect("readable") {
        last_bytes = chunk.text.clone().into_memory().len();
        reader.recycle(chunk);
    }
    assert_eq!(last_bytes, 1000 + PADDING_BYTES);
    assert!(reader.close().spare_bytes() <= 4 * last_bytes);
}

#[test]
fn a_held_chunk_keeps_its_bytes() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file", "aaaa\nbbbb\ncccc\n");
    let dialect = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let mut reader =
        TextReader::open(Split::whole(file), &dialect, 5, BufferPool::default()).expect("opens");
    let mut records = Records::default();
    let first = reader
        .next_chunk(&mut records)
        .expect("readable")
        .expect("a chunk");
    let held = first.text.buffer();
    reader.recycle(first);
    while let Some(chunk) = reader.next_chunk(&mut records).expect("readable") {
        reader.recycle(chunk);
    }
    assert_eq!(&held[..5], b"aaaa\n");
    assert_eq!(reader.meter().buffer_lost_count, 1);
}

#[test]
fn buffers_go_from_split_to_split() {
    let folder = tempdir().expect("a folder");
    let text = "0123456789\n".repeat(1000);
    let dialect = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let mut pool = BufferPool::default();
    let mut addresses = Vec::new();
    for name in ["a", "b", "c"] {
        let file = write(folder.path(), name, &text);
        let mut reader = TextReader::open(Split::whole(file), &dialect, 500, pool).expect("opens");
        let mut records = Records::default();
        while let Some(chunk) = reader.next_chunk(&mut records).expect("readable") {
            addresses.push(chunk.text().as_ptr() as usize);
            reader.recycle(chunk);
        }
        pool = reader.close();
    }
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(
        addresses.len(),
        2,
        "one is filled while the other is at work"
    );
}

macro_rules! refuses {
    ($($name:ident, $bytes:expr, $message:expr;)*) => {$(
        #[test]
        fn $name() {
            let folder = tempdir().expect("a folder");
            let file = write(folder.path(), "file.csv", $bytes);
            for chunk_bytes in [1, 3, 1 << 20] {
                let error = read(&file, &Dialect::csv(), chunk_bytes).expect_err("refused");
                assert_eq!(message(error, folder.path()), $message);
            }
        }
    )*};
}

refuses! {
    utf32_little, b"\xff\xfe\0\0a\0\0\0",
        "FOLDER/file.csv: the text is UTF-32LE, which is not read; write it again with: \
         iconv -f UTF-32LE -t UTF-8";
    utf16_without_mark, b"a\0,\0b\0\n\0",
        "FOLDER/file.csv: the text looks like UTF-16LE without a byte order mark; if it is, \
         declare it: format.encoding = \"UTF-16LE\"";
    gzip_without_its_name, b"\x1f\x8b\x08\0\0\0",
        "FOLDER/file.csv: expected text, but the file begins like gzip; declare it: \
         format.compression = \"gzip\"";
    zip, b"PK\x03\x04\x14\0",
        "FOLDER/file.csv: expected text, but the file begins like zip (or an Excel workbook); \
         if it is an archive of texts, declare it: format.compression = \"zip\"; save the sheets of a \
         workbook as CSV (UTF-8)";
    unclosed_header, b"\na,\"b\n1,2\n",
        "FOLDER/file.csv:2 (byte 1): the header has a quote that is not closed; fix the first \
         record, or set header = false if the file has none";
    header_not_utf8, b"a,\xe9\n1,2\n",
        "FOLDER/file.csv:1 (byte 0): the header cannot be read: byte 0xe9 is not UTF-8, and no encoding is declared. The \
         text is likely windows-1252, in which this line reads `a,\u{e9}`; if that is right, declare it: encoding = \
         \"windows-1252\" in the format (--format encoding=windows-1252). If not, declare the encoding that the \
         file was written in";
}

#[test]
fn a_wrong_dialect_is_refused() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file.csv", "");
    let dialect = Dialect {
        delimiter: b'"'.into(),
        ..Dialect::csv()
    };
    let error = read(&file, &dialect, 100).expect_err("refused");
    let text = message(error, folder.path());
    assert!(
        text.starts_with("FOLDER/file.csv: format: quote: '\"' is the delimiter too"),
        "{text}"
    );
}
