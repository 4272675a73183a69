//! The source: a table or a query of an open database.

use std::path::Path;
use std::sync::Arc;

use inrush_rows::cancel::Stop;
use inrush_rows::pace::Pace;
use inrush_rows::plural::counted;
use inrush_rows::sql_text::{in_parentheses, without_semicolon};
use inrush_source::{
    DatabaseInput, FoundRange, Input, ReadSettings, Source, SourceColumn, SourceError, SourceSplit,
    SourceStream, SplitContent, Steps, has_same_hashes, never_the_same, stream_by,
};

use crate::columns::{Column, row_bytes};
use crate::database::{Database, Vendor};
use crate::duckdb::DuckDbTable;
use crate::error::{Refused, input_error, unsuitable};
use crate::keys::FoundKeys;
use crate::other::{OtherTable, moment_note, writes_note};
use crate::pool::{Begins, Opening, Pool};
use crate::reader::RangeReader;
use crate::session::Session;
use crate::since;
use crate::since_standard;
use crate::sqlite::{SqliteTable, view_of};
use crate::stopping::Stopping;
use crate::table::{Partitions, Table};
use crate::{Rows, Settings};

/// The most connections if the settings set no limit: as many as there may be streams.
const CONNECTIONS_MAX: usize = 1_024;

/// A first look at a file of SQLite.
const SQLITE_LOOK: &str = "SELECT count(*) FROM sqlite_schema";

/// A table or a query.
#[derive(Debug)]
pub struct AdbcSource {
    description: String,
    input: Arc<DatabaseInput>,
    notes: Vec<String>,
    since: Option<FoundRange>,
    reading: Reading,
}

/// The shared data of the readers of all splits. The connections are closed before the database.
#[derive(Debug)]
pub struct Reading {
    /// The connections.
    pub pool: Pool,
    /// Ends statements at a stop.
    pub stopping: Stopping,
    /// What is read.
    pub table: Box<dyn Table>,
    /// The database.
    pub database: Arc<Database>,
    /// The pace of all readers.
    pub pace: Arc<Pace>,
    /// The stop that ends reads.
    pub stop: Stop,
}

