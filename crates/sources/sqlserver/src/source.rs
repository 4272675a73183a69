//! The source: a table, a view or a query of one database.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_rows::sql_text::{in_parentheses, without_semicolon};
use inrush_source::{
    DatabaseInput, FoundRange, Input, ReadSettings, SessionSampler, Source, SourceColumn,
    SourceError, SourceSplit, SourceStream, SplitContent, Steps, has_same_hashes, never_the_same,
    stream_by, unsuitable,
};
use inrush_tdsclient::{Interrupt, Session, SessionError, SessionOptions, SessionWatch};

use crate::columns::Column;
use crate::error::refused;
use crate::moment::{self, Isolation, Moment, SnapshotSupport};
use crate::pool::{MoreSessions, Pool, connect};
use crate::query::{self, Reads};
use crate::reader::RowReader;
use crate::sampler::Sampler;
use crate::since;
use crate::split_by::{self, SplitBy};
use crate::table::TableFacts;
use crate::user_sql;
use crate::{Rows, Settings};

/// The most sessions that show one moment, if the settings do not limit them. All are opened at once.
const SNAPSHOTS_MAX: usize = 16;
/// The most sessions if they are opened only when they are needed, and the settings do not limit them. There may be as
/// many streams.
const SESSIONS_MAX: usize = 1_024;

/// A table, a view or a query.
#[derive(Debug)]
pub struct SqlServerSource {
    description: String,
    input: Arc<DatabaseInput>,
    rows: Option<u64>,
    since: Option<FoundRange>,
    notes: Vec<String>,
    reading: Reading,
}

/// The shared data of all readers.
#[derive(Debug)]
pub struct Reading {
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// The statements.
    pub reads: Reads,
    /// How the rows are split; `None` if one statement reads all of them.
    pub split_by: Option<SplitBy>,
    /// The sessions.
    pub pool: Pool,
    /// The pace of all readers.
    pub pace: Arc<Pace>,
    /// The stop that ends reads.
    pub stop: Stop,
    /// Asks the server what the sessions do. `None` on Babelfish, which does not report it, and if `max_connections`
    /// allows no further session.
    pub sampler: Option<Arc<Sampler>>,
}

impl SqlServerSource {
    /// Opens a table or a query. Reads end when a stop is requested.
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
        refuse_parts(input, &settings)?;
        let interrupt = Arc::new(Interrupt::at(stop));
        let failed = |doing: &str, error: SessionError| refused(input, doing, &error);
        let mut keeper = connect(options, 0, &interrupt, Isolation::ReadCommitted)
            .map_err(|error| failed("connecting", error))?;
        let versions = SnapshotSupport::ask(&mut keeper)
            .map_err(|error| failed("asking for the settings of the database", error))?;
        let keeps_versions = versions.of_transactions && !versions.is_babelfish;
        if keeps_versions {
            // With SNAPSHOT, the queries of a plan wait for no lock.
            moment::isolate(&mut keeper, Isolation::Snapshot)
                .map_err(|error| failed("setting up a session", error))?;
        }
        let mut settings = settings;
        let from = query::rows_of(&settings, "");
        let doing = format!("asking for the columns of {name}");
        let all = columns_of(&mut keeper, &query::describe(&from));
        let all = all.map_err(|error| failed(&doing, error))?;
        if let Some(condition) = query::condition_alone(&settings) {
            columns_of(&mut keeper, &condition).map_err(|error| failed(&doing, error))?;
        }
        let since = match &settings.since {
            Some(asked) => Some(since::find_range(&mut keeper, asked, input, &from, &all)?),
            None => None,
        };
        if let Some(found) = &since {
            let own = settings.filter.iter().map(|filter| in_parentheses(filter));
            let conditions: Vec<String> = own.chain([found.condition.clone()]).collect();
            settings.filter = Some(conditions.join(" AND "));
        }
        let from = query::rows_of(&settings, "");
        let names: Vec<String> = all.iter().map(|column| column.name.clone()).collect();
        let reads = Reads::of(input, &from, &names, &settings)?;
        let columns = columns_of(&mut keeper, &reads.describe());
        let columns = columns.map_err(|error| failed(&doing, error))?;
        let table_name = query::table(&settings.rows);
        let table = match &table_name {
            Some(table) => TableFacts::ask(&mut keeper, table, versions.is_babelfish)
                .map_err(|error| failed("reading the catalog", error))?,
            None => None,
        };
        let shares_moment = keeps_versions && table.is_some();
        let found = split_by::find(
            &mut keeper,
            &split_by::Asked {
                input,
                settings: &settings,
                columns: &all,
                table: table.as_ref(),
                is_steady: shares_moment || settings.is_stable,
                has_samples: !versions.is_babelfish,
            },
        )?;
        let split_by = found.split_by.filter(|split_by| split_by.count() > 1);
        moment::isolate(&mut keeper, Isolation::ReadCommitted)
            .map_err(|error| failed("setting up a session", error))?;

