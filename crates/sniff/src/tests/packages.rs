//! Tests of packages that are written from guesses: read back they are the same, and with them the whole file is
//! converted without a reject.

use std::path::Path;

use inrush_convert::Converter;
use inrush_files::{BufferPool, Split, TextReader};
use inrush_package::{Flow, OneOrMany, Overrides, Package};
use inrush_rows::column::Column;
use inrush_scan::Dialect;
use proptest::prelude::*;

use super::*;

/// The package of a guess, written and read again.
fn read_back(guess: &Guess) -> (String, Package) {
    let flow = Flow {
        format: guess.format(),
        columns: guess.columns(),
        ..Flow::new(OneOrMany::One("a".to_owned()), "t")
    };
    let package = Package::new("p", "embedded", vec![flow]);
    let text = package.to_toml_with(&guess.comments());
    let read = Package::parse(&text, Path::new("p.toml")).unwrap_or_else(|error| {
        panic!("{error}\n{text}");
    });
    assert_eq!(read, package, "{text}");
    let resolved = read
        .resolve(&Overrides::default(), &|_| {
            Err(std::env::VarError::NotPresent)
        })
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    resolved
        .check()
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    (text, resolved)
}

/// Converts a whole file with the package's settings, and returns rows and rejects.
fn converted(path: &Path, guess: &Guess, package: &Package) -> (usize, Vec<String>) {
    let flow = &package.flows[0];
    let dialect = Dialect {
        blank_lines_are_records: flow.columns.len() == 1,
        ..flow.format.dialect("a").expect("it was checked")
    };
    // The catalog would resolve the types of the package to the types of the guess.
    let columns: Vec<Column> = guess.converter_columns();
    let details: Vec<Vec<String>> = flow
        .column_details()
        .expect("they were checked")
        .into_iter()
        .map(|detail| {
            let formats = detail.format.as_ref().map(OneOrMany::patterns);
            formats.unwrap_or_default().to_vec()
        })
        .collect();
    assert_eq!(
        columns
            .iter()
            .map(|column| column.formats.clone())
            .collect::<Vec<_>>(),
        details
    );
    let mut converter = Converter::new(&columns, &dialect, columns.len()).expect("they fit");
    let file = Arc::new(SourceFile::open(path.to_path_buf()).expect("it is there"));
    let mut reader = TextReader::open(Split::whole(file), &dialect, 1 << 16, BufferPool::default())
        .expect("it is there");
    let mut records = inrush_scan::Records::default();
    let (mut rows, mut rejects) = (0, Vec::new());
    while let Some(chunk) = reader.next_chunk(&mut records).expect("it can be read") {
        rows += converter
            .convert(&chunk, &records, 0..records.len(), &mut rejects)
            .num_rows();
    }
    let rejects = rejects
        .iter()
        .map(|reject| format!("{}: {:?}: {}", reject.location, reject.value, reject.reason))
        .collect();
    (rows, rejects)
}

