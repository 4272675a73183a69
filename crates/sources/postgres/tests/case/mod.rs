//! Tables whose rows are known, in private servers.

#![allow(dead_code, reason = "each test program uses its own part of it")]

#[path = "../../../../embedded/tests/common/mod.rs"]
pub mod server;

use std::sync::atomic::{AtomicU32, Ordering};

use inrush_embedded::{Binaries, EmbeddedServer};
use inrush_pgclient::{ConnectionDefaults, DatabaseAddress};
use inrush_rows::cancel::Stop;
use inrush_scan::Records;
use inrush_source::{ProvenRanges, RangesMark, ReadLimits, ReadSettings, Source, SourceError};
use inrush_source_conformance::{Case, Change, Row};
use inrush_source_postgres::{PostgresSource, Rows, Settings, StructureAsked};

/// A password that the server does not ask for, and that must not appear in any message.
const PASSWORD: &str = "not-to-be-told";

/// [`RangesMark::of`].
const RANGES_OF: &str = "a test";

/// A table with at most this number of rows has only a few rows on each page.
const FEW_ROWS: usize = 1_000;

static NUMBERS: AtomicU32 = AtomicU32::new(1);

/// A database for tests.
#[derive(Clone)]
pub struct Database {
    binaries: Binaries,
    url: String,
}

impl Database {
    /// A new database whose encoding lets texts be any bytes.
    pub fn new(server: &EmbeddedServer, binaries: &Binaries) -> Database {
        server::query(
            server,
            "CREATE DATABASE source ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
        );
        let url = server.url();
        let (before, behind) = url.split_once("@/postgres").expect("the usual database");
        Database {
            binaries: binaries.clone(),
            url: format!("{before}@/source{behind}"),
        }
    }

