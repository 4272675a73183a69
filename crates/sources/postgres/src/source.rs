//! The source: opened at a snapshot.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use inrush_pgclient::BlockingSession;
use inrush_pgclient::quote::identifier;
use inrush_rows::cancel::Stop;
use inrush_rows::plural::counted;
use inrush_scan::Records;
use inrush_source::{
    Chunks, Input, ReadSettings, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent, SplitReader,
};

use crate::columns::{self, Column};
use crate::error::{input_error, of_session};
use crate::input::TableInput;
use crate::pool::Pool;
use crate::reader::RangeReader;
use crate::relations::{self, Relation, Table};
use crate::since::{self, FoundRange};
use crate::snapshot::{Snapshot, open_keeper, tables_of_query};
use crate::{Rows, Settings};

/// Bytes of a chunk when rows are read to be compared with what was read before.
const COMPARED_CHUNK_BYTES: usize = 1 << 20;

/// A table or a query, at one snapshot.
#[derive(Debug)]
pub struct PostgresSource {
    description: String,
    inputs: Vec<Arc<TableInput>>,
    notes: Vec<String>,
    since: Option<FoundRange>,
    reading: Reading,
}

/// What readers of all splits need.
#[derive(Debug)]
pub struct Reading {
    /// The sessions.
    pub pool: Pool,
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// Conditions on the rows, each safe to be joined with others by AND.
    conditions: Vec<String>,
    /// Asked when reads have to end.
    pub stop: Stop,
}

impl Reading {
    /// The statement that reads a range of pages of an input.
    pub fn copy(&self, input: &TableInput, range: Range<u64>) -> String {
        let mut conditions = Vec::new();
        let mut list: Vec<String> = self.columns.iter().map(Column::expression).collect();
        if input.pages.is_some() {
            list.insert(0, "ctid".to_owned());
            if range.start > 0 {
                let page = range.start / input.page_bytes();
                conditions.push(format!("ctid >= '({page},0)'"));
            }
            // What a page beyond the last one has is not of the snapshot, but a page might have come before it.
            if range.end < input.size_bytes {
                let page = range.end / input.page_bytes();
                conditions.push(format!("ctid < '({page},0)'"));
            }
        }
        conditions.extend(self.conditions.iter().cloned());
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        format!(
            "COPY (SELECT {} FROM {}{conditions}) TO STDOUT (FORMAT binary)",
            list.join(", "),
            input.from
        )
    }
}

/// SQL of a user: a comment at its end must not swallow what follows.
fn in_parentheses(sql: &str) -> String {
    format!("(\n{sql}\n)")
}

