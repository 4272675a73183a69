//! Tests what the suite for sources does not: the extremes of every type, bad input, and a server that is lost.

mod case;

use case::{on_each_version, refused, rows, rows_of};
use inrush_rows::cancel::Stop;
use inrush_source_postgres::{PostgresSource, ReadLimits, Settings};

/// Types with values. `WRITTEN=SHOWN` has the value in SQL and the value in the row's text; a value without `=` is the
/// same in both.
const VALUES: &[(&str, &[&str])] = &[
    ("bool", &["t", "f"]),
    ("int2", &["-32768", "32767"]),
    ("int4", &["-2147483648", "2147483647"]),
    ("int8", &["-9223372036854775808", "9223372036854775807"]),
    ("float4", &["1.5", "-0", "NaN", "Infinity", "-Infinity"]),
    (
        "float8",
        &["1.7976931348623157e308", "5e-324", "NaN", "-Infinity"],
    ),
    (
        "numeric(38,10)",
        &[
            "9999999999999999999999999999.9999999999",
            "-0.0000000001",
            "0.0000000000",
        ],
    ),
    ("numeric(12,2)", &["NaN", "1.25"]),
    (
        "numeric(60,2)",
        &["-1234567890123456789012345678901234567890.12"],
    ),
    (
        "numeric",
        &["0", "-12.3400", "NaN", "1e3=1000", "Infinity", "0.00001234"],
    ),
    ("date", &["4713-01-01 BC", "2024-02-29", "5874897-12-31"]),
    ("date", &["infinity", "-infinity", "0001-01-01"]),
    ("time", &["00:00:00", "23:59:59.999999", "24:00:00"]),
    (
        "timestamp",
        &[
            "4713-01-01 00:00:00 BC",
            "2024-02-29 12:34:56.789",
            "1969-12-31 23:59:59.5",
        ],
    ),
    (
        "timestamp",
        &["infinity", "-infinity", "294276-12-31 23:59:59.999999"],
    ),
    ("timestamptz", &["2024-02-29 12:34:56+00"]),
    (
        "text",
        &["plain", "\"\"=", "a text of more than twelve bytes"],
    ),
    ("varchar(20)", &["ü"]),
    ("bpchar", &["x"]),
    ("char(3)", &["x  "]),
    ("name", &["a_name"]),
    ("uuid", &["12345678-90ab-cdef-1234-567890abcdef"]),
    ("json", &["null"]),
    ("jsonb", &["true"]),
    ("mood", &["happy"]),
    ("positive", &["7"]),
];

#[test]
fn every_type_has_its_extremes() {
    on_each_version(|database| {
        database.run("CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0)");
        for (number, (type_name, values)) in VALUES.iter().enumerate() {
            // `""=` is the empty text, which the row's text shows in quotes.
            let written = values.iter().map(|value| match value.split_once('=') {
                Some(("\"\"", "")) => "('')".to_owned(),
                Some((written, _)) => format!("('{written}')"),
                None => format!("('{value}')"),
            });
            let written: Vec<String> = written.collect();
            let mut expected: Vec<String> = values
                .iter()
                .map(|value| match value.split_once('=') {
                    Some((shown, "")) => shown.to_owned(),
                    Some((_, shown)) => shown.to_owned(),
                    None => (*value).to_owned(),
                })
                .collect();
            expected.push(String::new());
            database.run(&format!(
                "CREATE TABLE t{number} (v {type_name}); INSERT INTO t{number} VALUES {}, (NULL)",
                written.join(", ")
            ));
            let found = rows(&database.table(&format!("public.t{number}")));
            assert_eq!(found, Ok(expected), "{type_name}");
        }
    });
}

