//! Ranges of a key: whatever the key, each row is read once.

mod case;

use case::{File, Kind, by_key, kinds, query, table};
use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::{ReadSettings, Source, SourceError};
use inrush_source_adbc::{AdbcSource, Settings};

/// Keys that are unlike numbers from 1: the type of the column, and an expression of a number `n` from 1 to 200.
const DUCKDB_KEYS: &[(&str, &str)] = &[
    ("INTEGER", "n - 500"),
    ("INTEGER", "7"),
    ("BIGINT", "n % 3"),
    (
        "HUGEINT",
        "n::HUGEINT * 170141183460469231731687303715884105",
    ),
    ("DECIMAL(12,2)", "n / 7"),
    (
        "DOUBLE",
        "CASE n % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '-Infinity' ELSE sin(n) END",
    ),
    (
        "DATE",
        "CASE n % 5 WHEN 0 THEN 'infinity'::DATE ELSE DATE '2024-01-01' + (n::INTEGER) END",
    ),
    (
        "TIMESTAMP",
        "TIMESTAMP '2024-01-01' + to_seconds(n::INTEGER)",
    ),
    (
        "TIMESTAMPTZ",
        "TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_hours(n::INTEGER)",
    ),
    (
        "VARCHAR",
        r#"chr((65 + n % 58)::INTEGER) || '''\ "ü" ' || n"#,
    ),
    (
        "VARCHAR COLLATE NOCASE",
        "CASE n % 2 WHEN 0 THEN upper(to_hex(n)) ELSE lower(to_hex(n - 1)) END",
    ),
    ("BLOB", "from_hex(md5(n::VARCHAR))"),
    ("UUID", "md5(n::VARCHAR)::UUID"),
    (
        "ENUM('sad', 'it''s', 'happy')",
        "CASE n % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'it''s' ELSE 'happy' END",
    ),
    ("BOOLEAN", "n % 2 = 0"),
];