        let facts = keeper.facts();
        let version = facts.version;
        let database = facts.database.clone();
        let endpoint = facts.endpoint.clone();
        let is_babelfish = versions.is_babelfish;
        let description = format!(
            "{name} of {} {}.{}.{}, database {database} at {}",
            facts.program, version.0, version.1, version.2, facts.endpoint
        );
        let mut identity: Vec<String> = options.endpoints.iter().map(|at| at.to_string()).collect();
        identity.push(database.clone());
        identity.push(format!("{:?}", settings.rows));
        identity.extend(settings.columns.iter().cloned());
        identity.extend(settings.filter.clone());
        let mut mark = match (&since, settings.is_stable) {
            (Some(found), _) => found.range.to_mark(),
            (None, true) => "stable".to_owned(),
            (None, false) => never_the_same(),
        };
        let mut notes = Vec::new();
        let mut size_bytes = 0;
        if let Some(split_by) = &split_by {
            let (named, digest) = split_by.identity();
            identity.push(named);
            // With other borders, the same range of bytes has other rows.
            match since {
                // The mark has only the range, because the next run reads the range from it.
                Some(_) => identity.push(digest),
                None => mark = format!("{mark} {digest}"),
            }
            notes.push(split_by.note(&name));
            let row_bytes: u64 = all.iter().map(Column::value_bytes).sum();
            let of_rows = found.rows.unwrap_or(0).saturating_mul(row_bytes);
            let bytes = table.as_ref().and_then(|table| table.bytes);
            let bytes = bytes.unwrap_or(of_rows);
            // Each step has at least one byte.
            size_bytes = bytes.max(split_by.count());
        }
        let opening = Opening {
            options,
            interrupt: &interrupt,
            table: table_name.as_deref().filter(|_| table.is_some()),
            steps: split_by.as_ref().map_or(1, SplitBy::count),
            sessions_max: settings.connections_max,
        };
        let opened =
            match settings.is_stable || !keeps_versions || !shares_moment && split_by.is_some() {
                true => opening.as_needed(keeper, versions),
                false => opening.at_once(keeper),
            };
        let (moment, pool) = opened.map_err(|error| failed("connecting", error))?;
        let has_room = settings
            .connections_max
            .is_none_or(|limit| pool.sessions_max() < limit);
        let sampler = (has_room && !is_babelfish).then(|| {
            let server = format!("{endpoint}, database {database}");
            let watch = SessionWatch::new(options.clone(), Arc::clone(&interrupt));
            Arc::new(Sampler::new(Arc::from(server), watch))
        });
        if !settings.is_stable {
            notes.push(moment.note(&name, split_by.is_some()));
        }
        notes.push(
            "Inrush has not been tested with a real SQL Server yet: compare the rows after the load"
                .to_owned(),
        );
        Ok(SqlServerSource {
            description,
            input: Arc::new(DatabaseInput {
                index: 0,
                kind: settings.rows.kind(),
                name: Arc::from(input),
                size_bytes,
                mark,
                identity,
                keeps_places: false,
                places_by: None,
                whole_because: match split_by {
                    Some(_) => None,
                    None => Some("read by one statement"),
                },
                is_loaded_alone_again: false,
            }),
            rows: found.rows,
            since,
            notes,
            reading: Reading {
                columns,
                reads,
                split_by,
                pool,
                pace: Arc::clone(&settings.pace),
                stop: stop.clone(),
                sampler,
            },
        })
    }

    /// Its columns, with the facts that a new target needs.
    pub fn source_columns(&self) -> &[Column] {
        &self.reading.columns
    }

    /// The range of an incremental load.
    pub fn since(&self) -> Option<&FoundRange> {
        self.since.as_ref()
    }

    /// The most splits; 1 if one statement reads all rows.
    pub fn splits_max(&self) -> u64 {
        self.reading.split_by.as_ref().map_or(1, SplitBy::count)
    }

    fn steps(&self) -> Steps {
        Steps {
            count: self.splits_max(),
            size_bytes: self.input.size_bytes,
        }
    }

    fn reader(&self, range: &Range<u64>, chunk_bytes: usize) -> Result<RowReader<'_>, SourceError> {
        let steps = match self.reading.split_by {
            Some(_) => self.steps().of_bytes(range),
            None => 0..1,
        };
        RowReader::open(&self.reading, &self.input, steps, chunk_bytes)
    }
}

