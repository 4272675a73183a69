//! Tests for which the suite for sources has no clause: types, bad input, and that a file is never changed.

mod case;

use case::{File, Kind, has_duckdb, kinds, query, site_packages, table};
use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::{ReadSettings, Source};
use inrush_source_adbc::{AdbcSource, Settings};

/// All rows, as their text shows them, and the reasons of faulty rows.
fn rows(file: &File, settings: &Settings) -> Result<Vec<String>, String> {
    let told = |error: inrush_source::SourceError| error.to_string();
    let database = file.open().map_err(told)?;
    let source = AdbcSource::open(&database, settings, &Stop::default()).map_err(told)?;
    let settings = ReadSettings {
        chunk_bytes: 64 << 10,
    };
    let mut stream = source.open_stream(settings).map_err(told)?;
    let mut found = Vec::new();
    for split in source.splits(0, 1 << 20).map_err(told)? {
        let mut reader = stream.open(&split).map_err(told)?;
        let mut records = Records::default();
        while let Some(chunk) = reader.next_chunk(&mut records).map_err(told)? {
            let typed = chunk.typed.as_ref().expect("typed rows");
            for row in 0..typed.row_count {
                let fault = typed.faults.iter().find(|fault| fault.row == row);
                found.push(match fault {
                    Some(fault) => {
                        format!("{} [{}]", fault.reason, String::from_utf8_lossy(&fault.raw))
                    }
                    None => String::from_utf8_lossy(&typed.row_text(row).0).into_owned(),
                });
            }
        }
    }
    Ok(found)
}

