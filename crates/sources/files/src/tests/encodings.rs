//! Tests of text in other encodings: the rows are the same as in UTF-8, at the places in the original file.

use encoding_rs::Encoding;
use inrush_rows::encoding::TextEncoding;
use proptest::prelude::*;
use tempfile::tempdir;

use super::super::Preview;
use super::*;

/// A file whose encoding is declared.
fn declared(file: &Arc<SourceFile>, name: &str) -> Arc<SourceFile> {
    Arc::new(SourceFile {
        encoding: Some(TextEncoding::parse(name).expect(name)),
        ..SourceFile::clone(file)
    })
}

/// Text in an encoding that this test implements itself, or that the encoder has.
fn encoded(name: &str, text: &str) -> Vec<u8> {
    match name {
        "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        "latin1" => text.chars().map(|one| one as u32 as u8).collect(),
        name => {
            let table = Encoding::for_label(name.as_bytes()).expect(name);
            let (bytes, _, unmappable) = table.encode(text);
            assert!(!unmappable, "{name} has all of the test's characters");
            bytes.into_owned()
        }
    }
}

/// Characters that each encoding has.
const SAMPLES: [(&str, &str); 14] = [
    ("latin1", "é\u{80}\u{9f}ÿ"),
    ("windows-1252", "é€Ÿ"),
    ("windows-1251", "Жё"),
    ("iso-8859-2", "łŻ"),
    ("iso-8859-15", "€œ"),
    ("koi8-r", "Жю"),
    ("macintosh", "é∑"),
    ("utf-16le", "é€漢\u{1f600}\u{feff}"),
    ("utf-16be", "é€漢\u{1f600}\u{feff}"),
    ("shift_jis", "漢字ｱソ表"),
    ("gb18030", "漢字é€\u{1f600}"),
    ("big5", "漢字"),
    ("euc-jp", "漢字ｱ"),
    ("iso-2022-jp", "漢字"),
];

#[test]
fn every_encoding_reads_as_utf8_at_its_own_places() {
    let folder = tempdir().expect("a folder");
    for (name, sample) in SAMPLES.into_iter().chain([("euc-kr", "한글")]) {
        let rows: Vec<String> = (0..60)
            .map(|row| format!("{row},\"{sample}\n{sample}\",{}\n", sample.repeat(row % 7)))
            .collect();
        let text = format!("id,{sample},b\r\n\n{}", rows.concat());
        let plain = write(folder.path(), "plain", &text);
        let mut expected = read(&plain, &Dialect::csv(), 1 << 20).expect("readable");
        // Each record begins where the encoded text before it ends.
        for record in &mut expected.records {
            let before = &text[..record.byte_offset as usize];
            record.byte_offset = encoded(name, before).len() as u64;
            if name == "iso-2022-jp" {
                // The encoder returns to ASCII at the end of each text.
                let line = encoded(name, &text[before.len()..]);
                let whole = encoded(name, &text);
                record.byte_offset = (whole.len() - line.len()) as u64;
            }
        }
        let bytes = encoded(name, &text);
        let file = declared(&write(folder.path(), name, &bytes), name);
        for chunk_bytes in [1, 2, 3, 5, 64, 1000, 1 << 20] {
            let (found, meter) = read_metered(&file, &Dialect::csv(), chunk_bytes).expect(name);
            assert_eq!(found, expected, "{name}, chunks of {chunk_bytes} bytes");
            assert_eq!(meter.text_bytes, bytes.len() as u64);
        }
    }
}

#[test]
fn a_byte_order_mark_is_honoured() {
    let folder = tempdir().expect("a folder");
    let text = "id,name\n1,é\u{1f600}\n";
    let little = [b"\xff\xfe".to_vec(), encoded("utf-16le", text)].concat();
    let big = [b"\xfe\xff".to_vec(), encoded("utf-16be", text)].concat();
    let gb = [b"\x84\x31\x95\x33".to_vec(), encoded("gb18030", text)].concat();
    let utf8 = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    for (bytes, name, mark_bytes, found) in [
        (&little, None, 2, Some("UTF-16LE")),
        (&big, None, 2, Some("UTF-16BE")),
        (&gb, None, 4, Some("gb18030")),
        (&utf8, None, 3, None),
        (&little, Some("utf-16"), 2, None),
        (&big, Some("utf-16"), 2, None),
        (&big, Some("utf-16be"), 2, None),
        (&gb, Some("gbk"), 4, None),
        (&utf8, Some("utf-8"), 3, None),
    ] {
        let file = write(folder.path(), "file", bytes);
        let file = name.map_or(Arc::clone(&file), |name| declared(&file, name));
        let read = read(&file, &Dialect::csv(), 7).expect("readable");
        assert_eq!(rows(&read), ["1·\\xc3\\xa9\\xf0\\x9f\\x98\\x80"]);
        let header_bytes = match found.or(name) {
            Some(name) if name.to_lowercase().starts_with("utf-16") => 16,
            _ => 8,
        };
        assert_eq!(read.records[0].byte_offset, mark_bytes + header_bytes);
        let preview = Preview::read(&file, &Dialect::csv(), 1).expect("readable");
        assert_eq!(preview.encoding_found.map(TextEncoding::name), found);
    }
}

