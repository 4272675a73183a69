//! The source: opened at a snapshot.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use inrush_pgclient::quote::identifier;
use inrush_pgclient::{BlockingSession, FieldDescription};
use inrush_rows::cancel::Stop;
use inrush_rows::plural::counted;
use inrush_scan::Records;
use inrush_source::{
    Chunks, Input, ReadSettings, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent, SplitReader,
};

use crate::columns::{self, Column};
use crate::database::{Database, Found, trimmed};
use crate::error::{input_error, of_session};
use crate::explained::Explained;
use crate::input::TableInput;
use crate::keys::{KeyAsked, KeyRanges};
use crate::pool::Pool;
use crate::reader::RangeReader;
use crate::relations::{self, Relation, Table};
use crate::rows::RowPlace;
use crate::since::{self, FoundRange};
use crate::{Rows, Settings};

/// Bytes of a chunk when rows are read to be compared with what was read before.
const COMPARED_CHUNK_BYTES: usize = 1 << 20;

/// A table or a query, at one snapshot.
#[derive(Debug)]
pub struct PostgresSource {
    description: String,
    inputs: Vec<Arc<TableInput>>,
    notes: Vec<String>,
    stored: Vec<String>,
    primary_key: Vec<String>,
    since: Option<FoundRange>,
    reading: Reading,
}

/// What readers of all splits need.
#[derive(Debug)]
pub struct Reading {
    database: Arc<Database>,
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// Conditions on the rows, each safe to be joined with others by AND.
    conditions: Vec<String>,
    /// A table that hides rows from the user by row security is an error.
    pub hides_nothing: bool,
    /// Asked when reads have to end.
    pub stop: Stop,
}

impl Reading {
    /// The sessions.
    pub fn pool(&self) -> &Pool {
        &self.database.pool
    }

    /// What finds the rows of a range.
    pub fn place(&self, input: &TableInput, range: &Range<u64>) -> RowPlace {
        match &input.keys {
            Some(keys) => {
                let column = Arc::from(keys.column.as_str());
                RowPlace::Key(column, input.steps_of(range).start)
            }
            None if input.pages.is_some() => RowPlace::Page,
            None => RowPlace::Number,
        }
    }

    /// The statement that reads a range of an input.
    pub fn copy(&self, input: &TableInput, range: Range<u64>) -> String {
        let mut conditions = Vec::new();
        let mut list: Vec<String> = self.columns.iter().map(Column::expression).collect();
        let steps = input.steps_of(&range);
        if let Some(keys) = &input.keys {
            list.insert(0, keys.place_expression());
            conditions.extend(keys.condition(steps));
        } else if input.pages.is_some() {
            list.insert(0, "ctid".to_owned());
            if steps.start > 0 {
                conditions.push(format!("ctid >= '({},0)'", steps.start));
            }
            // What a page beyond the last one has is not of the snapshot, but a page might have come before it.
            if range.end < input.size_bytes {
                conditions.push(format!("ctid < '({},0)'", steps.end));
            }
        }
        conditions.extend(self.conditions.iter().cloned());
        format!(
            "COPY (SELECT {} FROM {}{}) TO STDOUT (FORMAT binary)",
            list.join(", "),
            input.from,
            where_clause(&conditions)
        )
    }
}

/// WHERE and the conditions, or nothing.
fn where_clause(conditions: &[String]) -> String {
    match conditions.is_empty() {
        true => String::new(),
        false => format!(" WHERE {}", conditions.join(" AND ")),
    }
}

/// SQL of a user: a comment at its end must not swallow what follows.
fn in_parentheses(sql: &str) -> String {
    format!("(\n{sql}\n)")
}

impl PostgresSource {
    /// Opens a table or a query: takes the snapshot, and looks at the catalog. Reads end when the stop is asked.
    pub fn open(settings: &Settings, stop: &Stop) -> Result<PostgresSource, SourceError> {
        let wanted = [settings.wanted()];
        let database = Database::open(&settings.address, &wanted, settings.max_connections, stop)?;
        PostgresSource::open_in(&database, settings, stop)
    }