fn refused(file: &File, settings: &Settings, parts: &[&str]) {
    let error = rows(file, settings).expect_err("it cannot be read");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

/// Values of types of DuckDB, as SQL writes them and as the row's text has them.
const DUCKDB_VALUES: &[(&str, &[&str])] = &[
    ("BOOLEAN", &["true=t"]),
    ("TINYINT", &["-128"]),
    ("UTINYINT", &["255"]),
    ("UINTEGER", &["4294967295"]),
    ("UBIGINT", &["18446744073709551615"]),
    (
        "HUGEINT",
        &["170141183460469231731687303715884105727", "-1"],
    ),
    ("FLOAT", &["1.5", "NaN", "Infinity"]),
    ("DOUBLE", &["1.7976931348623157e308", "5e-324", "-Infinity"]),
    (
        "DECIMAL(38,10)",
        &["-9999999999999999999999999999.9999999999"],
    ),
    ("VARCHAR", &["ü"]),
    ("DATE", &["2024-02-29", "infinity", "-infinity"]),
    ("TIME", &["23:59:59.999999", "24:00:00"]),
    (
        "TIMESTAMP",
        &["2024-02-29 12:34:56.789", "infinity", "-infinity"],
    ),
    ("TIMESTAMP_S", &["2024-02-29 12:34:56"]),
    ("TIMESTAMP_MS", &["2024-02-29 12:34:56.789"]),
    ("TIMESTAMP_NS", &["2024-02-29 12:34:56.123456789"]),
    ("TIMESTAMPTZ", &["2024-02-29 12:34:56+00", "infinity"]),
    ("UUID", &["12345678-90ab-cdef-1234-567890abcdef"]),
    ("JSON", &["null"]),
    ("ENUM('sad', 'happy')", &["happy"]),
];

#[test]
fn every_type_of_duckdb_has_its_extremes() {
    if !has_duckdb() {
        return;
    }
    let file = File::new(Kind::DuckDb);
    let mut statements = vec!["CREATE TABLE nothing (id INTEGER)".to_owned()];
    for (number, (kind, values)) in DUCKDB_VALUES.iter().enumerate() {
        let written = values
            .iter()
            .map(|value| format!("('{}')", value.split('=').next().unwrap_or(value)));
        let written: Vec<String> = written.collect();
        statements.push(format!("CREATE TABLE t{number} (v {kind})"));
        statements.push(format!(
            "INSERT INTO t{number} VALUES {}, (NULL)",
            written.join(", ")
        ));
    }
    file.run_on(&file.path(), &statements);
    for (number, (kind, values)) in DUCKDB_VALUES.iter().enumerate() {
        let shown = values
            .iter()
            .map(|value| value.split('=').next_back().unwrap_or(value));
        let mut expected: Vec<String> = shown.map(str::to_owned).collect();
        expected.push(String::new());
        assert_eq!(
            rows(&file, &table(&format!("t{number}"))),
            Ok(expected),
            "{kind}"
        );
    }
    assert_eq!(rows(&file, &table("nothing")), Ok(Vec::new()));
}

#[test]
fn types_of_duckdb_without_a_counterpart_are_refused_by_name() {
    if !has_duckdb() {
        return;
    }
    let file = File::new(Kind::DuckDb);
    file.run(&[
        "CREATE TABLE t (id INTEGER, tags VARCHAR[], clock TIMETZ, h UHUGEINT, s STRUCT(a INTEGER))",
        "INSERT INTO t VALUES (1, ['a', 'b'], '10:00:00+02', 340282366920938463463374607431768211455, {'a': 1})",
        "CREATE VIEW seen AS SELECT id, tags FROM t",
    ]);
    refused(&file, &table("t"), &["\"tags\"", "VARCHAR[]", "tags::text"]);
    let named = |columns: &[&str]| Settings {
        columns: columns.iter().map(|name| (*name).to_owned()).collect(),
        ..table("t")
    };
    refused(
        &file,
        &named(&["clock"]),
        &["TIME WITH TIME ZONE", "clock::text"],
    );
    refused(&file, &named(&["h"]), &["UHUGEINT"]);
    refused(&file, &named(&["key"]), &["no column \"key\"", "\"id\""]);
    let text = named(&["tags::text", "clock::text", "h::text", "s::text"]);
    let expected = "\"[a, b]\",10:00:00+02,340282366920938463463374607431768211455,{'a': 1}";
    assert_eq!(rows(&file, &text), Ok(vec![expected.to_owned()]));
    let seen = query("SELECT id * 2 AS id, len(tags) AS size FROM seen;");
    assert_eq!(rows(&file, &seen), Ok(vec!["2,2".to_owned()]));
}

#[test]
fn values_of_sqlite_are_exact_or_rejected() {
    if site_packages().is_none() {
        return;
    }
    let file = File::new(Kind::Sqlite);
    file.run(&[
        "CREATE TABLE t (i INTEGER, r REAL, x TEXT, b BLOB, n DECIMAL(10,2), a)",
        "INSERT INTO t VALUES (NULL, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO t VALUES (9223372036854775807, 0.1, 'ü', x'00ff', 0.1, 5e-324)",
        "INSERT INTO t VALUES (-1, 3, '', x'', 12345678901234567, '1e400')",
        "INSERT INTO t VALUES ('x', 1, 'a', x'', 1, 1)",
        "INSERT INTO t VALUES (1.5, 1, 'a', x'', 1, 1)",
        "INSERT INTO t VALUES (1, 'y', 'a', x'', 1, 1)",
        "INSERT INTO t VALUES (1, 1, x'41', x'', 1, 1)",
        "INSERT INTO t VALUES (1, 1, 'a', 'text', 1, 1)",
        "INSERT INTO t VALUES (1, 1, 'a', x'', 1, x'42')",
    ]);
    let found = rows(&file, &table("t")).expect("rows");
    assert_eq!(
        found[..3],
        [
            ",,,,,",
            "9223372036854775807,0.1,ü,\\x00ff,0.1,5e-324",
            "-1,3,\"\",\\x,12345678901234567,1e400",
        ]
    );
    for (row, (column, raw)) in [
        ("i", "'x'"),
        ("i", "1.5"),
        ("r", "'y'"),
        ("x", "X'41'"),
        ("b", "'text'"),
        ("a", "X'42'"),
    ]
    .into_iter()
    .enumerate()
    {
        let told = &found[row + 3];
        let parts = [format!("the column `{column}` is not"), format!("[{raw}]")];
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
    let text = Settings {
        columns: vec!["i::text".to_owned()],
        filter: Some("typeof(i) = 'text' -- only that".to_owned()),
        ..table("t")
    };
    assert_eq!(rows(&file, &text), Ok(vec!["x".to_owned()]));
    // A column of a query has the type that its table's column declares.
    let sum = query("SELECT n, i FROM t WHERE rowid = 2");
    assert_eq!(
        rows(&file, &sum),
        Ok(vec!["0.1,9223372036854775807".to_owned()])
    );
}

#[test]
fn bad_input_is_a_sentence_and_changes_nothing() {
    for kind in kinds() {
        let file = File::new(kind);
        refused(&file, &table("t"), &["rows.db", "never created"]);
        assert!(!file.path().exists());
        file.run(&["CREATE TABLE t (v INTEGER)", "INSERT INTO t VALUES (1)"]);
        let written = file.folder.path().join("written.csv");
        let copy = format!("COPY (SELECT 1) TO '{}'", written.display());
        refused(&file, &table("nowhere"), &["nowhere"]);
        for sql in [
            "SELECT 1 AS a; SELECT 2 AS b",
            "DELETE FROM t RETURNING v",
            "DROP TABLE t",
            copy.as_str(),
            &format!("SELECT 1 AS a) AS q; {copy}; SELECT * FROM (SELECT 2 AS b"),
            "SELECT nope FROM t",
        ] {
            refused(&file, &query(sql), &["the query"]);
        }
        assert!(!written.exists(), "{kind:?}");
        let filtered = |filter: &str| Settings {
            filter: Some(filter.to_owned()),
            ..table("t")
        };
        refused(&file, &filtered("nope = 1"), &["nope", "name a column"]);
        refused(
            &file,
            &filtered("true); DROP TABLE t; SELECT (true"),
            &["t:"],
        );
        assert_eq!(
            rows(&file, &filtered("v > 0 -- all")),
            Ok(vec!["1".to_owned()])
        );
    }
}

#[test]
fn a_file_of_duckdb_is_not_opened_twice_by_one_process() {
    if !has_duckdb() {
        return;
    }
    let file = File::new(Kind::DuckDb);
    file.run(&["CREATE TABLE t (v INTEGER)"]);
    let first = file.open().expect("a database");
    let error = file.open().expect_err("it is open").to_string();
    assert!(
        error.contains("open already") && error.contains("another file"),
        "{error}"
    );
    drop(first);
    assert!(file.open().is_ok());
}

#[test]
fn the_number_of_rows_is_estimated_without_reading_them() {
    for kind in kinds() {
        let file = File::new(kind);
        file.run(&[
            "CREATE TABLE t (a INTEGER)",
            "INSERT INTO t VALUES (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)",
            "CREATE TABLE none (a INTEGER)",
            "CREATE VIEW v AS SELECT * FROM t",
        ]);
        let database = file.open().expect("it opens");
        let estimated = |settings: Settings| {
            let source = AdbcSource::open(&database, &settings, &Stop::default());
            let source = source.expect("it opens");
            source.estimated_rows(0).expect("an answer")
        };
        let (whole, view, chosen) = (table("t"), table("v"), query("SELECT a FROM t"));
        assert_eq!(estimated(whole), Some(10), "{kind:?}");
        assert_eq!(estimated(table("none")), Some(0), "{kind:?}");
        // SQLite would have to read the rows of a view or a query.
        let known = match kind {
            Kind::DuckDb => Some(10),
            Kind::Sqlite => None,
        };
        assert_eq!(estimated(view), known, "{kind:?}");
        assert_eq!(estimated(chosen), known, "{kind:?}");
    }
}
