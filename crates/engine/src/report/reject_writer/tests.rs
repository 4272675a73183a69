use std::fs;

use inrush_rows::location::Location;
use inrush_rows::reject::RejectCode;
use inrush_scan::{Escape, Records, Scanner, ShortText, Terminator, TextEnd};
use tempfile::tempdir;

use super::*;

fn reject(raw: &[u8], code: RejectCode, encoding: Option<TextEncoding>) -> Reject {
    Reject {
        location: Location {
            file: Arc::from(Path::new("a.csv")),
            line: 2,
            byte_offset: 10,
            key: None,
        },
        column: None,
        value: None,
        code,
        reason: "for the test".to_owned(),
        raw: raw.to_vec(),
        encoding,
        of_target: false,
    }
}

fn opened(path: &Path) -> Arc<RejectsFolder> {
    Arc::new(RejectsFolder::open(path).expect("opened"))
}

/// Writes rejects, and returns the files of rows by their names.
fn kept(
    dialect: &Dialect,
    header: Option<&[String]>,
    rejects: &[Reject],
) -> Vec<(String, Vec<u8>)> {
    let folder = tempdir().expect("a folder");
    fs::write(folder.path().join("f.1.last2.rejects"), "left").expect("written");
    fs::write(folder.path().join("f.1.2.rejects"), "another piece's").expect("written");
    let mut file = RejectFile::new(&opened(folder.path()), "f.1", dialect, header).expect("made");
    file.keep(rejects).expect("kept");
    file.finish().expect("finished");
    assert!(folder.path().join("f.1.2.rejects").exists());
    fs::remove_file(folder.path().join("f.1.2.rejects")).expect("there");
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.path()).expect("listed") {
        let name = entry
            .expect("listed")
            .file_name()
            .into_string()
            .expect("text");
        let Some(stem) = name.strip_suffix(".rejects") else {
            continue;
        };
        let rows = fs::read(folder.path().join(&name)).expect("readable");
        let reasons = fs::read_to_string(folder.path().join(format!("{name}.jsonl")));
        assert!(reasons.expect("readable").lines().count() > 0);
        found.push((stem.to_owned(), rows));
    }
    found.sort();
    found
}

/// The records of a text, each with its bytes unchanged.
fn read_again(dialect: &Dialect, text: &[u8]) -> Vec<Vec<u8>> {
    let mut records = Records::default();
    Scanner::new(dialect)
        .scan(text, TextEnd::File, &mut records)
        .expect("short");
    let records = records.records.iter();
    records
        .map(|one| text[one.start as usize..one.end as usize].to_vec())
        .collect()
}

#[test]
fn a_row_without_line_and_byte_is_found_by_its_key() {
    let folder = tempdir().expect("a folder");
    let mut file =
        RejectFile::new(&opened(folder.path()), "f", &Dialect::csv(), None).expect("made");
    let of_file = reject(b"x", RejectCode::Syntax, None);
    let mut of_table = of_file.clone();
    of_table.location.key = Some("id = 17".into());
    file.keep(&[of_file.clone(), of_table.clone()])
        .expect("kept");
    file.finish().expect("finished");
    let path = folder.path().join("f.rejects.jsonl");
    let text = fs::read_to_string(&path).expect("readable");
    let has_key = text
        .lines()
        .map(|line| line.contains("\"key\":\"id = 17\""));
    assert_eq!(has_key.collect::<Vec<_>>(), [false, true]);
    let read = ReasonReader::open(&path).expect("opened");
    let places: Vec<String> = read
        .map(|line| line.expect("a line").location().to_string())
        .collect();
    let expected = [of_file, of_table].map(|one| one.location.to_string());
    assert_eq!(places, expected);
    assert_eq!(places, ["a.csv:2 (byte 10)", "a.csv, row 2 (id = 17)"]);
}

#[test]
fn a_reason_is_written_out_for_the_first_rows_alone() {
    let folder = tempdir().expect("a folder");
    let dialect = Dialect::csv();
    let mut file = RejectFile::new(&opened(folder.path()), "f", &dialect, None).expect("made");
    let rejects: Vec<Reject> = (1..=3000)
        .map(|line| {
            let mut one = reject(b"x", RejectCode::Syntax, None);
            one.location.line = line;
            one.reason = match line {
                2 => "another one, told early".to_owned(),
                2000 => "told late alone".to_owned(),
                2500 => "another one, told early".to_owned(),
                _ => "a long reason, which each row has once more".repeat(5),
            };
            one
        })
        .collect();
    let mut bytes = 0;
    for part in rejects.chunks(700) {
        bytes += file.keep(part).expect("kept");
    }
    file.finish().expect("finished");
    let path = folder.path().join("f.rejects.jsonl");
    let sizes = [&path, &folder.path().join("f.rejects")]
        .map(|path| fs::metadata(path).expect("there").len());
    // The first rows come after the header.
    assert_eq!(bytes, sizes[0] + sizes[1]);
    assert!(sizes[0] < 3000 * 120 + 1000 * 220, "{}", sizes[0]);
    let text = fs::read_to_string(&path).expect("read");
    let last: serde_json::Value =
        serde_json::from_str(text.lines().last().expect("lines")).expect("JSON");
    assert_eq!(last["reason_line"], 1);
    assert!(last.get("reason").is_none());
    let read: Vec<RejectReport> = ReasonReader::open(&path)
        .expect("opened")
        .map(|line| line.expect("a line"))
        .collect();
    let expected: Vec<RejectReport> = rejects.iter().map(RejectReport::from).collect();
    assert_eq!(read, expected);
}