    /// Opens a table or a query that the database has found, at the database's snapshot.
    pub fn open_in(
        database: &Arc<Database>,
        settings: &Settings,
        stop: &Stop,
    ) -> Result<PostgresSource, SourceError> {
        let found = database.find(&settings.wanted())?;
        let name = match &found.table {
            Some(table) => table.name.clone(),
            None => settings.rows.name(),
        };
        let name = Path::new(&name);
        let looked = database.look(name, |keeper| look(keeper, name, &found, settings))?;
        let mut mark = match (&looked.since, settings.is_stable) {
            (Some(found), _) => found.range.to_mark(),
            (None, true) => "stable".to_owned(),
            (None, false) => database.pool.snapshot().transactions.clone(),
        };
        let place = &database.place;
        let mut notes = looked.notes;
        let mut identity = vec![place.clone()];
        identity.extend(looked.columns.iter().map(Column::expression));
        identity.extend(settings.filter.clone());
        identity.extend(looked.since.as_ref().map(|found| found.condition.clone()));
        if let Some(keys) = &looked.keys {
            notes.push(told_of_keys(name, keys, settings.split_nulls));
            identity.push(format!("split by {}", keys.column));
            // With other borders, the same range of bytes has other rows. Of an incremental load nothing is kept.
            if looked.since.is_none() {
                mark = format!("{mark} {}", keys.digest());
            }
        }
        let inputs = looked.relations.into_iter().enumerate();
        let inputs = inputs.map(|(index, relation)| {
            let mut identity = identity.clone();
            identity.push(relation.from.clone());
            Arc::new(TableInput {
                index,
                name: Arc::from(Path::new(&relation.name)),
                from: relation.from,
                pages: relation.pages.filter(|_| looked.keys.is_none()),
                keys: looked.keys.clone(),
                size_bytes: relation.size_bytes,
                mark: mark.clone(),
                identity,
            })
        });
        Ok(PostgresSource {
            description: format!("{} of {place}", name.display()),
            inputs: inputs.collect(),
            notes,
            stored: found.stored,
            primary_key: looked.primary_key,
            since: looked.since,
            reading: Reading {
                database: Arc::clone(database),
                columns: looked.columns,
                conditions: looked.conditions,
                hides_nothing: found.table.is_some(),
                stop: stop.clone(),
            },
        })
    }

    /// Its columns, with what a new target needs to know of them.
    pub fn source_columns(&self) -> &[Column] {
        &self.reading.columns
    }

    /// The range of an incremental load.
    pub fn since(&self) -> Option<&FoundRange> {
        self.since.as_ref()
    }

    /// The columns of the table's primary key, if all of them are read as values.
    pub fn primary_key(&self) -> &[String] {
        &self.primary_key
    }

    /// The column by whose ranges it is cut, and the number of ranges.
    pub fn key_ranges(&self) -> Option<(&str, u64)> {
        let keys = self.inputs.first()?.keys.as_ref()?;
        Some((&keys.column, keys.count()))
    }

    fn range_of(&self, input: usize, read: &SplitContent) -> Range<u64> {
        let end = self.inputs[input].size_bytes;
        read.start..read.end.unwrap_or(end)
    }
}

/// What the catalog says of an input.
struct Looked {
    relations: Vec<Relation>,
    columns: Vec<Column>,
    primary_key: Vec<String>,
    keys: Option<KeyRanges>,
    notes: Vec<String>,
    since: Option<FoundRange>,
    /// Conditions on the rows, each safe to be joined with others by AND.
    conditions: Vec<String>,
}