#[test]
fn utf16_without_a_mark_is_read_in_the_order_that_its_text_shows() {
    let folder = tempdir().expect("a folder");
    for text in [
        "id,name\n1,\u{e9}\u{1f600}\n",
        "\u{756a}\u{53f7},\u{540d}\u{524d}\n\u{4e00},\u{4e00}\u{4e00}\n",
        // The first separator comes late.
        &format!("{}\n\u{4e00}\n", "\u{756a}".repeat(5000)),
    ] {
        for order in ["utf-16le", "utf-16be"] {
            let plain = write(folder.path(), "plain", text.as_bytes());
            let expected = rows(&read(&plain, &Dialect::csv(), 100_000).expect("readable"));
            let bytes = encoded(order, text);
            for name in ["utf-16", order] {
                let file = declared(&write(folder.path(), "file", &bytes), name);
                let found = read(&file, &Dialect::csv(), 7).expect("readable");
                assert_eq!(rows(&found), expected, "{name} of {order}");
                let preview = Preview::read(&file, &Dialect::csv(), 1).expect("readable");
                let told = preview
                    .encoding_found
                    .map(|found| found.name().to_lowercase());
                assert_eq!(told.as_deref(), (name != order).then_some(order));
            }
            let other = match order {
                "utf-16le" => "utf-16be",
                _ => "utf-16le",
            };
            let file = declared(&write(folder.path(), "file", &bytes), other);
            let error = read(&file, &Dialect::csv(), 7).expect_err("refused");
            let error = message(error, folder.path());
            let upper = order.to_uppercase();
            assert!(
                error.contains(&format!("show {upper}; set it to {upper}")),
                "{error}"
            );
        }
    }
    // Nothing shows the byte order: the file is refused, never read as empty.
    for order in ["utf-16le", "utf-16be"] {
        let bytes = encoded(order, "\u{756a}\u{53f7}");
        let file = declared(&write(folder.path(), "file", &bytes), "utf-16");
        let error = read(&file, &Dialect::csv(), 7).expect_err("refused");
        let error = message(error, folder.path());
        assert!(
            error.contains("encoding = \"UTF-16LE\" or \"UTF-16BE\""),
            "{error}"
        );
    }
    let file = declared(&write(folder.path(), "file", b"".as_slice()), "utf-16");
    assert!(
        read(&file, &Dialect::csv(), 7)
            .expect("empty")
            .records
            .is_empty()
    );
}

#[test]
fn a_contradicting_mark_is_refused() {
    let folder = tempdir().expect("a folder");
    for (bytes, name, expected) in [
        (
            b"\xef\xbb\xbfa,b\n".as_slice(),
            "windows-1252",
            "FOLDER/file: format.encoding is windows-1252, but the file begins with the byte \
             order mark of UTF-8; leave the setting out, or set it to UTF-8",
        ),
        (
            b"\xfe\xff\0a\0\n",
            "utf-16le",
            "FOLDER/file: format.encoding is UTF-16LE, but the file begins with the byte order \
             mark of UTF-16BE; leave the setting out, or set it to UTF-16BE",
        ),
        (
            b"\xff\xfea\0\n\0",
            "utf-8",
            "FOLDER/file: format.encoding is UTF-8, but the file begins with the byte order \
             mark of UTF-16LE; leave the setting out, or set it to UTF-16LE",
        ),
    ] {
        let file = declared(&write(folder.path(), "file", bytes), name);
        let error = read(&file, &Dialect::csv(), 100).expect_err("refused");
        assert_eq!(message(error, folder.path()), expected);
    }
    // Text in windows-1252 that begins like the mark of GB18030.
    let file = declared(
        &write(folder.path(), "file", b"\x841\x953|\n"),
        "windows-1252",
    );
    let found = read(&file, &Dialect::tbl(), 100).expect("readable");
    assert_eq!(found.records[0].fields[0], "„1•3".as_bytes());
}