/// Such keys for SQLite, where a column has values of several types.
const SQLITE_KEYS: &[(&str, &str)] = &[
    ("INTEGER", "n - 500"),
    (
        "INTEGER",
        "CASE n % 10 WHEN 0 THEN 'text ' || n WHEN 1 THEN n / 3.0 WHEN 2 THEN x'00ff' ELSE n END",
    ),
    ("TEXT", r#"char(65 + n % 58) || '''\ "ü" ' || n"#),
    (
        "TEXT COLLATE NOCASE",
        "CASE n % 2 WHEN 0 THEN printf('%X', n) ELSE printf('%x', n - 1) END",
    ),
    (
        "REAL",
        "CASE n % 4 WHEN 0 THEN 9e999 WHEN 1 THEN -0.0 ELSE n / 7.0 END",
    ),
    ("DECIMAL(10,2)", "n || '.25'"),
    ("BLOB", "CAST(printf('%x', n * 7919) AS BLOB)"),
    ("", "CASE n % 2 WHEN 0 THEN n ELSE printf('%d', n) END"),
];

fn make(kind: Kind, sql_type: &str, value: &str) -> File {
    let file = File::new(kind);
    let numbers = match kind {
        Kind::DuckDb => "SELECT range AS n FROM range(1, 201)",
        Kind::Sqlite => {
            "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 200) SELECT n FROM c"
        }
    };
    file.run(&[
        &format!("CREATE TABLE t (k {sql_type}, n INTEGER)"),
        &format!("INSERT INTO t SELECT {value}, n FROM ({numbers}) AS numbers"),
        "CREATE VIEW v AS SELECT n, k FROM t",
    ]);
    file
}

/// The numbers of the rows, sorted, and the number of ranges.
fn numbers(file: &File, settings: &Settings) -> Result<(Vec<String>, usize), SourceError> {
    let database = file.open()?;
    let source = AdbcSource::open(&database, settings, &Stop::default())?;
    let mut stream = source.open_stream(ReadSettings {
        chunk_bytes: 64 << 10,
    })?;
    let splits = source.splits(0, 1)?;
    let mut found = Vec::new();
    for split in &splits {
        let mut reader = stream.open(split)?;
        let mut records = Records::default();
        while let Some(chunk) = reader.next_chunk(&mut records)? {
            let typed = chunk.typed.as_ref().expect("typed rows");
            assert_eq!(typed.faults.len(), 0, "{split:?}");
            let rows = (0..typed.row_count).map(|row| typed.row_text(row).0);
            found.extend(rows.map(|text| String::from_utf8_lossy(&text).into_owned()));
        }
    }
    found.sort_unstable();
    Ok((found, splits.len()))
}

#[test]
fn each_row_is_in_one_range() {
    let mut expected: Vec<String> = (1..=200).map(|n: u32| n.to_string()).collect();
    expected.sort_unstable();
    for kind in kinds() {
        let keys = match kind {
            Kind::DuckDb => DUCKDB_KEYS,
            Kind::Sqlite => SQLITE_KEYS,
        };
        for (sql_type, value) in keys {
            let file = make(kind, sql_type, value);
            let of_query = query("SELECT n, k FROM t WHERE n > 0");
            for read in [table("t"), table("v"), of_query] {
                let told = format!("{kind:?} {sql_type} {value} {:?}", read.rows);
                let settings = Settings {
                    columns: vec!["n".to_owned()],
                    ..by_key(read, "k")
                };
                let (found, count) =
                    numbers(&file, &settings).unwrap_or_else(|error| panic!("{told}: {error}"));
                assert_eq!(found, expected, "{told}");
                let few = ["7", "n % 3", "n % 2 = 0"];
                let has_few = few.contains(value) || sql_type.starts_with("ENUM");
                assert!(count > 50 || has_few, "{count} ranges of {told}");
            }
        }
    }
}

#[test]
fn rows_without_a_key_are_refused_or_read() {
    for kind in kinds() {
        let file = make(kind, "INTEGER", "nullif(n % 50, 0)");
        let only_numbers = Settings {
            columns: vec!["n".to_owned()],
            ..by_key(table("t"), "k")
        };
        let error = numbers(&file, &only_numbers).expect_err("a NULL is in no range");
        for part in ["t: ", "\"k\"", "NULL", "split_nulls"] {
            assert!(error.to_string().contains(part), "{error}");
        }
        let with_nulls = Settings {
            split_nulls: true,
            ..only_numbers.clone()
        };
        let read = numbers(&file, &with_nulls).expect("they are read");
        assert_eq!(read.0.len(), 200);
        let filtered = Settings {
            filter: Some("k IS NOT NULL -- all others".to_owned()),
            ..only_numbers
        };
        let read = numbers(&file, &filtered).expect("they are read");
        assert_eq!(read.0.len(), 196);
    }
}

#[test]
fn what_cannot_be_cut_is_refused() {
    for kind in kinds() {
        let file = make(kind, "INTEGER", "n");
        file.run(&["CREATE VIEW few AS SELECT n, k FROM t LIMIT 10"]);
        for (settings, part) in [
            (by_key(table("t"), "gone"), "no column \"gone\""),
            (by_key(table("few"), "k"), "a LIMIT"),
            (by_key(query("SELECT n, k FROM t LIMIT 10"), "k"), "a LIMIT"),
            (
                by_key(query("SELECT n, k FROM t WHERE random() > 0"), "k"),
                "random()",
            ),
        ] {
            let error = numbers(&file, &settings).expect_err(part);
            assert!(error.to_string().contains(part), "{kind:?} {part}: {error}");
        }
    }
}

#[test]
fn values_that_differ_each_time_are_found_wherever_they_are_computed() {
    if !kinds().contains(&Kind::DuckDb) {
        return;
    }
    let file = make(Kind::DuckDb, "INTEGER", "n");
    file.run(&[
        "CREATE VIEW chance AS SELECT n, (random() * 100)::INTEGER AS k FROM t",
        "CREATE VIEW of_chance AS SELECT * FROM chance",
    ]);
    for settings in [
        by_key(
            query("SELECT n, (Random() * 100)::INTEGER AS k FROM t"),
            "k",
        ),
        by_key(query("SELECT * FROM Of_Chance"), "k"),
        by_key(table("chance"), "k"),
    ] {
        let error = numbers(&file, &settings).expect_err("ranges of a random key");
        assert!(error.to_string().contains("random()"), "{error}");
    }
}

#[test]
fn names_that_look_like_a_limit_or_a_sample_are_none() {
    for kind in kinds() {
        let file = make(kind, "INTEGER", "n");
        file.run(&[
            "CREATE TABLE samples AS SELECT n, k, n AS credit_limit FROM t",
            "CREATE TABLE random_limits AS SELECT * FROM samples",
        ]);
        for settings in [
            by_key(table("samples"), "k"),
            by_key(
                query("SELECT n, k FROM samples WHERE credit_limit > 0"),
                "k",
            ),
            by_key(
                query("SELECT n, k FROM random_limits WHERE 'random()' <> ''"),
                "k",
            ),
        ] {
            let read = numbers(&file, &settings);
            let read = read.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
            assert_eq!(read.0.len(), 200, "{kind:?}");
        }
    }
}

#[test]
fn connections_of_sqlite_show_one_moment() {
    if !kinds().contains(&Kind::Sqlite) {
        return;
    }
    let file = make(Kind::Sqlite, "INTEGER", "n");
    let settings = by_key(query("SELECT k, n FROM t"), "k");
    let database = file.open().expect("it opens");
    let source = AdbcSource::open(&database, &settings, &Stop::default()).expect("it opens");
    let settings = ReadSettings {
        chunk_bytes: 64 << 10,
    };
    let splits = source.splits(0, 1).expect("they are known");
    assert!(splits.len() > 100, "{}", splits.len());
    // Two readers at a time have two connections, each with the view of the query.
    let mut one = source.open_stream(settings).expect("a stream");
    let mut other = source.open_stream(settings).expect("a stream");
    let first = one.open(&splits[0]).expect("a reader");
    let second = other.open(&splits[1]).expect("a reader");
    drop((first, second));
    // With a log, writers do not wait, so the only connection is used by one reader after the other.
    let logged = make(Kind::Sqlite, "INTEGER", "n");
    logged.run(&["PRAGMA journal_mode = wal"]);
    let database = logged.open().expect("it opens");
    let source = AdbcSource::open(&database, &by_key(table("t"), "k"), &Stop::default());
    let source = source.expect("it opens");
    let notes = source.notes().join("\n");
    assert!(notes.contains("write-ahead log"), "{notes}");
    logged.run(&["INSERT INTO t VALUES (0, 0)"]);
    let (mut rows, mut records) = (0, Records::default());
    let mut stream = source.open_stream(settings).expect("a stream");
    for split in source.splits(0, 1).expect("they are known") {
        let mut reader = stream.open(&split).expect("a reader");
        while let Some(chunk) = reader.next_chunk(&mut records).expect("rows") {
            rows += chunk.typed.as_ref().map_or(0, |typed| typed.row_count);
        }
    }
    assert_eq!(rows, 200);
}