#[test]
fn comments_say_what_was_seen() {
    let guess = sniffed(
        "a.csv",
        b"id,when,code\n1,01/02/2024,007\n2,,008\n3,05/06/2024,009\n",
    );
    let (text, _) = read_back(&guess);
    for words in [
        "# - column when: dates in which no value shows the order of day and month",
        "    # Text, because `007` (a.csv line 2) begins with a zero",
        "    \"id integer\",",
        "    # no NULL in 3 rows; 1 to 3",
        "all of the file was read, 3 rows",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn fields_are_found_by_what_the_header_calls_them() {
    let guess = sniffed(
        "a.csv",
        b"ID,Order ID,,x,X,a{b}\n1,2,3,4,5,6\n7,8,9,0,1,2\n2,2,2,2,2,2\n",
    );
    let (text, _) = read_back(&guess);
    for column in [
        "\"id integer\"",
        "{ name = \"order_id\", type = \"integer\", field = \"Order ID\" }",
        "{ name = \"column_3\", type = \"integer\", field = 3 }",
        "{ name = \"x\", type = \"integer\", field = 4 }",
        "{ name = \"x_2\", type = \"integer\", field = 5 }",
        "{ name = \"a_b\", type = \"integer\", field = 6 }",
    ] {
        assert!(
            text.contains(&format!("    {column},\n")),
            "{column} is not in\n{text}"
        );
    }
}

/// The values of a column of one kind, as texts without NULL.
#[derive(Clone, Debug)]
enum ValueKind {
    Integer,
    Decimal,
    Date,
    DayFirst,
    Timestamp,
    Boolean,
    Code,
    Words,
}

fn kind() -> impl Strategy<Value = ValueKind> {
    prop::sample::select(vec![
        ValueKind::Integer,
        ValueKind::Decimal,
        ValueKind::Date,
        ValueKind::DayFirst,
        ValueKind::Timestamp,
        ValueKind::Boolean,
        ValueKind::Code,
        ValueKind::Words,
    ])
}

fn value(kind: &ValueKind, seed: u64) -> Option<String> {
    if seed.is_multiple_of(11) {
        return None;
    }
    let (year, month, day) = (1990 + seed % 40, 1 + seed % 12, 1 + seed / 7 % 28);
    Some(match kind {
        ValueKind::Integer => (seed as i32).to_string(),
        ValueKind::Decimal => format!("{}.{:02}", seed as i32 / 1000, seed % 100),
        ValueKind::Date => format!("{year:04}-{month:02}-{day:02}"),
        ValueKind::DayFirst => format!("{day:02}.{month:02}.{year:04}"),
        ValueKind::Timestamp => format!(
            "{year:04}-{month:02}-{day:02} {:02}:{:02}:00",
            seed % 24,
            seed % 60
        ),
        ValueKind::Boolean => seed.is_multiple_of(2).to_string(),
        ValueKind::Code => format!("0{:04}", seed % 10_000),
        ValueKind::Words => [
            "blue \"box\"",
            "it's; a, b|c",
            "tab\there",
            "two\nlines",
            "plain",
        ][(seed % 5) as usize]
            .to_owned(),
    })
}

/// Writes a field; if it needs quotes and the form has none, it loses the characters that would need them.
fn write(field: Option<&str>, delimiter: char, is_quoted: bool, always: bool) -> String {
    let Some(text) = field else {
        return String::new();
    };
    if is_quoted {
        let special = [delimiter, '"', '\n', '\r'];
        return match always || text.contains(special) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
    }
    text.replace([delimiter, '\n'], " ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn tables_in_any_dialect_are_converted_without_a_reject(
        kinds in prop::collection::vec(kind(), 1..6),
        seeds in prop::collection::vec(any::<u64>(), 20..80),
        delimiter in prop::sample::select(vec![',', ';', '|', '\t', '\u{1}']),
        is_quoted in any::<bool>(),
        always in any::<bool>(),
        trailing in any::<bool>(),
        header in any::<bool>(),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
        extension in prop::sample::select(vec!["csv", "txt", "tbl", "tsv"]),
    ) {
        // A row number goes first, so that no row is blank and a header has a type below it.
        let mut text = String::new();
        let end = |text: &mut String| {
            if trailing {
                text.push(delimiter);
            }
            text.push_str(ending);
        };
        if header {
            text.push_str("row");
            for index in 0..kinds.len() {
                text.push(delimiter);
                text.push_str(&format!("name_{index}"));
            }
            end(&mut text);
        }
        for (row, seed) in seeds.iter().enumerate() {
            text.push_str(&row.to_string());
            for (index, kind) in kinds.iter().enumerate() {
                text.push(delimiter);
                let value = value(kind, seed.rotate_left(index as u32 * 7));
                text.push_str(&write(value.as_deref(), delimiter, is_quoted, always));
            }
            end(&mut text);
        }
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(format!("a.{extension}"));
        std::fs::write(&path, &text).expect("a file");
        let file = Arc::new(SourceFile::open(path.clone()).expect("it is there"));
        let guess = sniff(&[file], &SniffOptions::default()).expect("it can be guessed");
        prop_assert_eq!(&guess.form.delimiter, &delimiter.to_string().into_bytes());
        prop_assert_eq!(guess.form.header, header);
        prop_assert_eq!(guess.columns.len(), kinds.len() + 1, "{:#?}", guess);
        let (_, package) = read_back(&guess);
        let (rows, rejects) = converted(&path, &guess, &package);
        prop_assert_eq!((rows, rejects), (seeds.len(), Vec::new()), "{:#?}", guess);
        // The same files give the same guess again.
        let again = sniff(&[Arc::new(SourceFile::open(path).expect("it is there"))], &SniffOptions::default());
        prop_assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, SniffError>(guess)));
    }
}