/// How the sessions of a source are opened.
struct Opening<'a> {
    options: &'a SessionOptions,
    interrupt: &'a Arc<Interrupt>,
    /// The table as statements write it; `None` if it is a view or a query.
    table: Option<&'a str>,
    steps: u64,
    sessions_max: Option<usize>,
}

impl Opening<'_> {
    /// Sessions of READ COMMITTED, which are opened when they are needed.
    fn as_needed(
        &self,
        keeper: Session,
        versions: SnapshotSupport,
    ) -> Result<(Moment, Pool), SessionError> {
        let more = MoreSessions::Opened(Box::new(self.options.clone()), Arc::clone(self.interrupt));
        let sessions_max = self.sessions_max.unwrap_or(SESSIONS_MAX);
        let moment = match versions.of_statements {
            true => Moment::OfStatement,
            false => Moment::None,
        };
        Ok((moment, Pool::new(vec![keeper], more, sessions_max)))
    }

    /// Sessions of SNAPSHOT, which all show the same moment.
    fn at_once(&self, mut keeper: Session) -> Result<(Moment, Pool), SessionError> {
        // The session that holds the shared lock is open at the same time.
        let limit = self.sessions_max.map(|limit| limit.saturating_sub(1));
        let count = limit.unwrap_or(SNAPSHOTS_MAX).clamp(1, SNAPSHOTS_MAX) as u64;
        let count = count.min(self.steps) as usize;
        let mut reason = None;
        if let Some(table) = self.table.filter(|_| count > 1) {
            let Opening {
                options, interrupt, ..
            } = self;
            match moment::begin_snapshots(&mut keeper, options, interrupt, table, count)? {
                Ok(sessions) => {
                    let pool = Pool::new(sessions, MoreSessions::None, count);
                    return Ok((Moment::OfOpening(count), pool));
                }
                Err(why) => reason = Some(why),
            }
        }
        drop(keeper);
        let look = self
            .table
            .map(|table| format!("SELECT TOP (1) 1 FROM {table}"));
        let session = moment::begin_snapshot(self.options, 0, self.interrupt, look.as_deref())?;
        let moment = match (reason, self.table) {
            (Some(reason), _) => Moment::OfOpeningByOne(reason),
            (None, Some(_)) => Moment::OfOpening(1),
            (None, None) => Moment::OfStatement,
        };
        Ok((moment, Pool::new(vec![session], MoreSessions::None, 1)))
    }
}

/// Refuses a query or a condition that would end the parentheses around it: the text after them would be another
/// statement.
fn refuse_parts(input: &Path, settings: &Settings) -> Result<(), SourceError> {
    let query = match &settings.rows {
        Rows::Query(query) => Some(("the query", query)),
        Rows::Table { .. } => None,
    };
    let condition = settings.filter.as_ref().map(|text| ("`where`", text));
    match query
        .into_iter()
        .chain(condition)
        .find(|(_, text)| !user_sql::is_whole(text))
    {
        None => Ok(()),
        Some((what, _)) => Err(unsuitable(
            input,
            format!("{what} has unbalanced parentheses, quotes, brackets or comments"),
            "write one SELECT without `;`, or a condition, that is complete by itself",
        )),
    }
}

/// The columns of a statement without rows.
fn columns_of(session: &mut Session, statement: &str) -> Result<Vec<Column>, SessionError> {
    let described = session.begin_query(statement)?;
    while session.next_rows()?.is_some() {}
    Ok(described.columns().iter().map(Column::new).collect())
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

    fn whole(&self, _input: usize) -> SourceSplit {
        self.input.whole()
    }

    /// Ranges of the key, or partitions.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        Ok(match self.reading.split_by {
            Some(_) => self.steps().splits(input, wanted_bytes),
            None => vec![self.whole(input)],
        })
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(stream_by(move |split| {
            self.reader(&split.range, settings.chunk_bytes)
        }))
    }

    fn has_same_content(&self, _input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        has_same_hashes(read, self.input.size_bytes, |range, chunk_bytes| {
            self.reader(&range, chunk_bytes)
        })
    }

    /// Two sources of the same run have different sessions, which do not show the same moment.
    fn has_one_moment(&self) -> bool {
        false
    }

    /// The table's number of rows by the server's catalog.
    fn estimated_rows(&self, _input: usize) -> Result<Option<u64>, SourceError> {
        Ok(self.rows)
    }

    fn sampler(&self) -> Option<Arc<dyn SessionSampler>> {
        let sampler = self.reading.sampler.as_ref()?;
        Some(Arc::clone(sampler) as Arc<dyn SessionSampler>)
    }

    fn pace(&self) -> Option<&Arc<Pace>> {
        self.reading.pace.if_limited()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