fn look(
    keeper: &mut BlockingSession,
    name: &Path,
    found: &Found,
    settings: &Settings,
) -> Result<Looked, SourceError> {
    let (mut relations, notes) = match (&found.table, &settings.rows) {
        (Some(table), _) => {
            let (relations, note) = relations::relations_of(keeper, table)?;
            (relations, note.into_iter().collect())
        }
        (None, Rows::Query(query)) => (vec![of_query(trimmed(query))], Vec::new()),
        (None, Rows::Table { .. }) => (Vec::new(), Vec::new()),
    };
    let from = match &found.table {
        Some(table) => table.sql.clone(),
        None => relations
            .first()
            .map_or_else(String::new, |one| one.from.clone()),
    };
    let found_columns = columns_of(keeper, name, &from, found.table.as_ref(), settings)?;
    let columns = found_columns.read;
    let mut primary_key = match &found.table {
        Some(table) => relations::primary_key(keeper, table)?,
        None => Vec::new(),
    };
    let is_read = |name: &String| {
        let column = columns.iter().find(|column| column.name == *name);
        column.is_some_and(|column| !column.is_text)
    };
    if !primary_key.iter().all(is_read) {
        primary_key.clear();
    }
    let filter = settings.filter.as_deref();
    let since = match (&settings.since, &found.bound) {
        (Some(asked), Some(bound)) => {
            let read = since::Read {
                table: found.table.as_ref(),
                from: &from,
                filter,
                input: name,
            };
            Some(since::find_range(
                keeper,
                asked,
                bound,
                &read,
                &mut relations,
            )?)
        }
        _ => None,
    };
    let range = since.as_ref().map(|found| found.condition.clone());
    let conditions: Vec<String> = filter
        .map(in_parentheses)
        .into_iter()
        .chain(range)
        .collect();
    let mut looked = Looked {
        relations,
        columns,
        primary_key,
        keys: None,
        notes,
        since,
        conditions,
    };
    let Some(column) = &settings.split_by else {
        return Ok(looked);
    };
    let set = "SET LOCAL search_path = DEFAULT";
    let failed = |error| of_session(name, error);
    keeper
        .query(set, "looking for the ranges of the key")
        .map_err(failed)?;
    let select = format!("SELECT * FROM {from}{}", where_clause(&looked.conditions));
    let explained = Explained::of(keeper, name, &select)?;
    explained.refuse_chosen_rows(name, "split_by")?;
    let filter = (!looked.conditions.is_empty()).then(|| looked.conditions.join(" AND "));
    let asked = KeyAsked {
        input: name,
        column,
        from: &from,
        filter: filter.as_deref(),
        fields: &found_columns.all,
        not_null: found_columns.not_null.contains(column),
        takes_nulls: settings.split_nulls,
    };
    let keys = KeyRanges::find(keeper, &asked, &explained)?;
    let stored_bytes: u64 = looked.relations.iter().map(|one| one.size_bytes).sum();
    let size_bytes = match stored_bytes {
        0 => explained.bytes,
        stored => stored,
    };
    looked.relations = vec![Relation {
        name: name.display().to_string(),
        from,
        pages: None,
        // A range has a byte or more.
        size_bytes: size_bytes.max(keys.count()),
    }];
    if found.table.is_none() {
        looked.notes.push(
            "the query is run once for each split: its rows must depend on the tables alone, not on random() or the time"
                .to_owned(),
        );
    }
    looked.keys = Some(keys);
    Ok(looked)
}

fn told_of_keys(name: &Path, keys: &KeyRanges, takes_nulls: bool) -> String {
    let column = identifier(&keys.column);
    let nulls = match takes_nulls {
        true => "; rows without it are read with the first range",
        false => "",
    };
    format!(
        "{} is cut into {} of {column}, by {}{nulls}",
        name.display(),
        counted(keys.count(), "range"),
        keys.origin
    )
}

/// The rows of a query as a relation.
fn of_query(query: &str) -> Relation {
    Relation {
        name: "the query".to_owned(),
        from: format!("{} AS q", in_parentheses(query)),
        pages: None,
        size_bytes: 0,
    }
}

/// The columns of an input.
struct FoundColumns {
    /// The columns to read, with their types.
    read: Vec<Column>,
    /// All that there are.
    all: Vec<FieldDescription>,
    /// The names of those that have no NULL.
    not_null: Vec<String>,
}