#[test]
fn bytes_and_long_texts_come_whole() {
    on_each_version(|database| {
        database.run(
            r"CREATE TABLE t (b bytea, long text); INSERT INTO t VALUES ('\x00ff', repeat('x', 3000000)), ('', '')",
        );
        let long = "x".repeat(3_000_000);
        let expected = vec![format!(r"\x00ff,{long}"), r#"\x,"""#.to_owned()];
        assert_eq!(rows(&database.table("t")), Ok(expected));
    });
}

#[test]
fn other_types_are_refused_until_their_text_is_asked_for() {
    on_each_version(|database| {
        database.run("CREATE TABLE t (id int, tags regtype, at interval); INSERT INTO t VALUES (1, 'integer', '1 day')");
        let table = database.table("t");
        refused(&table, &["the column \"tags\"", "regtype", "tags::text"]);
        let named = Settings {
            columns: ["at::text", "id", "tags::text"].map(str::to_owned).to_vec(),
            ..table.clone()
        };
        assert_eq!(rows(&named), Ok(vec!["1 day,1,integer".to_owned()]));
        let unknown = Settings {
            columns: vec!["key".to_owned()],
            ..table
        };
        refused(&unknown, &["no column \"key\"", "\"id\""]);
    });
}

#[test]
fn tables_are_read_however_they_are_made() {
    on_each_version(|database| {
        database.run(
            "CREATE TABLE empty (v int); CREATE TABLE parent (v int); \
             CREATE TABLE child () INHERITS (parent); INSERT INTO parent VALUES (1); INSERT INTO child VALUES (2); \
             CREATE VIEW seen AS SELECT v FROM parent; CREATE MATERIALIZED VIEW kept AS SELECT v FROM parent; \
             CREATE TABLE parts (v int) PARTITION BY LIST (v); \
             CREATE TABLE \"Odd, \"\"name\" (\"a \"\" b\" int, dropped int, last int); \
             ALTER TABLE \"Odd, \"\"name\" DROP COLUMN dropped; INSERT INTO \"Odd, \"\"name\" VALUES (3, 4)",
        );
        let found = |name: &str| {
            let mut found = rows(&database.table(name)).expect(name);
            found.sort();
            found
        };
        assert_eq!(found("empty"), Vec::<String>::new());
        assert_eq!(found("parts"), Vec::<String>::new());
        for name in ["parent", "seen", "kept"] {
            assert_eq!(found(name), ["1", "2"], "{name}");
        }
        assert_eq!(found("Odd, \"name"), ["3,4"]);
        let filtered = Settings {
            filter: Some("v > 1 -- two".to_owned()),
            ..database.table("parent")
        };
        assert_eq!(rows(&filtered), Ok(vec!["2".to_owned()]));
    });
}

#[test]
fn splits_and_their_places_survive_writers() {
    on_each_version(|database| {
        database.run("CREATE TABLE t (v int, pad text); INSERT INTO t SELECT n, repeat('x', 100) FROM generate_series(1, 5000) AS n");
        let source = PostgresSource::open(&database.table("t"), &Stop::default()).expect("a table");
        database.run("DELETE FROM t WHERE v % 2 = 0; UPDATE t SET v = -v; INSERT INTO t SELECT n FROM generate_series(1, 5000) AS n");
        let found = rows_of(&source).expect("its rows");
        let mut numbers: Vec<i32> = found
            .iter()
            .map(|row| {
                row.split(',')
                    .next()
                    .and_then(|v| v.parse().ok())
                    .expect("a number")
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=5_000).collect::<Vec<i32>>());
        // An open source holds a lock on the table, and releases it when it is dropped.
        assert_eq!(
            database.try_run("SET lock_timeout = '50ms'; TRUNCATE t"),
            None
        );
        drop(source);
        database.run("SET lock_timeout = '30s'; TRUNCATE t");
    });
}

#[test]
fn bad_input_is_a_sentence_with_place_and_fix() {
    on_each_version(|database| {
        database
            .run("CREATE TABLE t (v int); INSERT INTO t VALUES (1); CREATE ROLE nobody_here LOGIN");
        refused(
            &database.table("nowhere.t"),
            &["nowhere.t", "no table", "is public.t meant?"],
        );
        refused(
            &database.table("unlike_any"),
            &["unlike_any", "no table", "with its schema"],
        );
        refused(
            &database.query("SELECT 1; SELECT 2"),
            &["the query", "one SELECT"],
        );
        refused(
            &database.query("SELECT 1) TO STDOUT; SELECT (2"),
            &["the query"],
        );
        refused(&database.query("DELETE FROM t RETURNING v"), &["the query"]);
        refused(
            &database.query("WITH gone AS (DELETE FROM t RETURNING v) SELECT * FROM gone"),
            &["the query"],
        );
        refused(
            &database.query("SELECT nextval('s')"),
            &["the query", "\"s\""],
        );
        database.run("CREATE SEQUENCE s");
        refused(
            &database.query("SELECT nextval('s') AS v"),
            &["read-only transaction", "changes nothing"],
        );
        refused(
            &database.query("SELECT v, v FROM t"),
            &["two of its columns", "AS"],
        );
        refused(
            &database.query("SELECT 1 / (v - 1) AS v FROM t"),
            &["the query", "division by zero"],
        );
        refused(
            &Settings {
                filter: Some("w = 1".to_owned()),
                ..database.table("t")
            },
            &["\"w\"", "public.t"],
        );
        refused(
            &Settings {
                filter: Some("true); DELETE FROM t; SELECT (true".to_owned()),
                ..database.table("t")
            },
            &["where"],
        );
        refused(
            &Settings {
                limits: ReadLimits {
                    connections_max: 1,
                    rate_bytes_max: None,
                    lock_wait_ms: 60_000,
                },
                ..database.table("t")
            },
            &["1 connection", "2 or more"],
        );
        assert_eq!(
            rows(&database.query("SELECT v FROM t;")),
            Ok(vec!["1".to_owned()])
        );
        assert_eq!(database.run("SELECT count(*) FROM t"), "1");
    });
}

#[test]
fn a_lost_snapshot_is_an_error_that_names_the_input() {
    on_each_version(|database| {
        database.run("CREATE TABLE t (v int); INSERT INTO t VALUES (1)");
        let source = PostgresSource::open(&database.table("t"), &Stop::default()).expect("a table");
        database.run(
            "SELECT pg_terminate_backend(pid, 30000) FROM pg_stat_activity WHERE application_name = 'inrush source'",
        );
        let error = rows_of(&source).expect_err("its snapshot is gone");
        assert!(
            error.contains("public.t") && error.contains("run the same command again"),
            "{error}"
        );
    });
}
