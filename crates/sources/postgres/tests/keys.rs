//! Ranges of a key: whatever the key, each row is read once.

mod case;

use case::{on_each_version, refused, rows, rows_of};
use inrush_rows::cancel::Stop;
use inrush_source::{BoundBy, Source};
use inrush_source_postgres::{PostgresSource, Settings, Since};

/// Keys that are unlike numbers from 1: the type of the column, and an expression of a number `n` from 1 to 1,000.
const KEYS: &[(&str, &str)] = &[
    ("int", "n - 500"),
    ("int", "7"),
    ("bigint", "n % 3"),
    (
        "numeric",
        "CASE n % 10 WHEN 0 THEN 'NaN' WHEN 1 THEN 'Infinity' WHEN 2 THEN '-Infinity' ELSE n / 7.0 END",
    ),
    (
        "float8",
        "CASE n % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE sin(n) END",
    ),
    (
        "timestamptz",
        "CASE n % 5 WHEN 0 THEN 'infinity' WHEN 1 THEN '-infinity' \
         ELSE '4713-01-01 BC'::timestamptz + n * interval '7 years' END",
    ),
    (
        "text COLLATE \"und-x-icu\"",
        "chr(65 + n % 26) || lower(chr(65 + n % 7)) || $$'\\ \"ue\" $$ || n",
    ),
    (
        "text COLLATE plain",
        "CASE n % 2 WHEN 0 THEN upper(to_hex(n)) ELSE to_hex(n - 1) END",
    ),
    ("char(5)", "to_hex(n % 300)"),
    ("bytea", "decode(md5(n::text), 'hex')"),
    ("uuid", "md5(n::text)::uuid"),
    ("jsonb", "jsonb_build_array(n % 10, n::text)"),
    (
        "mood",
        "CASE n % 3 WHEN 0 THEN 'sad' ELSE 'happy' END::mood",
    ),
    ("positive", "n"),
];

fn by_key(settings: Settings) -> Settings {
    Settings {
        split_by: Some("k".to_owned()),
        ..settings
    }
}

/// The rows of a key's ranges, sorted, and the number of ranges.
fn in_ranges(settings: &Settings) -> (Vec<String>, usize) {
    let source = PostgresSource::open(settings, &Stop::default()).expect("it opens");
    let count = source.splits(0, 1).expect("they are known").len();
    let mut read = rows_of(&source).expect("they are read");
    read.sort_unstable();
    (read, count)
}

#[test]
fn each_row_is_in_one_range() {
    on_each_version(|database| {
        // ICU collations need a database encoding that ICU knows.
        let database = database.in_utf8();
        database.run(
            "CREATE TYPE mood AS ENUM ('sad', 'happy'); CREATE DOMAIN positive AS int CHECK (VALUE > 0)",
        );
        // Debian's servers have ICU; the servers of a wheel do not. They list "unicode" as their only ICU collation,
        // and it cannot be used.
        let has_icu = "SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu')";
        let has_icu = database.run(has_icu) == "t";
        if has_icu {
            database.run("CREATE COLLATION plain (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");
        }
        let keys = KEYS.iter().enumerate();
        for (index, (sql_type, value)) in
            keys.filter(|(_, (sql_type, _))| has_icu || !sql_type.contains("COLLATE"))
        {
            let table = format!("keys{index}");
            database.run(&format!(
                "CREATE TABLE {table} (k {sql_type}, n int); \
                 INSERT INTO {table} SELECT {value}, n FROM generate_series(1, 1000) AS n"
            ));
            let shown = ["k::text".to_owned(), "n".to_owned()];
            let whole = Settings {
                columns: shown.to_vec(),
                ..database.table(&table)
            };
            let mut expected = rows(&whole).expect("the table is read");
            expected.sort_unstable();
            assert_eq!(expected.len(), 1000, "{sql_type}");
            let kinds = database.run(&format!("SELECT count(DISTINCT k) FROM {table}"));
            let has_ranges = kinds.parse::<u64>().is_ok_and(|kinds| kinds > 20);
            for analyze in ["", "ANALYZE "] {
                if !analyze.is_empty() {
                    database.run(&format!("ANALYZE {table}"));
                }
                let query = database.query(&format!("SELECT n, k FROM {table}"));
                for settings in [database.table(&table), query] {
                    let told = format!("{analyze}{sql_type} {:?}", settings.rows);
                    let (read, count) = in_ranges(&by_key(Settings {
                        columns: shown.to_vec(),
                        ..settings
                    }));
                    assert_eq!(read, expected, "{told}");
                    assert!(count > 10 || !has_ranges, "{count} ranges of {told}");
                }
            }
        }
        database.run("CREATE TABLE empty (k int, n int)");
        assert_eq!(in_ranges(&by_key(database.table("empty"))), (vec![], 1));
    });
}

