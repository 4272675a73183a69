//! Tables whose rows are known, in files of DuckDB and SQLite.

#![allow(dead_code, reason = "each test program uses its own part of it")]

mod drivers;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use adbc_core::options::{OptionDatabase, OptionValue};
use adbc_core::{Connection as _, Database as _, Driver as _, Statement as _};
use inrush_adbcclient::driver_library;
use inrush_destination::Address;
use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_source::{Source, SourceError};
use inrush_source_adbc::{AdbcSource, Database, Rows, Settings};
use inrush_source_conformance::{Case, Change, Row};
use tempfile::TempDir;

pub use drivers::{has_duckdb, site_packages};

/// A database for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    DuckDb,
    Sqlite,
}

/// The databases that can be tested here.
pub fn kinds() -> Vec<Kind> {
    let mut kinds = Vec::new();
    kinds.extend(has_duckdb().then_some(Kind::DuckDb));
    kinds.extend(site_packages().map(|_| Kind::Sqlite));
    kinds
}

/// A file of a database.
pub struct File {
    pub kind: Kind,
    pub folder: TempDir,
}

impl File {
    pub fn new(kind: Kind) -> File {
        File {
            kind,
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("rows.db")
    }

    /// Runs statements on a file, which is created if it is not there.
    pub fn run_on(&self, path: &Path, statements: &[String]) {
        let site = site_packages().expect("drivers");
        let (name, option) = match self.kind {
            Kind::DuckDb => ("duckdb", "path"),
            Kind::Sqlite => ("sqlite", "uri"),
        };
        let mut driver =
            driver_library::load(name, None, Path::new("."), Some(&site)).expect("a driver");
        let file = path.to_str().expect("a path").to_owned();
        let options = [(OptionDatabase::from(option), OptionValue::String(file))];
        let database = driver.new_database_with_opts(options).expect("a database");
        let mut connection = database.new_connection().expect("a connection");
        for sql in statements {
            let mut statement = connection.new_statement().expect("a statement");
            statement.set_sql_query(sql).expect("a text");
            if let Err(error) = statement.execute_update() {
                panic!("{sql}: {}", error.message);
            }
        }
    }

    pub fn run(&self, statements: &[&str]) {
        let statements: Vec<String> = statements.iter().map(|one| (*one).to_owned()).collect();
        self.run_on(&self.path(), &statements);
    }

    /// Opens the file for reading.
    pub fn open(&self) -> Result<Arc<Database>, SourceError> {
        let site = site_packages();
        let path = self.path().to_str().expect("a path").to_owned();
        let (url, options) = match self.kind {
            Kind::DuckDb => (format!("duckdb:{path}"), BTreeMap::new()),
            Kind::Sqlite => (
                "adbc:sqlite".to_owned(),
                BTreeMap::from([("uri".to_owned(), path)]),
            ),
        };
        let address = Address {
            url: &url,
            options: &options,
            folder: Path::new("."),
            site_packages: site.as_deref(),
            ledger_schema: "",
        };
        Database::open(&address, &Stop::default()).map(Arc::new)
    }
}

/// Settings that read a table.
pub fn table(name: &str) -> Settings {
    table_of(None, name)
}

/// Settings that read a table of a schema.
pub fn table_of(schema: Option<&str>, name: &str) -> Settings {
    settings(Rows::Table {
        schema: schema.map(str::to_owned),
        name: name.to_owned(),
    })
}

/// These settings with a rate.
pub fn paced(settings: Settings, rate_bytes_max: Option<u64>) -> Settings {
    Settings {
        pace: Arc::new(Pace::new(rate_bytes_max)),
        ..settings
    }
}

/// Settings that read a query.
pub fn query(sql: &str) -> Settings {
    settings(Rows::Query(sql.to_owned()))
}

/// The same settings, with ranges of a key.
pub fn by_key(settings: Settings, column: &str) -> Settings {
    Settings {
        split_by: Some(column.to_owned()),
        ..settings
    }
}

fn settings(rows: Rows) -> Settings {
    Settings {
        rows,
        columns: Vec::new(),
        filter: None,
        split_by: None,
        split_nulls: false,
        connections_max: Some(4),
        pace: Arc::default(),
        is_stable: false,
        since: None,
    }
}

/// How the rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Table,
    Query,
    Ranges,
}

/// A table of known rows.
pub struct TableCase {
    file: File,
    /// The open database, and the inode of its file. All sources of a case share it, as in a run, because a process can open a DuckDB
    /// file only once.
    opened: Mutex<Option<(u64, Weak<Database>)>>,
    form: Form,
    rows: Vec<Row>,
}