    /// A new database beside it whose encoding is UTF-8.
    pub fn in_utf8(&self) -> Database {
        self.run("CREATE DATABASE utf8 ENCODING 'UTF8' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
        Database {
            binaries: self.binaries.clone(),
            url: self.url.replacen("/source", "/utf8", 1),
        }
    }

    /// Runs statements, and returns the lines that they print; none if the server refuses one.
    pub fn try_run(&self, sql: &str) -> Option<String> {
        let output = server::psql(&self.binaries, &self.url, sql);
        let text = String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned();
        output.status.success().then_some(text)
    }

    /// Runs statements, and returns the lines that they print.
    pub fn run(&self, sql: &str) -> String {
        let output = server::psql(&self.binaries, &self.url, sql);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{sql}: {errors}");
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned()
    }

    /// The rows of a query in the binary form of COPY, without the stream's header and trailer.
    pub fn binary(&self, query: &str) -> Vec<u8> {
        let sql = format!("COPY ({query}) TO STDOUT (FORMAT binary)");
        let output = server::psql(&self.binaries, &self.url, &sql);
        assert!(output.status.success(), "{sql}");
        output.stdout[19..output.stdout.len() - 2].to_vec()
    }

    /// Settings that read a table.
    pub fn table(&self, name: &str) -> Settings {
        let (schema, name) = match name.split_once('.') {
            Some((schema, name)) => (Some(schema.to_owned()), name.to_owned()),
            None => (None, name.to_owned()),
        };
        self.settings(Rows::Table { schema, name })
    }

    /// Settings that read a query.
    pub fn query(&self, sql: &str) -> Settings {
        self.settings(Rows::Query(sql.to_owned()))
    }

    fn settings(&self, rows: Rows) -> Settings {
        let url = match self.url.contains('?') {
            true => format!("{}&password={PASSWORD}", self.url),
            false => format!("{}?password={PASSWORD}", self.url),
        };
        let defaults = ConnectionDefaults {
            user: Some("postgres".to_owned()),
            ..ConnectionDefaults::default()
        };
        Settings {
            address: DatabaseAddress::parse(&url, &defaults).expect("the URL of a server"),
            rows,
            columns: Vec::new(),
            filter: None,
            split_by: None,
            split_nulls: false,
            limits: ReadLimits {
                connections_max: 4,
                rate_bytes_max: None,
                lock_wait_ms: 60_000,
            },
            is_stable: false,
            proven: None,
            structure: StructureAsked::default(),
            since: None,
        }
    }
}

/// Runs a test on each version of the server.
pub fn on_each_version(test: impl Fn(&Database)) {
    for binaries in &server::installations() {
        let parent = server::open_folder();
        let started =
            EmbeddedServer::start(server::temporary(binaries, parent.path())).expect("a server");
        test(&Database::new(&started, binaries));
    }
}

/// All rows, as their text shows them.
pub fn rows(settings: &Settings) -> Result<Vec<String>, String> {
    let told = |error: SourceError| error.to_string();
    let source = PostgresSource::open(settings, &Stop::default()).map_err(told)?;
    rows_of(&source)
}

pub fn rows_of(source: &PostgresSource) -> Result<Vec<String>, String> {
    let told = |error: SourceError| error.to_string();
    let mut found = Vec::new();
    let settings = ReadSettings {
        chunk_bytes: 64 << 10,
    };
    let mut stream = source.open_stream(settings).map_err(told)?;
    for input in 0..source.input_count() {
        for split in source.splits(input, 16 << 10).map_err(told)? {
            let mut reader = stream.open(&split).map_err(told)?;
            let mut records = Records::default();
            while let Some(chunk) = reader.next_chunk(&mut records).map_err(told)? {
                let typed = chunk.typed.as_ref().expect("typed rows");
                let texts = (0..typed.row_count).map(|row| typed.row_text(row).0);
                found.extend(texts.map(|text| String::from_utf8_lossy(&text).into_owned()));
            }
        }
    }
    Ok(found)
}

pub fn refused(settings: &Settings, parts: &[&str]) {
    let error = rows(settings).expect_err("it cannot be read");
    for part in parts {
        assert!(error.contains(part), "{part:?} is not in: {error}");
    }
}

/// How the rows are read.
#[derive(Clone, Copy, Debug)]
pub enum Form {
    /// A table of two partitions.
    Table,
    /// A query over one table, in the order of its key.
    Query,
    /// A view, in ranges of its key.
    Ranges,
    /// A table in three ranges of its key, whose rows the server counts and hashes.
    Proven,
}

/// A table of known rows; some of them are faulty.
pub struct TableCase {
    database: Database,
    form: Form,
    schema: String,
    rows: Vec<Vec<Row>>,
    /// The ranges of [`Form::Proven`].
    ranges: RangesMark,
}

/// The values of a row in SQL; `n` is its number.
const VALUES: &str = r#"
    n,
    CASE n % 50
        WHEN 11 THEN convert_from('\xff', 'SQL_ASCII')
        WHEN 20 THEN NULL
        WHEN 21 THEN ''
        WHEN 22 THEN E'say "yes",\nü'
        ELSE 'note ' || n
    END,
    CASE n % 50 WHEN 24 THEN 'NaN' ELSE n + 0.25 END,
    n % 2 = 0,
    CASE n % 50 WHEN 23 THEN 'infinity' ELSE '2024-01-01'::date + n % 28 END
"#;

fn fields(n: usize) -> ([String; 5], bool) {
    let note = match n % 50 {
        11 => Row::text(b"\"\""),
        20 => String::new(),
        21 => Row::text(b"\"\""),
        22 => Row::text("\"say \"\"yes\"\",\nü\"".as_bytes()),
        _ => format!("note {n}"),
    };
    let price = match n % 50 {
        24 => "NaN".to_owned(),
        _ => format!("{n}.25"),
    };
    let day = match n % 50 {
        23 => "infinity".to_owned(),
        _ => format!("2024-01-{:02}", n % 28 + 1),
    };
    let paid = if n.is_multiple_of(2) { "t" } else { "f" };
    (
        [n.to_string(), note, price, paid.to_owned(), day],
        n % 50 == 11,
    )
}

impl TableCase {
    pub fn new(database: &Database, form: Form, rows: usize) -> TableCase {
        let schema = format!("s{}", NUMBERS.fetch_add(1, Ordering::Relaxed));
        let storage = match rows > FEW_ROWS {
            true => "",
            false => "WITH (fillfactor = 10)",
        };
        let border = rows;
        let (middle, end) = (rows + 9, rows + 25);
        let columns = "id int, note text, price numeric(12,2), paid boolean, day date";
        database.run(&format!(
            "CREATE SCHEMA {schema}; \
             CREATE TABLE {schema}.t ({columns}) PARTITION BY RANGE (id); \
             CREATE TABLE {schema}.p0 PARTITION OF {schema}.t FOR VALUES FROM (MINVALUE) TO ({border}) {storage}; \
             CREATE TABLE {schema}.p1 PARTITION OF {schema}.t FOR VALUES FROM ({border}) TO (MAXVALUE) {storage}; \
             INSERT INTO {schema}.t SELECT {VALUES} FROM generate_series(0, {end} - 1) AS n ORDER BY n"
        ));
        let numbers = |range: std::ops::Range<usize>, place: &dyn Fn(usize, usize) -> String| {
            range
                .enumerate()
                .map(|(row, n)| {
                    let (fields, is_faulty) = fields(n);
                    Row {
                        place: place(row, n),
                        fields: fields.to_vec(),
                        is_faulty,
                    }
                })
                .collect()
        };
        let rows = match form {
            Form::Query => {
                let place = |row: usize, _| {
                    format!(
                        "the query, row {} (in the order in which the server sent them)",
                        row + 1
                    )
                };
                vec![numbers(0..end, &place)]
            }
            Form::Ranges => {
                database.run(&format!(
                    "CREATE VIEW {schema}.v AS SELECT * FROM {schema}.t"
                ));
                let place = |_, n| format!("{schema}.v, row with id = {n}");
                vec![numbers(0..end, &place)]
            }
            Form::Proven => {
                let name = format!("{schema}.t");
                let place = |range: String| {
                    let name = format!("{name} ({range})");
                    move |_: usize, n: usize| format!("{name}, row with id = {n}")
                };
                let below = place(format!("id below {border}"));
                let between = place(format!("id from {border}, below {middle}"));
                let from = place(format!("id from {middle}"));
                vec![
                    numbers(0..border, &below),
                    numbers(border..middle, &between),
                    numbers(middle..end, &from),
                ]
            }
            Form::Table => {
                let places = |partition: &str| -> Vec<String> {
                    let sql = format!("SELECT ctid FROM {schema}.{partition} ORDER BY id");
                    let lines = database.run(&sql);
                    let place = |ctid: &str| format!("{schema}.{partition}, row with ctid {ctid}");
                    lines.lines().map(place).collect()
                };
                let (first, second) = (places("p0"), places("p1"));
                vec![
                    numbers(0..border, &|row, _| first[row].clone()),
                    numbers(border..end, &|row, _| second[row].clone()),
                ]
            }
        };
        TableCase {
            database: database.clone(),
            form,
            rows,
            ranges: RangesMark {
                of: RANGES_OF.to_owned(),
                column: "id".to_owned(),
                borders: [border, middle].map(|border| border.to_string()).to_vec(),
                size_bytes: 3 << 10,
                snapshot: String::new(),
            },
            schema,
        }
    }
}

impl Drop for TableCase {
    fn drop(&mut self) {
        // The source of a test that failed may still hold its locks.
        let schema = &self.schema;
        self.database.try_run(&format!(
            "SET lock_timeout = '5s'; SET client_min_messages = error; DROP SCHEMA {schema} CASCADE"
        ));
    }
}

impl TableCase {
    fn settings(&self) -> Settings {
        match self.form {
            Form::Table => self.database.table(&format!("{}.t", self.schema)),
            Form::Query => {
                let sql = format!("SELECT * FROM {}.t ORDER BY id -- all of it", self.schema);
                self.database.query(&sql)
            }
            Form::Ranges => Settings {
                split_by: Some("id".to_owned()),
                ..self.database.table(&format!("{}.v", self.schema))
            },
            // The table is too small to be cut otherwise.
            Form::Proven => self.in_ranges(vec![self.ranges.clone()]),
        }
    }