impl AdbcSource {
    /// Opens a table or a query of a database. Reads end when a stop is requested.
    pub fn open(
        database: &Arc<Database>,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<AdbcSource, SourceError> {
        let name = settings.rows.name();
        let input = Path::new(&name);
        let settings = Settings {
            rows: match &settings.rows {
                Rows::Query(query) => Rows::Query(without_semicolon(query).to_owned()),
                table => table.clone(),
            },
            ..settings.clone()
        };
        let refused = |doing: &str, error: &_| database.refused(input, doing, error, stop);
        // The mark is taken before anything is read, so that any later write changes it.
        let mark = database.mark();
        let mut session = database
            .connect()
            .map_err(|error| refused("connecting", &error))?;
        let mut notes = Vec::new();
        let mut opening = Opening::default();
        // Unless the database allows more below, only one connection reads, because only its transaction shows the
        // moment.
        let mut sessions_max = 1;
        let asked = Asked {
            database,
            input,
            mark: &mark,
        };
        let mut since = None;
        let table: Box<dyn Table> = match database.vendor {
            Vendor::DuckDb => {
                sessions_max = settings.connections_max.unwrap_or(CONNECTIONS_MAX);
                let limit = session.rows("SELECT current_setting('memory_limit')");
                let limit = limit.map_err(|error| refused("asking for its settings", &error))?;
                if let Some(limit) = limit.into_iter().flatten().flatten().next() {
                    notes.push(format!(
                        "DuckDB may take {limit} for its buffers, in addition to the memory of the load: `memory_limit` in the options of \
                         the connection limits it"
                    ));
                }
                let open = |session: &mut Session, settings: &Settings, range: Option<&str>| {
                    DuckDbTable::open(session, &name, settings, range, &refused)
                };
                since = range_of(&mut session, &settings, &asked, &open, &refused)?;
                Box::new(open(&mut session, &settings, condition_of(&since))?)
            }
            Vendor::Sqlite => {
                let doing = "beginning a transaction";
                let journal = session.rows("PRAGMA journal_mode");
                let journal = journal.map_err(|error| refused(doing, &error))?;
                let has_log = journal
                    .into_iter()
                    .flatten()
                    .flatten()
                    .any(|it| it == "wal");
                session.begin().map_err(|error| refused(doing, &error))?;
                // The transaction shows the moment of its first look.
                session
                    .run(SQLITE_LOOK)
                    .map_err(|error| refused(doing, &error))?;
                if settings.split_by.is_some() {
                    match has_log {
                        // Writers commit into the log meanwhile, so another connection would show another moment.
                        true => notes.push(format!(
                            "{name} is read by one connection, because the file has a write-ahead log (journal_mode = wal)"
                        )),
                        false => sessions_max = settings.connections_max.unwrap_or(CONNECTIONS_MAX),
                    }
                    opening.begins = Begins::Transaction;
                    opening.statements = vec![SQLITE_LOOK.to_owned()];
                    opening.statements.extend(view_of(&settings.rows));
                }
                let open = |session: &mut Session, settings: &Settings, range: Option<&str>| {
                    SqliteTable::open(session, &name, settings, range, &refused)
                };
                since = range_of(&mut session, &settings, &asked, &open, &refused)?;
                Box::new(open(&mut session, &settings, condition_of(&since))?)
            }
            Vendor::Other => {
                // The database is asked for its time before the transaction can show any row.
                let clock = match &settings.since {
                    Some(_) => Some(since_standard::Clock::ask(database, input, &refused)?),
                    None => None,
                };
                let transaction = session.begin_to_read(database.has_snapshots);
                opening.begins = Begins::ReadOnly;
                if settings.split_by.is_some() {
                    sessions_max = settings.connections_max.unwrap_or(1);
                }
                notes.extend(moment_note(transaction, &name, database, sessions_max));
                let mut own = settings.clone();
                if let (Some(asked), Some(clock)) = (&settings.since, &clock) {
                    // The table is first opened without its range and `split_by`, so that its own faults are reported
                    // as usual.
                    own.split_by = None;
                    let table = OtherTable::open(&mut session, &name, &own, false, &refused)?;
                    let from = table.all_rows().to_owned();
                    let found = since_standard::find_range(
                        &mut session,
                        asked,
                        clock,
                        input,
                        &from,
                        &refused,
                    )?;
                    let filter = settings.filter.iter().map(|filter| in_parentheses(filter));
                    let conditions: Vec<String> = filter.chain([found.condition.clone()]).collect();
                    own = Settings {
                        filter: Some(conditions.join(" AND ")),
                        ..settings.clone()
                    };
                    since = Some(found);
                }
                let table =
                    OtherTable::open(&mut session, &name, &own, database.has_partitions, &refused)?;
                if table.partitions().is_some() {
                    // Partitions are parts of one result, so several connections can read them.
                    sessions_max = settings.connections_max.unwrap_or(CONNECTIONS_MAX);
                    // A connection that reads a partition runs no query.
                    opening = Opening::default();
                    notes.clear();
                }
                notes.extend(writes_note(transaction, database));
                Box::new(table)
            }
        };
        notes.extend_from_slice(table.notes());
        let row_ids = table.row_ids();
        let mut mark = match (&since, settings.is_stable) {
            (Some(found), _) => found.range.to_mark(),
            (None, true) => "stable".to_owned(),
            (None, false) if table.changes_unseen().is_some() => never_the_same(),
            (None, false) => mark,
        };
        if let Some(why) = table.changes_unseen() {
            notes.push(format!(
                "{name}: {why}. So rows that were loaded before are always read again"
            ));
        }
        let mut size_bytes = row_ids.map_or(0, |ids| ids.end.saturating_mul(ids.row_bytes));
        let mut identity = database.identity.clone();
        identity.push(format!("{:?}", settings.rows));
        identity.extend(settings.columns.iter().cloned());
        identity.extend(settings.filter.clone());
        if let Some(found) = &since {
            identity.push(found.condition.clone());
            // Other rows may be in the same range after a write, so a resumed run then keeps none of the rows that the
            // stopped run loaded from this range.
            identity.extend(found.range.snapshot.clone());
        }
        if let Some(FoundKeys { ranges, rows }) = table.keys() {
            let bytes = rows.saturating_mul(row_bytes(table.columns()));
            // Each range has at least one byte.
            size_bytes = bytes.max(ranges.count());
            notes.push(ranges.note(&name));
            identity.push(format!("split by {}", ranges.column));
            // With other borders, the same range of bytes has other rows.
            match &since {
                // The mark has only the range, because the next run reads the range from it.
                Some(_) => identity.push(ranges.digest()),
                None => mark = format!("{mark} {}", ranges.digest()),
            }
        }
        if let Some(partitions) = table.partitions() {
            let bytes = partitions
                .rows
                .unwrap_or(0)
                .saturating_mul(row_bytes(table.columns()));
            size_bytes = bytes.max(partitions.count());
            notes.push(format!(
                "{name} is read in {}, into which the driver divides its result: the database runs the query when the plan is made",
                counted(partitions.count(), "partition")
            ));
            identity.push("by partitions of the driver".to_owned());
        }
        let stopping = Stopping::new(stop).map_err(|cause| {
            let fix = "likely the limit of processes (ulimit -u) is reached: raise it";
            input_error(input, format!("no thread could be started: {cause}"), fix)
        })?;
        Ok(AdbcSource {
            description: format!("{name} of {}", database.described),
            input: Arc::new(DatabaseInput {
                index: 0,
                kind: settings.rows.kind(),
                name: Arc::from(input),
                size_bytes,
                mark,
                identity,
                keeps_places: row_ids.is_some() && steps_of(&*table).is_none(),
                places_by: table.places_by(),
                whole_because: match steps_of(&*table).is_some() || row_ids.is_some() {
                    true => None,
                    false => Some(
                        "without row numbers or partitions to cut it by, and no `split_by` names a key",
                    ),
                },
                is_loaded_alone_again: false,
            }),
            notes,
            since,
            reading: Reading {
                pool: Pool::new(session, opening, sessions_max),
                stopping,
                table,
                database: Arc::clone(database),
                pace: Arc::clone(&settings.pace),
                stop: stop.clone(),
            },
        })
    }

    /// Its columns, with the facts that a new target needs.
    pub fn source_columns(&self) -> &[Column] {
        self.reading.table.columns()
    }

    /// The range of an incremental load.
    pub fn since(&self) -> Option<&FoundRange> {
        self.since.as_ref()
    }

    /// True if it is cut by the numbers of its rows.
    pub fn has_row_ids(&self) -> bool {
        self.reading.table.row_ids().is_some()
    }

    /// The column by whose ranges it is cut.
    pub fn key(&self) -> Option<&str> {
        let keys = self.reading.table.keys()?;
        Some(&keys.ranges.column)
    }

    /// The ranges of its key, or the driver's partitions.
    fn steps(&self) -> Option<Steps> {
        let count = steps_of(&*self.reading.table)?;
        Some(Steps {
            count,
            size_bytes: self.input.size_bytes,
        })
    }

    /// The split of these row numbers. Its range counts bytes of the input's estimated size, and each row has the same
    /// number of bytes.
    fn split(&self, rows: std::ops::Range<u64>) -> SourceSplit {
        let row_bytes = self.reading.table.row_ids().map_or(0, |ids| ids.row_bytes);
        let range = rows.start.saturating_mul(row_bytes)..rows.end.saturating_mul(row_bytes);
        SourceSplit {
            input: 0,
            size_bytes: range.end - range.start,
            range,
            first_record: None,
            is_shared: false,
        }
    }

    fn end(&self) -> u64 {
        self.reading.table.row_ids().map_or(0, |ids| ids.end)
    }

    fn reader(
        &self,
        range: std::ops::Range<u64>,
        chunk_bytes: usize,
    ) -> Result<RangeReader<'_>, SourceError> {
        let range = match self.steps() {
            Some(steps) => steps.of_bytes(&range),
            None => {
                let row_bytes = self.reading.table.row_ids().map_or(1, |ids| ids.row_bytes);
                range.start / row_bytes..range.end / row_bytes
            }
        };
        RangeReader::open(&self.reading, &self.input, range, chunk_bytes)
    }
}

