//! Tests of byte ranges of a plain file: together they contain each record once.

use inrush_scan::{
    Escape, FieldPosition, FixedWidth, PositionUnit, RecordEnd, ShortText, Terminator,
};
use proptest::prelude::*;
use tempfile::tempdir;

use super::super::RecordStart;
use super::*;

/// Dialects in which a reader finds the first record of a range without help.
fn line_based() -> Vec<Dialect> {
    let csv = Dialect {
        quote: None,
        escape: inrush_scan::Escape::None,
        ..Dialect::csv()
    };
    let headless = Dialect {
        header: false,
        ..csv.clone()
    };
    // A reader needs only a few bytes before the range to recognise these terminators.
    let with = |terminator| Dialect {
        terminator,
        ..csv.clone()
    };
    let own = |text| Terminator::Text(ShortText::new(text).expect("short"));
    let found = vec![
        with(Terminator::CrLf),
        Dialect {
            comment: Some(b'#'),
            ..with(Terminator::Cr)
        },
        with(own(b";\n")),
        Dialect {
            header: false,
            ..with(own(b"\r\r\n"))
        },
        Dialect {
            fixed: Some(FixedWidth {
                fields: vec![FieldPosition {
                    start: 0,
                    length: 1,
                }],
                unit: PositionUnit::Bytes,
                record: RecordEnd::Line { length: None },
            }),
            header: false,
            ..with(Terminator::CrLf)
        },
    ];
    assert!(!found.iter().any(super::super::split_starts::needs_pass));
    [vec![Dialect::tbl(), csv, headless], found].concat()
}

#[test]
fn what_a_few_bytes_do_not_tell_needs_a_pass() {
    let plain = Dialect {
        quote: None,
        escape: Escape::None,
        ..Dialect::csv()
    };
    // In these two dialects, the line ends that an editor counts are not terminators.
    let own = |text| Terminator::Text(ShortText::new(text).expect("short"));
    for dialect in [
        Dialect::csv(),
        Dialect::tsv(),
        Dialect {
            terminator: own(b";;"),
            ..plain.clone()
        },
        Dialect {
            terminator: own(b"ab"),
            ..plain
        },
    ] {
        assert!(
            super::super::split_starts::needs_pass(&dialect),
            "{dialect:?}"
        );
    }
}

/// Reads a file in ranges with these cuts, and joins the results.
fn read_cut(
    file: &Arc<SourceFile>,
    dialect: &Dialect,
    cuts: &[u64],
    first_records: Option<&[RecordStart]>,
    chunk_bytes: usize,
) -> Read {
    let mut found = Read::default();
    let mut text_bytes = 0;
    let pairs = cuts.windows(2).filter(|pair| pair[0] < pair[1]);
    for (index, pair) in pairs.enumerate() {
        let first = first_records.map(|all| {
            let after = all.iter().find(|start| start.byte_offset >= pair[0]);
            after.copied().unwrap_or(RecordStart {
                byte_offset: file.size_bytes,
                line: 1,
            })
        });
        let first = first.filter(|_| index > 0);
        let split = Split::range(Arc::clone(file), pair[0]..pair[1], first);
        let (read, meter) = read_split(split, dialect, chunk_bytes).expect("readable");
        if pair[0] > 0 {
            assert_eq!(read.header, None);
        } else {
            found.header = read.header;
        }
        found.records.extend(read.records);
        found.skipped_line_count += read.skipped_line_count;
        text_bytes += meter.text_bytes;
        assert_eq!(meter.stored_bytes, meter.text_bytes);
    }
    assert_eq!(text_bytes, file.size_bytes, "each byte belongs to a range");
    found
}