/// The columns to read, with their types, and all others.
fn columns_of(
    keeper: &mut BlockingSession,
    name: &Path,
    from: &str,
    table: Option<&Table>,
    settings: &Settings,
) -> Result<FoundColumns, SourceError> {
    let failed = |error| of_session(name, error);
    let doing = format!("asking for the columns of {}", name.display());
    // Names in the query are those of the user's own sessions. Nothing else runs in between.
    let set = "SET LOCAL search_path = DEFAULT";
    keeper.query(set, &doing).map_err(failed)?;
    if let Some(filter) = &settings.filter {
        // Alone it is one condition; as a part of a longer statement it might be anything.
        let sql = format!("SELECT FROM {from} WHERE {}", in_parentheses(filter));
        keeper
            .parse(&sql, "parsing the condition `where`")
            .map_err(failed)?;
    }
    let describe = |keeper: &mut BlockingSession, list: &str| {
        let sql = format!("SELECT {list} FROM {from} LIMIT 0");
        keeper.query(&sql, &doing).map_err(failed)
    };
    let all = describe(keeper, "*")?;
    let mut names: Vec<String> = Vec::with_capacity(all.fields.len());
    for field in &all.fields {
        if names.contains(&field.name) {
            return Err(input_error(
                name,
                format!("two of its columns are called {}", identifier(&field.name)),
                "give each column of the query a name of its own (AS)",
            ));
        }
        names.push(field.name.clone());
    }
    let chosen = columns::choose(name, &names, &settings.columns)?;
    let field = |(chosen, _): &(String, bool)| {
        all.fields
            .iter()
            .find(|field| field.name == *chosen)
            .cloned()
    };
    let fields: Vec<_> = chosen.iter().filter_map(field).collect();
    keeper
        .query("SET LOCAL search_path = pg_catalog", &doing)
        .map_err(failed)?;
    let not_null = match table {
        Some(table) => relations::not_null(keeper, table)?,
        None => Vec::new(),
    };
    let columns = columns::resolve(keeper, name, &chosen, &not_null, &fields)?;
    Ok(FoundColumns {
        read: columns,
        all: all.fields,
        not_null,
    })
}

impl Source for PostgresSource {
    fn describe(&self) -> String {
        self.description.clone()
    }

    fn columns(&self) -> Result<Vec<SourceColumn>, SourceError> {
        Ok(self.reading.columns.iter().map(Column::in_source).collect())
    }

    fn input_count(&self) -> usize {
        self.inputs.len()
    }

    fn input(&self, index: usize) -> Arc<dyn Input> {
        self.inputs[index].clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        let of = &self.inputs[input];
        SourceSplit {
            input,
            range: 0..of.size_bytes,
            first_record: None,
            is_shared: false,
            size_bytes: of.size_bytes,
        }
    }

    /// Ranges of pages, or of the key.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        let of = &self.inputs[input];
        let steps = of.steps();
        if steps < 2 || of.size_bytes == 0 {
            return Ok(vec![self.whole(input)]);
        }
        let step_bytes = of.step_bytes();
        let at_once = (wanted_bytes / step_bytes).clamp(1, steps);
        let mut splits = Vec::new();
        let mut step = 0;
        while step < steps {
            let next = step.saturating_add(at_once).min(steps);
            let end = match next == steps {
                true => of.size_bytes,
                false => next * step_bytes,
            };
            let range = step * step_bytes..end;
            splits.push(SourceSplit {
                input,
                size_bytes: range.end - range.start,
                range,
                first_record: None,
                is_shared: false,
            });
            step = next;
        }
        Ok(splits)
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

    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        let of = &self.inputs[input];
        let mut records = Records::default();
        for content in read {
            let range = self.range_of(input, content);
            let mut reader = Box::new(RangeReader::open(
                &self.reading,
                of,
                range,
                COMPARED_CHUNK_BYTES,
            )?);
            while reader.next_chunk(&mut records)?.is_some() {}
            if content.hash.as_ref() != Some(&reader.end().hash) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn stored_tables(&self) -> Vec<String> {
        self.stored.clone()
    }
}

/// The way of one thread through the splits. Sessions are those of the pool.
struct Stream<'a> {
    source: &'a PostgresSource,
    chunk_bytes: usize,
}

impl SourceStream for Stream<'_> {
    fn open(&mut self, split: &SourceSplit) -> Result<Box<dyn SplitReader + '_>, SourceError> {
        let PostgresSource {
            inputs, reading, ..
        } = self.source;
        let input = &inputs[split.input];
        Ok(Box::new(RangeReader::open(
            reading,
            input,
            split.range.clone(),
            self.chunk_bytes,
        )?))
    }
}
