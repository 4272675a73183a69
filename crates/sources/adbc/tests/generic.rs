//! Tests tables, queries and ranges of a key against the contract of a source, for a database that is known only by its
//! ADBC driver (`docs/specs/source.md`).
//!
//! PostgreSQL by its ADBC driver is such a database: only the SQL standard and Arrow's types are used.

mod case;
#[path = "../../../embedded/tests/common/mod.rs"]
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use case::{Form, by_key, paced, query, site_packages, table_of};
use inrush_destination::Address;
use inrush_embedded::{Binaries, EmbeddedServer};
use inrush_rows::cancel::Stop;
use inrush_source::{Source, SourceError};
use inrush_source_adbc::{AdbcSource, Database, Vendor};
use inrush_source_conformance::{Case, Change, Row, hold};

/// A password that the server does not ask for, and that must not appear in any message.
const PASSWORD: &str = "not-to-be-told";

static NUMBERS: AtomicU32 = AtomicU32::new(1);

/// The folder of Python packages with the driver; `None` if it is not installed.
fn driver() -> Option<PathBuf> {
    site_packages().filter(|site| site.join("adbc_driver_postgresql").is_dir())
}

/// A table of known rows in a schema of its own.
struct TableCase {
    binaries: Binaries,
    url: String,
    form: Form,
    schema: String,
    rows: Vec<Row>,
}

impl TableCase {
    fn new(binaries: &Binaries, url: &str, form: Form, rows: usize) -> TableCase {
        let schema = format!("s{}", NUMBERS.fetch_add(1, Ordering::Relaxed));
        let of_row = |n: usize| Row {
            place: match form {
                Form::Ranges => format!("{schema}.t, row with id = {n}"),
                Form::Table => format!(
                    "{schema}.t, row {} (in the order in which the database sent them)",
                    n + 1
                ),
                Form::Query => format!(
                    "the query, row {} (in the order in which the database sent them)",
                    n + 1
                ),
            },
            fields: vec![
                n.to_string(),
                match n % 50 {
                    20 => String::new(),
                    21 => Row::text(b"\"\""),
                    22 => Row::text("\"say \"\"yes\"\",\nü\"".as_bytes()),
                    _ => format!("note {n}"),
                },
                format!("{n}.25"),
                format!("2024-01-{:02}", n % 28 + 1),
            ],
            is_faulty: false,
        };
        let case = TableCase {
            binaries: binaries.clone(),
            url: url.to_owned(),
            form,
            rows: (0..rows).map(of_row).collect(),
            schema,
        };
        let schema = &case.schema;
        let made = case.try_run(&format!(
            "CREATE SCHEMA {schema}; \
             CREATE TABLE {schema}.t (id int, note text, price float8, day date); \
             INSERT INTO {schema}.t SELECT n, \
               CASE n % 50 WHEN 20 THEN NULL WHEN 21 THEN '' WHEN 22 THEN E'say \"yes\",\\nü' ELSE 'note ' || n END, \
               n + 0.25, '2024-01-01'::date + n % 28 \
             FROM generate_series(0, {rows} - 1) AS n ORDER BY n"
        ));
        assert!(made, "the table of a case is made");
        case
    }

    /// True if the server has run the statements.
    fn try_run(&self, sql: &str) -> bool {
        let output = server::psql(&self.binaries, &self.url, sql);
        output.status.success()
    }

    fn open_database(&self) -> Result<Database, SourceError> {
        let site = driver();
        let separator = if self.url.contains('?') { '&' } else { '?' };
        let uri = format!("{}{separator}password={PASSWORD}", self.url);
        let options = BTreeMap::from([("uri".to_owned(), uri)]);
        let address = Address {
            url: "adbc:postgresql",
            options: &options,
            folder: Path::new("."),
            site_packages: site.as_deref(),
            ledger_schema: "",
        };
        Database::open(&address, &Stop::default())
    }
}

impl Drop for TableCase {
    fn drop(&mut self) {
        // The source of a test that failed may still hold its locks.
        let schema = &self.schema;
        self.try_run(&format!(
            "SET lock_timeout = '5s'; SET client_min_messages = error; DROP SCHEMA {schema} CASCADE"
        ));
    }
}

impl Case for TableCase {
    fn open_at(
        &self,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let schema = &self.schema;
        let settings = match self.form {
            Form::Table => table_of(Some(schema), "t"),
            Form::Query => query(&format!(
                "SELECT * FROM {schema}.t ORDER BY id -- all of it"
            )),
            Form::Ranges => by_key(table_of(Some(schema), "t"), "id"),
        };
        let settings = paced(settings, rate_bytes_max);
        let database = Arc::new(self.open_database()?);
        assert_eq!(database.vendor, Vendor::Other, "the generic way is tested");
        Ok(Box::new(AdbcSource::open(&database, &settings, stop)?))
    }

    fn limits_rate(&self) -> bool {
        true
    }

    fn rows(&self) -> Vec<Vec<Row>> {
        vec![self.rows.clone()]
    }

    fn secrets(&self) -> Vec<String> {
        vec![PASSWORD.to_owned()]
    }

    fn change(&self, change: Change) -> bool {
        let table = format!("{}.t", self.schema);
        self.try_run(&match change {
            Change::Touched => format!(
                "BEGIN; INSERT INTO {table} (id) VALUES (-1); DELETE FROM {table} WHERE id = -1; COMMIT"
            ),
            Change::Rewritten => format!("UPDATE {table} SET note = 'note 6' WHERE id = 5"),
            Change::Grown => format!("INSERT INTO {table} (id) VALUES (-2)"),
            // An open source holds a lock that prevents this.
            Change::Removed => format!("SET lock_timeout = '50ms'; DROP TABLE {table}"),
        })
    }
}

#[test]
fn tables_and_queries_of_another_driver_hold() {
    if driver().is_none() {
        return;
    }
    let Some(binaries) = server::installations().into_iter().next() else {
        return;
    };
    let parent = server::open_folder();
    let mut options = server::temporary(&binaries, parent.path());
    options.durable = false;
    let started = EmbeddedServer::start(options).expect("a server");
    let url = started.url();
    let seed = u64::from(std::process::id());
    for form in [Form::Table, Form::Query, Form::Ranges] {
        let make =
            |rows| -> Box<dyn Case> { Box::new(TableCase::new(&binaries, &url, form, rows)) };
        hold(&format!("{form:?} by another driver"), &make, seed);
    }
}
