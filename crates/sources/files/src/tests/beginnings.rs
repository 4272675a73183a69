//! Tests that the beginning of a file (byte order mark, skipped lines, header) belongs to the first
//! range, however short that range is.

use std::io::Write;

use inrush_rows::cancel::Stop;
use inrush_scan::{
    Escape, FieldPosition, FixedWidth, PositionUnit, RecordEnd, ShortText, Terminator,
};
use proptest::prelude::*;
use tempfile::tempdir;

use super::super::{SplitCheckSettings, SplitMethod, check_split};
use super::*;

fn fixed(record: RecordEnd) -> Dialect {
    Dialect {
        fixed: Some(FixedWidth {
            fields: vec![FieldPosition {
                start: 0,
                length: 2,
            }],
            unit: PositionUnit::Bytes,
            record,
        }),
        quote: None,
        escape: Escape::None,
        ..Dialect::csv()
    }
}

/// Dialects of all ways in which the first record of a range is found, with and without header.
fn dialects() -> Vec<Dialect> {
    let comment = |dialect: Dialect| Dialect {
        comment: Some(b'#'),
        ..dialect
    };
    let plain = Dialect {
        quote: None,
        escape: Escape::None,
        ..Dialect::csv()
    };
    let with = |dialect: &Dialect, terminator| Dialect {
        terminator,
        ..dialect.clone()
    };
    let own = |text| Terminator::Text(ShortText::new(text).expect("short"));
    let all = vec![
        Dialect::csv(),
        comment(Dialect::csv()),
        Dialect::tsv(),
        plain.clone(),
        comment(plain.clone()),
        comment(with(&plain, Terminator::CrLf)),
        comment(with(&Dialect::csv(), Terminator::CrLf)),
        with(&plain, own(b";\n")),
        with(&Dialect::csv(), own(b"ab")),
        fixed(RecordEnd::Line { length: None }),
        fixed(RecordEnd::Bytes(2)),
        fixed(RecordEnd::Bytes(7)),
    ];
    let both = |dialect: Dialect| {
        [true, false].map(|header| Dialect {
            header,
            ..dialect.clone()
        })
    };
    all.into_iter().flat_map(both).collect()
}

/// Reads a text in ranges of every size up to `range_bytes_max`, and by a feed; compares both with one reader.
fn hold(folder: &Path, text: &str, dialect: &Dialect, range_bytes_max: u64) {
    let file = write(folder, "file.csv", text);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text.as_bytes()).expect("memory");
    let packed = write(folder, "file.csv.gz", encoder.finish().expect("memory"));
    // A header with a fault is an error of the file, however it is read.
    let Ok(whole) = read(&file, dialect, 1 << 16) else {
        return;
    };
    for file in [file, packed] {
        for range_bytes in 1..=range_bytes_max {
            let settings = SplitCheckSettings {
                range_bytes,
                threads: 1,
            };
            let check = check_split(&file, dialect, settings, &Stop::default())
                .expect("readable")
                .expect("nobody stops it");
            let told = format!("{text:?} in ranges of {range_bytes}, {dialect:?}");
            assert_eq!(check.difference, None, "{told}");
            assert_eq!(check.record_count, whole.records.len() as u64, "{told}");
        }
    }
}

#[test]
fn whatever_stands_before_the_rows_is_no_row() {
    let folder = tempdir().expect("a folder");
    for text in [
        "\u{feff}id,name\n1,Ann\n2,Bob\n",
        "\u{feff}1,Ann\n2,Bob\n",
        "\u{feff}\n1,Ann\n",
        "\u{feff}\r\n\r\n1,Ann\r\n2,Bob\r\n",
        "\u{feff}",
        "\u{feff}a",
        "\n\n\nid,name\n1,Ann\n2,Bob\n",
        "# exported by the nightly job\n#\n\nid,name\n# 1,Ann\n1,Ann\n\n2,Bob\n",
        "# exported \"\r\n\r\nid,name\r\n1,Ann\r\n2,Bob\r\n",
        "\u{feff}# only\n# comments",
        "\"id\n\n\",name\n1,\"A\nnn\"\n2,Bob\n",
        "ab;\nab;\nabab;\n",
    ] {
        for dialect in dialects() {
            hold(folder.path(), text, &dialect, 12);
        }
    }
}

/// Like a large file: many lines before the header, and the first range ends within them.
#[test]
fn a_header_behind_the_first_range_is_no_row() {
    let folder = tempdir().expect("a folder");
    let rows: String = (0..500).map(|row| format!("{row},name {row}\n")).collect();
    let text = format!("{}id,name\n{rows}", "# what it is\n".repeat(500));
    let file = write(folder.path(), "file.csv", text);
    for (quote, method) in [(Some(b'"'), SplitMethod::Pass), (None, SplitMethod::Local)] {
        let dialect = Dialect {
            comment: Some(b'#'),
            quote,
            escape: match quote {
                Some(_) => Escape::DoubledQuote,
                None => Escape::None,
            },
            ..Dialect::csv()
        };
        let settings = SplitCheckSettings {
            range_bytes: 4000,
            threads: 2,
        };
        let check = check_split(&file, &dialect, settings, &Stop::default())
            .expect("readable")
            .expect("nobody stops it");
        assert_eq!((check.method, check.difference), (method, None));
        assert_eq!((check.record_count, check.skipped_count), (500, 500));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn ranges_of_any_beginning_are_the_whole(
        mark in any::<bool>(),
        pieces in prop::collection::vec(prop::sample::select(vec![
            "a", ",", "\n", "\r\n", "#", "# c\n", "\"", "\"x\ny\"", "ab", ";\n", "\\", "\\.\n",
            "é", "\u{feff}", "long text, of words\n",
        ]), 0..40),
        which in 0..24_usize,
        range_bytes_max in 1_u64..12,
    ) {
        let folder = tempdir().expect("a folder");
        let mark = if mark { "\u{feff}" } else { "" };
        let text = format!("{mark}{}", pieces.concat());
        hold(folder.path(), &text, &dialects()[which], range_bytes_max);
    }
}