#[test]
fn ranges_cut_anywhere_are_the_whole() {
    let folder = tempdir().expect("a folder");
    for text in [
        "\u{feff}id|name|\r\n1|a|\n\r\n\n2|b\n3||\nx|",
        "\n\n\nid|name\n1|a|\n",
        "\u{feff}\n",
        "one",
        "\n",
        "a|\n\n",
        "\u{feff}a\r\n\rb\r\r\n\r\nc\r",
        "\u{feff}#\r\n;\n\r\r\n",
    ] {
        let file = write(folder.path(), "file", text);
        for dialect in line_based() {
            for chunk_bytes in [1, 4, 1000] {
                let whole = read(&file, &dialect, chunk_bytes).expect("readable");
                let size = file.size_bytes;
                for first in 0..=size {
                    for second in first..=size {
                        let cuts = [0, first, second, size];
                        let found = read_cut(&file, &dialect, &cuts, None, chunk_bytes);
                        assert_eq!(found, whole, "{text:?} {dialect:?} cut at {cuts:?}");
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ranges_of_any_text_are_the_whole(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", "|", ",", "\n", "\r\n", "é", "long text, of words\n", "\r", ";\n", ";", "#",
            "\r\r\n", "\u{feff}",
        ]), 0..60),
        which in 0usize..8,
        range_bytes in 1u64..40,
        chunk_bytes in 1usize..40,
    ) {
        let folder = tempdir().expect("a folder");
        let file = write(folder.path(), "file", pieces.concat());
        let dialect = &line_based()[which];
        // A header with a fault is an error of the file, however it is read.
        let Ok(whole) = read(&file, dialect, 1 << 20) else {
            return Ok(());
        };
        let mut cuts: Vec<u64> = (0..file.size_bytes).step_by(range_bytes as usize).collect();
        cuts.push(file.size_bytes);
        if cuts.len() > 1 {
            prop_assert_eq!(read_cut(&file, dialect, &cuts, None, chunk_bytes), whole);
        }
    }

    #[test]
    fn ranges_with_known_beginnings_are_the_whole(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", ",", "\n", "\r\n", "\"\"", "\"x\ny\"", ",\"\r\n\n\",", "é",
        ]), 0..60),
        range_bytes in 1u64..40,
        chunk_bytes in 1usize..40,
    ) {
        let folder = tempdir().expect("a folder");
        let file = write(folder.path(), "file", pieces.concat());
        let dialect = Dialect { header: false, blank_lines_are_records: true, ..Dialect::csv() };
        let whole = read(&file, &dialect, 1 << 20).expect("readable");
        let starts: Vec<RecordStart> = whole
            .records
            .iter()
            .map(|record| RecordStart { byte_offset: record.byte_offset, line: record.line })
            .collect();
        let mut cuts: Vec<u64> = (0..file.size_bytes).step_by(range_bytes as usize).collect();
        cuts.push(file.size_bytes);
        if cuts.len() > 1 {
            let found = read_cut(&file, &dialect, &cuts, Some(&starts), chunk_bytes);
            prop_assert_eq!(found, whole);
        }
    }
}

#[test]
fn errors_of_a_range_have_the_line_of_the_file() {
    let folder = tempdir().expect("a folder");
    let text = format!("{}{}\n1|\n", "1|\n".repeat(100), "x".repeat(5000));
    let file = write(folder.path(), "file", text);
    let dialect = Dialect {
        record_bytes_max: 2000,
        ..Dialect::tbl()
    };
    let split = Split::range(Arc::clone(&file), 200..file.size_bytes, None);
    let error = read_split(split, &dialect, 100).expect_err("too long");
    assert!(message(error, folder.path()).starts_with("FOLDER/file:101 (byte 300): a record"));
}

#[test]
#[should_panic(expected = "with quotes or escapes a range says where its first record begins")]
fn a_range_of_quoted_text_needs_its_first_record() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file", "a,b\nc,d\n");
    let dialect = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let _ = read_split(Split::range(file, 2..8, None), &dialect, 100);
}

#[test]
fn a_change_is_found_in_a_range() {
    let folder = tempdir().expect("a folder");
    let file = write(folder.path(), "file", "1|\n2|\n3|\n");
    let split = Split::range(Arc::clone(&file), 0..4, None);
    let mut reader =
        TextReader::open(split, &Dialect::tbl(), 100, BufferPool::default()).expect("opens");
    fs::write(&file.path, "1|\n2|\n3|\n4|\n").expect("can be written");
    let mut records = Records::default();
    let error = loop {
        match reader.next_chunk(&mut records) {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the change was not found"),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, SourceError::Changed { .. }), "{error}");
}