/// The database that is asked for a range.
struct Asked<'a> {
    database: &'a Database,
    input: &'a Path,
    /// A text that differs after the database was written to.
    mark: &'a str,
}

/// Opens a table with settings and the condition of a range.
type OpenTable<'a, T> = &'a dyn Fn(&mut Session, &Settings, Option<&str>) -> Result<T, SourceError>;

/// The range of an incremental load. The table is first opened as a whole, so that its own faults are reported as
/// usual.
fn range_of<T: Table>(
    session: &mut Session,
    settings: &Settings,
    asked: &Asked<'_>,
    open: OpenTable<'_, T>,
    refused: Refused<'_>,
) -> Result<Option<FoundRange>, SourceError> {
    let Some(since) = &settings.since else {
        return Ok(None);
    };
    let whole = Settings {
        split_by: None,
        ..settings.clone()
    };
    let table = open(session, &whole, None)?;
    if let Some(why) = table.changes_unseen() {
        return Err(unsuitable(
            asked.input,
            format!("{why}, so rows may appear later than their values say"),
            "read the table behind it with `since`, or load all rows without it",
        ));
    }
    let read = since::Read {
        vendor: asked.database.vendor,
        from: table.all_rows(),
        input: asked.input,
        keeps_writers_out: asked.database.keeps_writers_out(),
        snapshot: asked.mark,
    };
    since::find_range(session, since, &read, refused).map(Some)
}

