//! The source: a table, a view or a query of one database.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_rows::sql_text::without_semicolon;
use inrush_source::{
    Input, ReadSettings, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent, SplitReader, has_same_hashes,
};
use inrush_tdsclient::{Interrupt, Session, SessionError, SessionOptions};

use crate::columns::Column;
use crate::error::refused;
use crate::input::TableInput;
use crate::reader::RowReader;
use crate::{Rows, Settings, query};

/// The longest wait for a lock.
const LOCK_MILLISECONDS: u32 = 60_000;

/// A table, a view or a query.
#[derive(Debug)]
pub struct SqlServerSource {
    description: String,
    input: Arc<TableInput>,
    notes: Vec<String>,
    reading: Reading,
}

/// What readers need.
#[derive(Debug)]
pub struct Reading {
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// The statement.
    pub statement: String,
    /// The pace of all readers.
    pub pace: Arc<Pace>,
    /// Asked when reads have to end.
    pub stop: Stop,
    options: SessionOptions,
    interrupt: Arc<Interrupt>,
    idle: Mutex<Option<Session>>,
}

/// A session of one reader. If it is dropped before the end of its rows, its connection ends.
#[derive(Debug)]
pub struct Lease {
    /// The session.
    pub session: Session,
}

impl Reading {
    /// A session for a reader.
    pub fn lease(&self, input: &TableInput) -> Result<Lease, SourceError> {
        let kept = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let session = match kept.filter(Session::is_open) {
            Some(session) => Ok(session),
            None => connect(&self.options, &self.interrupt),
        };
        let session = session.map_err(|error| refused(&input.name, "connecting", &error))?;
        Ok(Lease { session })
    }

    /// Takes back a session whose rows were all received.
    pub fn give_back(&self, lease: Lease) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        *idle = Some(lease.session);
    }
}

fn connect(options: &SessionOptions, interrupt: &Arc<Interrupt>) -> Result<Session, SessionError> {
    let mut session = Session::connect(options, 0, interrupt)?;
    let settings = format!(
        "SET XACT_ABORT ON; SET ARITHABORT ON; SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCK_TIMEOUT \
         {LOCK_MILLISECONDS}"
    );
    session.run(&settings)?;
    Ok(session)
}

impl SqlServerSource {
    /// Opens a table or a query. Reads end when the stop is asked.
    pub fn open(
        options: &SessionOptions,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<SqlServerSource, SourceError> {
        let name = settings.rows.name();
        let input = Path::new(&name);
        let settings = Settings {
            rows: match &settings.rows {
                Rows::Query(query) => Rows::Query(without_semicolon(query).to_owned()),
                table => table.clone(),
            },
            ..settings.clone()
        };
        let interrupt = Arc::new(Interrupt::at(stop));
        let failed = |doing: &str, error: SessionError| refused(input, doing, &error);
        let mut session =
            connect(options, &interrupt).map_err(|error| failed("connecting", error))?;
        let shows_moment = shows_moment(&mut session);
        let shows_moment = shows_moment
            .map_err(|error| failed("asking for the settings of the database", error))?;
        let from = query::rows_of(&settings);
        let doing = format!("asking for the columns of {name}");
        let all = columns_of(&mut session, &query::describe(&from));
        let all = all.map_err(|error| failed(&doing, error))?;
        let names: Vec<String> = all.into_iter().map(|column| column.name).collect();
        let statement = query::read(input, &from, &names, &settings)?;
        let columns = columns_of(&mut session, &format!("{statement} WHERE 1 = 0"));
        let columns = columns.map_err(|error| failed(&doing, error))?;

        let facts = session.facts();
        let version = facts.version;
        let database = facts.database.clone();
        let description = format!(
            "{name} of {} {}.{}.{}, database {database} at {}",
            facts.program, version.0, version.1, version.2, facts.endpoint
        );
        let mut identity: Vec<String> = options.endpoints.iter().map(|at| at.to_string()).collect();
        identity.push(database.clone());
        identity.push(format!("{:?}", settings.rows));
        identity.extend(settings.columns.iter().cloned());
        identity.extend(settings.filter.clone());
        let moment = match shows_moment {
            true => format!(
                "{name} is read by one statement, which shows the moment at which it begins (READ_COMMITTED_SNAPSHOT)"
            ),
            false => format!(
                "{name} is read at the isolation level READ COMMITTED: a row that is moved meanwhile may be read twice or not at \
                 all. Let nobody write to it, or run ALTER DATABASE ... SET READ_COMMITTED_SNAPSHOT ON first"
            ),
        };
        let untested =
            "Inrush has not been tested with a real SQL Server yet: compare the rows after the load"
                .to_owned();
        Ok(SqlServerSource {
            description,
            input: Arc::new(TableInput {
                name: Arc::from(input),
                mark: match settings.is_stable {
                    true => "stable".to_owned(),
                    false => never_the_same(),
                },
                identity,
            }),
            notes: vec![moment, untested],
            reading: Reading {
                columns,
                statement,
                pace: Arc::clone(&settings.pace),
                stop: stop.clone(),
                options: options.clone(),
                interrupt,
                idle: Mutex::new(Some(session)),
            },
        })
    }

    /// Its columns, with what a new target needs to know of them.
    pub fn source_columns(&self) -> &[Column] {
        &self.reading.columns
    }
}

/// True if a statement of READ COMMITTED shows the moment at which it began.
fn shows_moment(session: &mut Session) -> Result<bool, SessionError> {
    let question = "SELECT is_read_committed_snapshot_on FROM sys.databases WHERE name = DB_NAME()";
    let rows = session.run(question)?.into_rows();
    let answer = rows.into_iter().flatten().flatten().next();
    Ok(answer.is_some_and(|answer| answer == "1"))
}

/// The columns of a statement without rows.
fn columns_of(session: &mut Session, statement: &str) -> Result<Vec<Column>, SessionError> {
    let described = session.begin_query(statement)?;
    while session.next_rows()?.is_some() {}
    Ok(described.columns().iter().map(Column::new).collect())
}

/// A text that no other opening has: the rows may have changed at any time.
fn never_the_same() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    format!(
        "opened {} {} {}",
        std::process::id(),
        now.unwrap_or_default().as_nanos(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

impl Source for SqlServerSource {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        Ok(self.reading.columns.iter().map(Column::in_source).collect())
    }

    fn input_count(&self) -> usize {
        1
    }

    fn input(&self, _index: usize) -> Arc<dyn Input> {
        self.input.clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        SourceSplit {
            input,
            range: 0..0,
            first_record: None,
            is_shared: false,
            size_bytes: 0,
        }
    }

    fn splits(&self, input: usize, _wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        Ok(vec![self.whole(input)])
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(Box::new(Stream {
            source: self,
            chunk_bytes: settings.chunk_bytes,
        }))
    }

    fn has_same_content(&self, _input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        has_same_hashes(read, |_, chunk_bytes| {
            RowReader::open(&self.reading, &self.input, chunk_bytes)
        })
    }

    /// Each source has a session of its own.
    fn has_one_moment(&self) -> bool {
        false
    }

    fn pace(&self) -> Option<&Arc<Pace>> {
        let pace = &self.reading.pace;
        pace.is_limited().then_some(pace)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// The way of one thread through the splits.
struct Stream<'a> {
    source: &'a SqlServerSource,
    chunk_bytes: usize,
}

impl SourceStream for Stream<'_> {
    fn open(&mut self, _split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        let source = self.source;
        let reader = RowReader::open(&source.reading, &source.input, self.chunk_bytes)?;
        Ok(Box::new(reader))
    }
}