#[test]
fn rows_without_a_key_are_refused_or_read() {
    on_each_version(|database| {
        database.run(
            "CREATE TABLE t (k int, v int); INSERT INTO t SELECT nullif(n % 50, 0), n FROM generate_series(1, 1000) AS n",
        );
        let settings = by_key(database.table("t"));
        refused(&settings, &["t: ", "\"k\"", "NULL", "split_nulls"]);
        let with_nulls = Settings {
            split_nulls: true,
            ..settings.clone()
        };
        assert_eq!(in_ranges(&with_nulls).0.len(), 1000);
        // The condition excludes these rows.
        let filtered = Settings {
            filter: Some("k IS NOT NULL -- all others".to_owned()),
            ..settings
        };
        assert_eq!(in_ranges(&filtered).0.len(), 980);
    });
}

#[test]
fn a_key_that_cannot_be_one_is_refused() {
    on_each_version(|database| {
        database.run(
            "CREATE TABLE t (k point, v int); INSERT INTO t SELECT NULL, n FROM generate_series(1, 10) AS n",
        );
        let table = Settings {
            columns: vec!["v".to_owned()],
            ..database.table("t")
        };
        let nowhere = Settings {
            split_by: Some("K".to_owned()),
            ..table.clone()
        };
        refused(&by_key(table), &["\"k\"", "ordering operator", "split_by"]);
        refused(&nowhere, &["no column \"K\"", "split_by", "\"k\", \"v\""]);
        let by_query = |sql: &str| by_key(database.query(sql));
        refused(
            &by_query("SELECT v AS k FROM t LIMIT 3"),
            &["LIMIT", "split_by"],
        );
        refused(
            &by_query("SELECT v AS k FROM t TABLESAMPLE system (10)"),
            &["TABLESAMPLE", "split_by"],
        );
        let newest = by_query("SELECT v AS k FROM t WHERE v = (SELECT max(v) FROM t)");
        assert_eq!(in_ranges(&newest).0.len(), 1);
    });
}

#[test]
fn other_borders_are_another_state() {
    on_each_version(|database| {
        database.run(
            "CREATE TABLE t (k int); INSERT INTO t SELECT n FROM generate_series(1, 1000) AS n; ANALYZE t",
        );
        let settings = Settings {
            is_stable: true,
            ..by_key(database.table("t"))
        };
        let open = || PostgresSource::open(&settings, &Stop::default()).expect("it opens");
        let (first, second) = (open(), open());
        assert_eq!(first.input(0).state(), second.input(0).state());
        assert_eq!(first.input(0).identity(), second.input(0).identity());
        database.run("INSERT INTO t SELECT n FROM generate_series(1, 3000) AS n; ANALYZE t");
        assert_ne!(first.input(0).state().mark, open().input(0).state().mark);
    });
}

/// A range of a key is identified by the number of its first step. With other borders, the same number means other
/// rows.
#[test]
fn other_borders_make_another_input() {
    on_each_version(|database| {
        database.run("CREATE TABLE t (k int NOT NULL, at timestamptz NOT NULL)");
        let since = |lag: &str| Since {
            column: "at".to_owned(),
            from: None,
            bound_by: BoundBy::Lag(lag.to_owned()),
            skips_nulls: false,
            of: "t".to_owned(),
            given: None,
            stopped: Vec::new(),
        };
        let look = |since: Option<Since>| {
            let settings = Settings {
                since,
                ..by_key(database.table("t"))
            };
            let source = PostgresSource::open(&settings, &Stop::default()).expect("it opens");
            let input = source.input(0);
            let mut identity = input.identity();
            // The bound differs each time.
            identity.retain(|part| !part.contains("\"at\" <"));
            (identity, input.mark())
        };
        for (first, last) in [(1, 500), (100_001, 101_000)] {
            let fill = format!(
                "INSERT INTO t SELECT n, '2020-01-01' FROM generate_series({first}, {last}) AS n; ANALYZE t"
            );
            let before = [look(None), look(Some(since("1 day")))];
            database.run(&fill);
            let after = [look(None), look(Some(since("1 day")))];
            assert_ne!(before[0].1, after[0].1, "the mark");
            assert_ne!(before[1].0, after[1].0, "the identity");
            assert_eq!(look(Some(since("1 day"))).0, after[1].0, "the same borders");
        }
    });
}
