//! Tables whose rows are known, in the double of SQL Server (`tests/sqlserver/double`): a program in Python that
//! answers like SQL Server.

#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_source::{Source, SourceError};
use inrush_source_conformance::{Case, Change, Row};
use inrush_source_sqlserver::{Rows, SessionOptions, Settings, SqlServerSource, session_options};

/// A password that the double does not check, and that must not appear in any message.
const PASSWORD: &str = "not-to-be-told";

static NUMBERS: AtomicU32 = AtomicU32::new(1);

/// A running double, until it is dropped.
pub struct Double {
    process: Child,
    words: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
    url: String,
}

impl Double {
    /// Starts a double, with the Python of the repository's `.venv`. Its database keeps versions for SNAPSHOT.
    pub fn start() -> Arc<Double> {
        let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let repository = above.find(|folder| folder.join("Cargo.lock").exists());
        let repository = repository.expect("a repository");
        let mut process = Command::new(repository.join(".venv/bin/python"))
            .args(["-m", "sqlserver.double"])
            .current_dir(repository.join("tests"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the Python of .venv (make build)");
        let input = process.stdin.take().expect("its input");
        let mut output = BufReader::new(process.stdout.take().expect("its output"));
        let mut url = String::new();
        output.read_line(&mut url).expect("its URL");
        let double = Double {
            process,
            words: Mutex::new((input, output)),
            url: url.trim_end().to_owned(),
        };
        double.ask(&serde_json::json!({ "set": { "allows_snapshots": true } }));
        Arc::new(double)
    }

    fn ask(&self, asked: &serde_json::Value) -> String {
        let mut words = self.words.lock().expect("no test has panicked");
        writeln!(words.0, "{asked}").expect("it listens");
        let mut answer = String::new();
        words.1.read_line(&mut answer).expect("it answers");
        answer.trim_end().to_owned()
    }

    /// Runs statements. `Err` is the server's error.
    pub fn try_run(&self, sql: &str) -> Result<(), String> {
        match self.ask(&serde_json::json!({ "sql": sql })) {
            answer if answer == "ok" => Ok(()),
            error => Err(error),
        }
    }

    /// Runs statements.
    pub fn run(&self, sql: &str) {
        if let Err(error) = self.try_run(sql) {
            panic!("{sql}: {error}");
        }
    }

    /// Sets an attribute of the database.
    pub fn set(&self, name: &str, value: impl Into<serde_json::Value>) {
        let value: serde_json::Value = value.into();
        assert_eq!(
            self.ask(&serde_json::json!({ "set": { name: value } })),
            "ok"
        );
    }

    /// The options of sessions with the double.
    pub fn options(&self) -> SessionOptions {
        let options = [("password".to_owned(), PASSWORD.to_owned())];
        session_options(&self.url, &options.into(), Path::new(".")).expect("a good URL")
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Settings that read a table.
pub fn table(name: &str) -> Settings {
    settings(Rows::Table {
        schema: None,
        name: name.to_owned(),
    })
}

/// Settings that read a query.
pub fn query(sql: &str) -> Settings {
    settings(Rows::Query(sql.to_owned()))
}

fn settings(rows: Rows) -> Settings {
    Settings {
        rows,
        columns: Vec::new(),
        filter: None,
        split_by: None,
        split_nulls: false,
        connections_max: Some(5),
        pace: Arc::default(),
        since: None,
        is_stable: false,
    }
}

/// How the rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A heap, by one statement.
    Heap,
    /// A query, by one statement.
    Query,
    /// Ranges of a key that the settings name.
    Ranges,
    /// Ranges of the key by which the table is stored.
    Clustered,
    /// The partitions of a heap.
    Partitions,
}

/// A table of known rows.
pub struct TableCase {
    double: Arc<Double>,
    form: Form,
    name: String,
    rows: Vec<Row>,
}

impl TableCase {
    pub fn new(double: &Arc<Double>, form: Form, rows: usize) -> TableCase {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("t{number}");
        let third = (rows / 3).max(1);
        let on = match form {
            Form::Partitions => {
                double.run(&format!(
                    "CREATE PARTITION FUNCTION f{number} (int) AS RANGE RIGHT FOR VALUES ({third}, {}); CREATE PARTITION SCHEME \
                     s{number} AS PARTITION f{number} ALL TO ([PRIMARY])",
                    2 * third
                ));
                format!(" ON s{number}(id)")
            }
            _ => String::new(),
        };
        double.run(&format!(
            "CREATE TABLE {name} (id int NOT NULL, note nvarchar(40) NULL, price decimal(12,2) NOT NULL, day date NULL, at \
             datetime2(7) NULL){on}"
        ));
        if form == Form::Clustered {
            double.run(&format!("CREATE CLUSTERED INDEX c ON {name} (id)"));
        }
        let mut known = Vec::with_capacity(rows);
        let mut values = Vec::with_capacity(rows);
        for n in 0..rows {
            let (note, field) = match n % 50 {
                20 => (None, String::new()),
                21 => (Some(String::new()), Row::text(b"\"\"")),
                22 => (
                    Some("say \"yes\", ü".to_owned()),
                    Row::text("\"say \"\"yes\"\", ü\"".as_bytes()),
                ),
                _ => (Some(format!("note {n}")), format!("note {n}")),
            };
            let is_faulty = n % 50 == 11;
            let day = format!("2024-01-{:02}", n % 28 + 1);
            let at = match is_faulty {
                // Finer than a microsecond.
                true => "2024-02-29 12:00:00.0000001",
                false => "2024-02-29 12:00:00",
            };
            values.push(serde_json::json!([n, note, format!("{n}.25"), day, at]));
            let place = match form {
                Form::Heap => format!(
                    "{name}, row {} (in the order in which the server sent them)",
                    n + 1
                ),
                Form::Query => format!(
                    "the query, row {} (in the order in which the server sent them)",
                    n + 1
                ),
                Form::Ranges | Form::Clustered | Form::Partitions => {
                    format!("{name}, row with id = {n}")
                }
            };
            known.push(Row {
                place,
                fields: vec![
                    n.to_string(),
                    field,
                    format!("{n}.25"),
                    day,
                    match is_faulty {
                        true => String::new(),
                        false => at.to_owned(),
                    },
                ],
                is_faulty,
            });
        }
        let added = double.ask(&serde_json::json!({ "into": name, "rows": values }));
        assert_eq!(added, "ok");
        TableCase {
            double: Arc::clone(double),
            form,
            name,
            rows: known,
        }
    }
}

impl Drop for TableCase {
    fn drop(&mut self) {
        // A test may have removed it.
        let _ = self.double.try_run(&format!("DROP TABLE {}", self.name));
    }
}

impl Case for TableCase {
    fn open_at(
        &self,
        stop: &Stop,
        rate_bytes_max: Option<u64>,
    ) -> Result<Box<dyn Source>, SourceError> {
        let name = &self.name;
        let settings = match self.form {
            Form::Query => query(&format!("SELECT * FROM {name};")),
            Form::Ranges => Settings {
                split_by: Some("id".to_owned()),
                ..table(name)
            },
            Form::Heap | Form::Clustered | Form::Partitions => table(name),
        };
        let settings = Settings {
            pace: Arc::new(Pace::new(rate_bytes_max)),
            ..settings
        };
        let source = SqlServerSource::open(&self.double.options(), &settings, stop)?;
        Ok(Box::new(source))
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
        let name = &self.name;
        let sql = match change {
            Change::Touched => {
                format!(
                    "INSERT INTO {name} VALUES (-1, NULL, 0, NULL, NULL); DELETE FROM {name} WHERE id = -1"
                )
            }
            Change::Rewritten => format!("UPDATE {name} SET note = N'note 6' WHERE id = 5"),
            // A query shows the moment at which its statement begins, and not the moment at which it was opened.
            Change::Grown if self.form == Form::Query => return false,
            Change::Grown => format!("INSERT INTO {name} VALUES (-2, NULL, 0, NULL, NULL)"),
            Change::Removed => format!("DROP TABLE {name}"),
        };
        self.double.try_run(&sql).is_ok()
    }
}