impl TableCase {
    pub fn new(kind: Kind, form: Form, rows: usize) -> TableCase {
        let file = File::new(kind);
        let (numbers, types, bad) = match kind {
            Kind::DuckDb => (
                format!("SELECT range AS n FROM range({rows})"),
                "id INTEGER, note VARCHAR, price DECIMAL(12,2), day DATE",
                "'note ' || n",
            ),
            Kind::Sqlite => (
                format!(
                    "WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n + 1 < {rows}) \
                     SELECT n FROM c"
                ),
                "id INTEGER, note TEXT, price DECIMAL_TEXT(12,2), day DATE",
                "CAST(x'ff' AS TEXT)",
            ),
        };
        let price = match kind {
            Kind::DuckDb => "n + 0.25",
            Kind::Sqlite => "n || '.25'",
        };
        // 2024-01-01 to 2024-01-28.
        let day = match kind {
            Kind::DuckDb => "DATE '2024-01-01' + (n % 28)::INTEGER",
            Kind::Sqlite => "date('2024-01-01', (n % 28) || ' days')",
        };
        let infinite = match kind {
            Kind::DuckDb => "DATE 'infinity'",
            Kind::Sqlite => "'infinity'",
        };
        file.run(&[
            &format!("CREATE TABLE t ({types})"),
            &format!(
                "INSERT INTO t SELECT n, \
                   CASE n % 50 WHEN 11 THEN {bad} WHEN 20 THEN NULL WHEN 21 THEN '' \
                     WHEN 22 THEN 'say \"yes\", ü' ELSE 'note ' || n END, \
                   {price}, CASE n % 50 WHEN 23 THEN {infinite} ELSE {day} END \
                 FROM ({numbers}) AS numbers ORDER BY n"
            ),
        ]);
        // In the order of the key, such a row would come last.
        let has_odd_ids = kind == Kind::Sqlite && form != Form::Ranges;
        if has_odd_ids {
            file.run(&["UPDATE t SET id = 'no number' WHERE id % 50 = 12"]);
        }
        let of_row = |n: usize| {
            let is_sqlite = kind == Kind::Sqlite;
            let note = match n % 50 {
                11 if is_sqlite => String::new(),
                20 => String::new(),
                21 => Row::text(b"\"\""),
                22 => Row::text("\"say \"\"yes\"\", ü\"".as_bytes()),
                _ => format!("note {n}"),
            };
            let id = match n % 50 {
                12 if has_odd_ids => String::new(),
                _ => n.to_string(),
            };
            let day = match n % 50 {
                23 => "infinity".to_owned(),
                _ => format!("2024-01-{:02}", n % 28 + 1),
            };
            let place = match (kind, form) {
                (Kind::DuckDb, Form::Table) => format!("t, row with rowid {n}"),
                (Kind::Sqlite, Form::Table) => {
                    format!(
                        "t, row {} (in the order in which the database sent them)",
                        n + 1
                    )
                }
                (_, Form::Ranges) => format!("t, row with id = {n}"),
                (_, Form::Query) => format!(
                    "the query, row {} (in the order in which the database sent them)",
                    n + 1
                ),
            };
            Row {
                place,
                fields: vec![id, note, format!("{n}.25"), day],
                is_faulty: is_sqlite && (n % 50 == 11 || n % 50 == 12 && has_odd_ids),
            }
        };
        TableCase {
            file,
            opened: Mutex::default(),
            form,
            rows: (0..rows).map(of_row).collect(),
        }
    }
}

impl Case for TableCase {
    fn open_at(
        &self,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let settings = match self.form {
            Form::Table => table("t"),
            Form::Query => query("SELECT * FROM t -- all of it"),
            Form::Ranges => by_key(table("t"), "id"),
        };
        let settings = paced(settings, rate_bytes_max);
        let inode = std::fs::metadata(self.file.path()).map_or(0, |found| found.ino());
        let mut opened = self.opened.lock().expect("no test has panicked");
        let known = opened.as_ref().filter(|(of, _)| *of == inode);
        let database = match known.and_then(|(_, known)| known.upgrade()) {
            Some(known) => known,
            None => self.file.open()?,
        };
        *opened = Some((inode, Arc::downgrade(&database)));
        Ok(Box::new(AdbcSource::open(&database, &settings, stop)?))
    }

    fn limits_rate(&self) -> bool {
        true
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        vec![self.rows.clone()]
    }

    /// Files are replaced by changed copies: an open source prevents other programs from writing to a file of DuckDB.
    fn change(&self, change: Change) -> bool {
        let path = self.file.path();
        let statement = match change {
            Change::Removed => return std::fs::remove_file(&path).is_ok(),
            Change::Touched => None,
            Change::Rewritten => Some("UPDATE t SET note = 'note 6' WHERE id = 5"),
            Change::Grown => Some("INSERT INTO t (id) VALUES (-2)"),
        };
        let copy = self.file.folder.path().join("copy.db");
        std::fs::copy(&path, &copy).expect("a copy");
        if let Some(statement) = statement {
            self.file.run_on(&copy, &[statement.to_owned()]);
        }
        std::fs::rename(&copy, &path).is_ok()
    }
}