impl PostgresSource {
    /// Opens a table or a query: takes the snapshot, and looks at the catalog. Reads end when the stop is asked.
    pub fn open(settings: &Settings, stop: &Stop) -> Result<PostgresSource, SourceError> {
        let place = settings.address.describe();
        if settings.max_connections < 2 {
            return Err(input_error(
                Path::new(&place),
                format!(
                    "{} cannot keep a snapshot and read",
                    counted(settings.max_connections as u64, "connection")
                ),
                "set `max_connections` of the source to 2 or more",
            ));
        }
        let name = match &settings.rows {
            Rows::Table {
                schema: Some(schema),
                name,
            } => format!("{schema}.{name}"),
            Rows::Table { schema: None, name } => name.clone(),
            Rows::Query(_) => "the query".to_owned(),
        };
        let name = Path::new(&name);
        let failed = |error| of_session(name, error);
        let mut keeper = open_keeper(&settings.address, stop).map_err(failed)?;
        let (locked, table, query) = match &settings.rows {
            Rows::Table { schema, name } => {
                let table = relations::find_table(&mut keeper, schema.as_deref(), name)?;
                let locked = table.is_locked.then(|| table.sql.clone());
                (locked.into_iter().collect(), Some(table), None)
            }
            Rows::Query(query) => {
                let query = query.trim_end().trim_end_matches(';').trim_end();
                let locked = tables_of_query(&mut keeper, query, name).map_err(failed)?;
                (locked, None, Some(query))
            }
        };
        let name = table.as_ref().map_or(name, |table| Path::new(&table.name));
        let failed = |error| of_session(name, error);
        // Before the snapshot: what is committed below the bound must be in it.
        let bound = match &settings.since {
            Some(asked) => {
                let table = table.as_ref();
                Some((asked, since::find_bound(&mut keeper, asked, table, name)?))
            }
            None => None,
        };
        let mut snapshot =
            Snapshot::take(keeper, &settings.address, &locked, table.is_some()).map_err(failed)?;
        let keeper = snapshot.keeper();
        let (mut relations, note) = match (&table, query) {
            (Some(table), _) => relations::relations_of(keeper, table)?,
            (None, query) => (vec![of_query(query.unwrap_or_default())], None),
        };
        let from = match &table {
            Some(table) => table.sql.clone(),
            None => relations[0].from.clone(),
        };
        let columns = columns_of(keeper, name, &from, table.as_ref(), settings)?;
        let since = match bound {
            Some((asked, bound)) => {
                let (table, filter) = (table.as_ref(), settings.filter.as_deref());
                let found = since::find_range(
                    keeper,
                    asked,
                    bound,
                    table,
                    &from,
                    &mut relations,
                    filter,
                    name,
                );
                Some(found?)
            }
            None => None,
        };
        let mark = match (&since, settings.is_stable) {
            (Some(found), _) => found.range.to_mark(),
            (None, true) => "stable".to_owned(),
            (None, false) => snapshot.transactions.clone(),
        };
        let mut identity = vec![place.clone()];
        identity.extend(columns.iter().map(Column::expression));
        identity.extend(settings.filter.clone());
        identity.extend(since.as_ref().map(|found| found.condition.clone()));
        let filter = settings.filter.as_deref().map(in_parentheses);
        let range = since.as_ref().map(|found| found.condition.clone());
        let conditions = filter.into_iter().chain(range).collect();
        let inputs = relations.into_iter().enumerate().map(|(index, relation)| {
            let mut identity = identity.clone();
            identity.push(relation.from.clone());
            Arc::new(TableInput {
                index,
                name: Arc::from(Path::new(&relation.name)),
                from: relation.from,
                pages: relation.pages,
                size_bytes: relation.size_bytes,
                mark: mark.clone(),
                identity,
            })
        });
        Ok(PostgresSource {
            description: format!("{} of {place}", name.display()),
            inputs: inputs.collect(),
            notes: note.into_iter().collect(),
            since,
            reading: Reading {
                pool: Pool::new(snapshot, settings.max_connections - 1, stop),
                columns,
                conditions,
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

    fn range_of(&self, input: usize, read: &SplitContent) -> Range<u64> {
        let end = self.inputs[input].size_bytes;
        read.start..read.end.unwrap_or(end)
    }
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

/// The columns to read, with their types.
fn columns_of(
    keeper: &mut BlockingSession,
    name: &Path,
    from: &str,
    table: Option<&Table>,
    settings: &Settings,
) -> Result<Vec<Column>, SourceError> {
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
    columns::resolve(keeper, name, &chosen, &not_null, &fields)
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

    /// Ranges of pages.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        let of = &self.inputs[input];
        let pages = of.pages.unwrap_or(0);
        if pages < 2 || of.size_bytes == 0 {
            return Ok(vec![self.whole(input)]);
        }
        let page_bytes = of.page_bytes();
        let step = (wanted_bytes / page_bytes).clamp(1, pages);
        let mut splits = Vec::new();
        let mut page = 0;
        while page < pages {
            let next = page.saturating_add(step).min(pages);
            let end = match next == pages {
                true => of.size_bytes,
                false => next * page_bytes,
            };
            let range = page * page_bytes..end;
            splits.push(SourceSplit {
                input,
                size_bytes: range.end - range.start,
                range,
                first_record: None,
                is_shared: false,
            });
            page = next;
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