    fn in_ranges(&self, known: Vec<RangesMark>) -> Settings {
        Settings {
            split_by: Some("id".to_owned()),
            proven: Some(ProvenRanges {
                of: RANGES_OF.to_owned(),
                known,
            }),
            ..self.database.table(&format!("{}.t", self.schema))
        }
    }
}

impl Case for TableCase {
    fn open_at(
        &self,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let mut settings = self.settings();
        settings.limits.rate_bytes_max = rate_bytes_max;
        Ok(Box::new(PostgresSource::open(&settings, stop)?))
    }

    fn open_again(&self, stop: &Stop, marks: &[String]) -> Result<Box<dyn Source>, SourceError> {
        let known = marks.iter().filter_map(|mark| RangesMark::from_mark(mark));
        let settings = match self.form {
            Form::Proven => self.in_ranges(known.collect()),
            _ => self.settings(),
        };
        Ok(Box::new(PostgresSource::open(&settings, stop)?))
    }

    fn limits_rate(&self) -> bool {
        true
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        self.rows.clone()
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned()]
    }

    fn change(&self, change: Change) -> bool {
        let table = format!("{}.p0", self.schema);
        let sql = match change {
            Change::Touched => format!(
                "BEGIN; INSERT INTO {table} (id) VALUES (-1); DELETE FROM {table} WHERE id = -1; COMMIT"
            ),
            Change::Rewritten => format!("UPDATE {table} SET note = 'note 6' WHERE id = 5"),
            Change::Grown => format!("INSERT INTO {table} (id) VALUES (-2)"),
            // An open source holds a lock that prevents this.
            Change::Removed => format!("SET lock_timeout = '50ms'; DROP TABLE {table}"),
        };
        self.database.try_run(&sql).is_some()
    }

    fn move_row(&self) -> bool {
        let sql = format!("UPDATE {}.t SET id = 1000000 WHERE id = 5", self.schema);
        self.database.try_run(&sql).is_some()
    }
}