#[test]
fn what_only_its_file_ends_swallows_nothing() {
    let csv = Dialect {
        header: false,
        ..Dialect::csv()
    };
    let own = Dialect {
        terminator: Terminator::Text(ShortText::new(b";;").expect("short")),
        quote: None,
        escape: Escape::None,
        ..csv.clone()
    };
    let tsv = Dialect::tsv();
    for (dialect, last, code) in [
        (
            &csv,
            b"2,\"never closed,\n".as_slice(),
            RejectCode::UnclosedQuote,
        ),
        (&tsv, b"2\tx\\", RejectCode::DanglingEscape),
        (&own, b"2,x;", RejectCode::FieldCount),
    ] {
        let ordinary = reject(b"1,x,", RejectCode::FieldCount, None);
        let rejects = [
            ordinary.clone(),
            reject(last, code, None),
            ordinary.clone(),
            reject(last, code, None),
            ordinary.clone(),
        ];
        let found = kept(dialect, None, &rejects);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["f.1", "f.1.last", "f.1.last2"]);
        // If the file is loaded again, each row has the same bytes.
        assert_eq!(
            read_again(dialect, &found[0].1),
            vec![ordinary.raw.clone(); 3]
        );
        for (_, text) in &found[1..] {
            assert_eq!(read_again(dialect, text), [last]);
        }
    }
}

#[test]
fn rows_are_kept_in_the_encoding_of_their_file() {
    let names = ["id".to_owned(), "gr\u{f6}\u{df}e".to_owned()];
    let dialect = Dialect {
        quote: None,
        escape: Escape::None,
        ..Dialect::csv()
    };
    for (name, mark) in [
        ("utf-16le", "\u{feff}"),
        ("utf-16be", "\u{feff}"),
        ("latin1", ""),
    ] {
        let encoding = TextEncoding::parse(name).expect("known");
        let raw = encoding.encode("x,\u{e4}");
        let one = reject(&raw, RejectCode::Syntax, Some(encoding));
        // A carriage return that belongs to the row is not part of the line end.
        let returned = reject(&encoding.encode("y\r"), RejectCode::Syntax, Some(encoding));
        let found = kept(&dialect, Some(&names), &[one, returned]);
        let text = format!("{mark}id,gr\u{f6}\u{df}e\nx,\u{e4}\ny\r\r\n");
        assert_eq!(
            found,
            [("f.1".to_owned(), encoding.encode(&text))],
            "{name}"
        );
    }
}

#[test]
fn files_of_different_encodings_are_kept_apart() {
    let encoding = TextEncoding::parse("utf-16le").expect("known");
    let dialect = Dialect::tbl();
    let rejects = [
        reject(b"1|", RejectCode::Syntax, None),
        reject(&encoding.encode("2|"), RejectCode::Syntax, Some(encoding)),
        reject(b"3|", RejectCode::Syntax, None),
    ];
    assert_eq!(
        kept(&dialect, None, &rejects),
        [
            ("f.1".to_owned(), b"1|\n3|\n".to_vec()),
            ("f.1.utf-16le".to_owned(), encoding.encode("\u{feff}2|\n")),
        ]
    );
}

#[test]
fn all_files_of_an_earlier_attempt_are_removed() {
    let folder = tempdir().expect("a folder");
    let others = ["f.10.rejects", "f.1.2.rejects", "f.1.targets.rejects"];
    for name in others {
        fs::write(folder.path().join(name), "another piece's").expect("written");
    }
    let encoding = TextEncoding::parse("utf-16le").expect("known");
    let of_target = |encoding| Reject {
        of_target: true,
        ..reject(b"1", RejectCode::Syntax, encoding)
    };
    let rejects = [
        reject(b"1,\"", RejectCode::UnclosedQuote, None),
        reject(b"1", RejectCode::Syntax, None),
        reject(b"1", RejectCode::Syntax, Some(encoding)),
        of_target(None),
        of_target(Some(encoding)),
    ];
    let mut file =
        RejectFile::new(&opened(folder.path()), "f.1", &Dialect::csv(), None).expect("made");
    file.keep(&rejects).expect("kept");
    file.finish().expect("finished");
    let names = || {
        let entries = fs::read_dir(folder.path()).expect("listed");
        let names = entries.map(|entry| entry.expect("listed").file_name().into_string());
        names.map(|name| name.expect("text")).collect::<Vec<_>>()
    };
    assert_eq!(names().len(), others.len() + 2 * rejects.len());
    RejectFile::new(&opened(folder.path()), "f.1", &Dialect::csv(), None).expect("made");
    let (mut left, mut expected) = (names(), others.map(str::to_owned));
    left.sort();
    expected.sort();
    assert_eq!(left, expected);
}