#[test]
fn what_cannot_be_translated_is_not_valid() {
    let folder = tempdir().expect("a folder");
    let wide = |text: &str| encoded("utf-16le", text);
    for (name, bad, after) in [
        // A lead byte before a line end, and a byte that is not a lead byte.
        ("shift_jis", vec![0x85], ""),
        ("shift_jis", vec![0x80, 0xfd], "x"),
        ("euc-jp", vec![0xff], "x"),
        ("gb18030", vec![0x81, 0x30, 0x81], ""),
        ("gb18030", vec![0xff], "x"),
        ("windows-1253", vec![0xaa, 0xd2], ""),
        ("utf-16le", vec![0, 0xd8], ""),
        ("utf-16le", vec![0, 0xdc], "x"),
        ("big5", vec![0xff], "x"),
    ] {
        let ascii = |text: &str| match name {
            "utf-16le" => wide(text),
            _ => text.as_bytes().to_vec(),
        };
        let before = ascii("1|a|\n2|");
        let bytes = [
            before.clone(),
            bad.clone(),
            ascii(&format!("{after}|\n3|c|\n")),
        ]
        .concat();
        let third = bytes.len() - ascii("3|c|\n").len();
        let file = declared(&write(folder.path(), "file", &bytes), name);
        for chunk_bytes in [1, 4, 1000] {
            let found = read(&file, &Dialect::tbl(), chunk_bytes).expect("readable");
            let is_utf8: Vec<_> = found.records.iter().map(|record| record.is_utf8).collect();
            assert_eq!(is_utf8, [true, false, true], "{name} {bad:x?}");
            assert_eq!(
                found.records[2].byte_offset, third as u64,
                "{name} {bad:x?}"
            );
            assert_eq!(found.records[2].line, 3);
            let bad_count = found.records[1].fields[1]
                .iter()
                .filter(|byte| **byte == 0xff);
            assert!(bad_count.count() > 0, "nothing takes its place");
        }
    }
}

#[test]
fn a_character_that_is_cut_by_the_end_is_not_valid() {
    let folder = tempdir().expect("a folder");
    for (name, bytes) in [
        ("shift_jis", b"a\n\x8a".to_vec()),
        ("gb18030", b"a\n\x81\x30".to_vec()),
        ("utf-16le", b"a\0\n\0b".to_vec()),
        ("utf-16le", b"a\0\n\0\0\xd8".to_vec()),
    ] {
        let file = declared(&write(folder.path(), "file", &bytes), name);
        let dialect = Dialect {
            header: false,
            ..Dialect::csv()
        };
        let found = read(&file, &dialect, 3).expect("readable");
        let is_utf8: Vec<_> = found.records.iter().map(|record| record.is_utf8).collect();
        assert_eq!(is_utf8, [true, false], "{name}");
    }
}

#[test]
fn latin1_is_not_windows_1252() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file", b"\x80|\n");
    for (name, expected) in [("iso-8859-1", "\u{80}"), ("windows-1252", "€")] {
        let found = read(&declared(&file, name), &Dialect::tbl(), 100).expect("readable");
        assert_eq!(found.records[0].fields[0], expected.as_bytes(), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_bytes_are_read_alike_in_all_chunk_sizes(
        pieces in prop::collection::vec(
            prop_oneof![
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b"\n".to_vec()),
                Just(b"\n\0".to_vec()),
                Just(b",\0".to_vec()),
                Just(b"\"".to_vec()),
                Just("漢".as_bytes().to_vec()),
                Just(b"\x8a\xbf,".to_vec()),
            ],
            0..60,
        ),
        which in 0usize..SAMPLES.len(),
        chunk_bytes in 1usize..50,
    ) {
        let folder = tempdir().expect("a folder");
        // A beginning that is not a byte order mark.
        let bytes = [b"ab".to_vec(), pieces.concat()].concat();
        let file = declared(&write(folder.path(), "file", &bytes), SAMPLES[which].0);
        let dialect = Dialect { header: false, ..Dialect::csv() };
        let whole = read(&file, &dialect, 1 << 20).map_err(|error| error.to_string());
        let split = read(&file, &dialect, chunk_bytes).map_err(|error| error.to_string());
        if let Ok(whole) = &whole {
            for record in &whole.records {
                prop_assert!(record.byte_offset <= bytes.len() as u64);
            }
        }
        prop_assert_eq!(whole, split);
    }
}

/// The file's own bytes are kept for every record, also those that cannot be translated.
#[test]
fn records_keep_the_bytes_of_their_file() {
    let folder = tempdir().expect("a folder");
    for (name, characters) in SAMPLES {
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        for row in 0..300 {
            let mut record = encoded(name, &format!("{row}|{characters}|"));
            if name == "windows-1252" && row % 7 == 0 {
                // Not a character in the related encoding, but one in this encoding.
                record.push(0x81);
            }
            if name == "shift_jis" && row % 7 == 0 {
                record.push(0xff);
            }
            bytes.extend(&record);
            bytes.extend(encoded(name, "\n"));
            expected.push(record);
        }
        let file = declared(&write(folder.path(), name, &bytes), name);
        for chunk_bytes in [7, 100, 1 << 20] {
            let split = super::super::Split::whole(Arc::clone(&file));
            let dialect = Dialect {
                extra_fields: inrush_scan::ExtraFields::Ignore,
                trailing_delimiter: false,
                ..Dialect::tbl()
            };
            let mut reader = TextReader::open(split, &dialect, chunk_bytes, BufferPool::default())
                .expect("opens");
            let mut records = Records::default();
            let mut found = Vec::new();
            while let Some(chunk) = reader.next_chunk(&mut records).expect("readable") {
                for record in &records.records {
                    found.push(
                        chunk
                            .original(record.start as usize..record.end as usize)
                            .to_vec(),
                    );
                }
                reader.recycle(chunk);
            }
            assert!(found == expected, "{name} in chunks of {chunk_bytes}");
        }
    }
}
