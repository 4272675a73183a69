//! Tests rows that are handed out in the server's own form: the bytes are the server's own, and the rows are the same
//! as the rows that are read in chunks.

mod case;

use case::{Database, on_each_version};
use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::{ReadSettings, Source, SourceSplit, SourceStream, SplitEnd};
use inrush_source_postgres::{PostgresSource, Settings};

/// Reads a split in the server's own form: returns the rows, their number, and the end of the split.
fn passed(
    stream: &mut dyn SourceStream,
    split: &SourceSplit,
    until: usize,
) -> (Vec<u8>, u64, SplitEnd) {
    let mut reader = stream.open(split).expect("it opens");
    let rows = reader.native_rows().expect("all columns have a form");
    let (mut all, mut count) = (Vec::new(), 0);
    loop {
        let mut block = b"before".to_vec();
        let added = rows.append_rows(&mut block, until).expect("rows");
        assert_eq!(&block[..6], b"before");
        all.extend_from_slice(&block[6..]);
        match added {
            Some(added) => count += added,
            None => break,
        }
    }
    assert_eq!(rows.meter().record_count, count);
    let again = rows.append_rows(&mut Vec::new(), until);
    assert_eq!(again.expect("the end again"), None);
    (all, count, reader.end())
}

/// Reads the same split in chunks: returns the number of its rows, and its end.
fn decoded(stream: &mut dyn SourceStream, split: &SourceSplit) -> (u64, SplitEnd) {
    let mut reader = stream.open(split).expect("it opens");
    let mut records = Records::default();
    let mut count = 0;
    while let Some(chunk) = reader.next_chunk(&mut records).expect("a chunk") {
        count += chunk.typed.expect("typed rows").row_count as u64;
    }
    (count, reader.end())
}

fn check(database: &Database, settings: &Settings, query: &str) {
    let wanted = database.binary(query);
    for (chunk_bytes, until) in [(1, 1), (4096, 0), (64 << 10, 1 << 20), (1 << 20, 5000)] {
        let source = PostgresSource::open(settings, &Stop::default()).expect("it opens");
        let forms = source.native_forms().expect("all columns have a form");
        assert_eq!(forms.len(), source.columns().expect("columns").len());
        let mut stream = source
            .open_stream(ReadSettings { chunk_bytes })
            .expect("a stream");
        let mut all = Vec::new();
        for split in source.splits(0, 64 << 10).expect("splits") {
            let (bytes, count, end) = passed(&mut *stream, &split, until);
            let (same_count, same_end) = decoded(&mut *stream, &split);
            assert_eq!(count, same_count, "{query}");
            assert_eq!(end.hash, same_end.hash, "{query}");
            all.extend(bytes);
        }
        assert!(
            all == wanted,
            "{query} in chunks of {chunk_bytes}, until {until}"
        );
    }
}

#[test]
fn rows_are_the_bytes_of_the_server() {
    on_each_version(|database| {
        database.run(
            "CREATE TABLE t AS SELECT n AS id, \
             CASE n % 7 WHEN 0 THEN NULL WHEN 1 THEN repeat('x', n % 900) ELSE 'note ' || n END AS note, \
             CASE n % 5 WHEN 0 THEN 'NaN' ELSE n / 3.0 END AS price, \
             CASE n % 9 WHEN 0 THEN 'infinity' ELSE '2024-01-01'::date + n END AS day, \
             CASE n % 3 WHEN 0 THEN ARRAY[int4range(n, n + 5), NULL] END AS spans \
             FROM generate_series(1, 4000) AS n; \
             DELETE FROM t WHERE id % 10 = 3; CREATE TABLE none (n int)",
        );
        check(database, &database.table("t"), "SELECT * FROM t");
        check(database, &database.table("none"), "SELECT * FROM none");
        let query = "SELECT note, id FROM t WHERE id > 100";
        check(database, &database.query(query), query);
        let keys = Settings {
            split_by: Some("id".to_owned()),
            ..database.table("t")
        };
        check(database, &keys, "SELECT * FROM t");
        let text = Settings {
            columns: vec!["id".to_owned(), "day::text".to_owned()],
            ..database.table("t")
        };
        check(database, &text, "SELECT id, day::text FROM t");
    });
}

#[test]
fn a_form_names_the_type_that_is_sent() {
    on_each_version(|database| {
        database.run("CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TABLE t (m mood, c regclass)");
        let columns = |names: &[&str]| Settings {
            columns: names.iter().map(|name| (*name).to_owned()).collect(),
            ..database.table("t")
        };
        let open = |settings| PostgresSource::open(&settings, &Stop::default()).expect("it opens");
        let forms = open(columns(&["m", "c::text"])).native_forms();
        let forms = forms.expect("both have one");
        assert_eq!(forms[0].form, "postgresql public.mood {sad,ok}");
        assert_eq!(forms[1].form, "postgresql text");
    });
}