fn condition_of(since: &Option<FoundRange>) -> Option<&str> {
    since.as_ref().map(|found| found.condition.as_str())
}

/// The number of ranges of a key, or of the driver's partitions, into which a table is cut.
fn steps_of(table: &dyn Table) -> Option<u64> {
    match (table.keys(), table.partitions()) {
        (Some(keys), _) => Some(keys.ranges.count()),
        (None, partitions) => partitions.map(Partitions::count),
    }
}

impl Source for AdbcSource {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        let columns = self.reading.table.columns().iter();
        Ok(columns.map(Column::in_source).collect())
    }

    fn input_count(&self) -> usize {
        1
    }

    fn input(&self, _index: usize) -> Arc<dyn Input> {
        self.input.clone()
    }

    fn whole(&self, _input: usize) -> SourceSplit {
        match self.steps() {
            Some(_) => self.input.whole(),
            None => self.split(0..self.end()),
        }
    }

    /// Ranges of the key, partitions of the driver, or ranges of row numbers; a large range of row numbers ends where a
    /// row group ends.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        if let Some(steps) = self.steps() {
            // Nobody knows how many rows a partition has.
            let wanted_bytes = match self.reading.table.partitions() {
                Some(_) => steps.step_bytes(),
                None => wanted_bytes,
            };
            return Ok(steps.splits(input, wanted_bytes));
        }
        let Some(ids) = self.reading.table.row_ids().filter(|ids| ids.end > 0) else {
            return Ok(vec![self.whole(input)]);
        };
        let step = (wanted_bytes / ids.row_bytes).clamp(1, ids.end);
        let step = match step / ids.group_rows {
            0 => step,
            groups => groups * ids.group_rows,
        };
        let mut splits = Vec::new();
        let mut start = 0;
        while start < ids.end {
            let end = start.saturating_add(step).min(ids.end);
            splits.push(self.split(start..end));
            start = end;
        }
        Ok(splits)
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(stream_by(move |split| {
            self.reader(split.range.clone(), settings.chunk_bytes)
        }))
    }

    fn has_same_content(&self, _input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        has_same_hashes(read, self.input.size_bytes, |range, chunk_bytes| {
            self.reader(range, chunk_bytes)
        })
    }

    /// No other program writes to a file of DuckDB while it is open. With other databases, each source has its own
    /// transaction.
    fn has_one_moment(&self) -> bool {
        self.reading.database.vendor == Vendor::DuckDb
    }

    /// Uses a separate connection, because all connections of the pool may be in use.
    fn estimated_rows(&self, _input: usize) -> Result<Option<u64>, SourceError> {
        let session = self.reading.database.connect();
        Ok(session
            .ok()
            .and_then(|mut session| self.reading.table.estimated_rows(&mut session)))
    }

    fn pace(&self) -> Option<&Arc<Pace>> {
        self.reading.pace.if_limited()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}
