//! The source: opened at a snapshot.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use inrush_pgclient::quote::identifier;
use inrush_rows::cancel::Stop;
use inrush_rows::finding::Finding;
use inrush_rows::native_type::NativeType;
use inrush_rows::pace::Pace;
use inrush_source::{
    ColumnCollation, DatabaseInput, ExpectedReading, FoundRange, Input, InputKind, RangesMark,
    ReadSettings, SessionSampler, Source, SourceColumn, SourceError, SourceSplit, SourceStream,
    SplitContent, TableStructure, has_same_hashes, never_the_same, stream_by,
};

use crate::Settings;
use crate::catalog::{look, where_clause};
use crate::columns::Column;
use crate::database::Database;
use crate::error::of_session;
use crate::explained::Explained;
use crate::hazards;
use crate::input::TableInput;
use crate::keys;
use crate::pool::Pool;
use crate::proof;
use crate::ranges::{self, Part};
use crate::reader::RangeReader;
use crate::rows::RowPlace;
use crate::sampler::Sampler;
use crate::snapshot::USER_NAMES;

/// A table or a query, at one snapshot.
#[derive(Debug)]
pub struct PostgresSource {
    description: String,
    inputs: Vec<Arc<TableInput>>,
    notes: Vec<String>,
    stored: Vec<String>,
    primary_key: Vec<String>,
    structure: Option<TableStructure>,
    since: Option<FoundRange>,
    has_one_moment: bool,
    reading: Reading,
}

/// The shared data of the readers of all splits.
#[derive(Debug)]
pub struct Reading {
    database: Arc<Database>,
    /// The columns that are read.
    pub columns: Vec<Column>,
    /// Conditions on the rows, each safe to be joined with others by AND.
    conditions: Vec<String>,
    /// True if reading a table that hides rows from the user by row security is an error.
    pub hides_nothing: bool,
    /// True if the server counts and hashes the rows of each range that was read.
    pub is_proven: bool,
    /// The stop that ends reads.
    pub stop: Stop,
}

impl Reading {
    /// The name of the server and the database.
    pub fn place(&self) -> &Arc<str> {
        &self.database.place
    }

    /// The sessions.
    pub fn pool(&self) -> &Pool {
        &self.database.pool
    }

    /// The pace of all readers.
    pub fn pace(&self) -> &Arc<Pace> {
        &self.database.pace
    }

    /// The kind of places of the rows of a range.
    pub fn row_place(&self, input: &TableInput, range: &Range<u64>) -> RowPlace {
        match &input.keys {
            Some(keys) => {
                let column = Arc::from(keys.column.as_str());
                RowPlace::Key(column, input.steps_in(range).start)
            }
            None if input.pages.is_some() => RowPlace::Page,
            None => RowPlace::Number,
        }
    }

    /// The conditions of the rows of a range.
    pub fn conditions(&self, input: &TableInput, range: &Range<u64>) -> Vec<String> {
        let mut conditions = Vec::new();
        let steps = input.steps_in(range);
        if let Some(keys) = &input.keys {
            conditions.extend(keys.condition(&identifier(&keys.column), steps));
        } else if input.pages.is_some() {
            if steps.start > 0 {
                conditions.push(format!("ctid >= '({},0)'", steps.start));
            }
            // The last range has no upper end, so no page is left out, whenever it was added.
            if range.end < input.of.size_bytes {
                conditions.push(format!("ctid < '({},0)'", steps.end));
            }
        }
        conditions.extend(self.conditions.iter().cloned());
        conditions
    }

    /// The statement that reads a range of an input.
    pub fn copy(&self, input: &TableInput, range: &Range<u64>) -> String {
        let mut list: Vec<String> = self.columns.iter().map(Column::expression).collect();
        match (&input.keys, input.pages) {
            (Some(keys), _) => list.insert(0, keys::place_expression(keys)),
            (None, Some(_)) => list.insert(0, "ctid".to_owned()),
            (None, None) => {}
        }
        format!(
            "COPY (SELECT {} FROM {}{}) TO STDOUT (FORMAT binary)",
            list.join(", "),
            input.from,
            where_clause(&self.conditions(input, range))
        )
    }
}

impl PostgresSource {
    /// Opens a table or a query: takes the snapshot, and looks at the catalog. Reads end when a stop is requested.
    pub fn open(settings: &Settings, stop: &Stop) -> Result<PostgresSource, SourceError> {
        let wanted = [settings.wanted()];
        let database = Database::open(&settings.address, &wanted, settings.limits, stop)?;
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
        let transactions = database.pool.snapshot().transactions.as_str();
        let looked = database.look(name, |keeper| {
            look(keeper, name, &found, settings, transactions)
        })?;
        let mut mark = match (&looked.since, settings.is_stable) {
            (Some(found), _) => found.range.to_mark(),
            (None, true) => "stable".to_owned(),
            (None, false) if looked.changes_unseen.is_some() => never_the_same(),
            (None, false) => transactions.to_owned(),
        };
        let place = &database.place;
        let mut notes = database.notes.clone();
        notes.extend(looked.notes);
        let is_of_standby = database.pool.snapshot().is_of_standby;
        let has_one_moment = looked.changes_unseen.is_none();
        let unproven = looked.changes_unseen.or_else(|| {
            (is_of_standby && !settings.is_stable)
                .then(|| format!("{place} is a standby, and two snapshots of a standby may be equal although rows changed in between"))
        });
        if let Some(why) = unproven.filter(|_| looked.since.is_none()) {
            let always = match looked.ranges {
                Some(_) => "counted and hashed again by the server",
                None => "read again",
            };
            notes.push(format!(
                "{}: {why}. So rows that were loaded before are always {always}",
                name.display()
            ));
        }
        let mut identity = vec![place.to_string()];
        identity.extend(looked.columns.iter().map(Column::expression));
        identity.extend(settings.filter.clone());
        identity.extend(looked.since.as_ref().map(|found| found.condition.clone()));
        if let Some(keys) = &looked.keys {
            notes.push(keys.note(&name.display().to_string()));
            identity.push(format!("split by {}", keys.column));
            // With other borders, the same range of bytes has other rows.
            match (&looked.since, &looked.ranges) {
                // The mark has only the range, because the next run reads the range from it.
                (Some(_), _) => identity.push(keys.digest()),
                (None, Some(borders)) => {
                    mark = RangesMark {
                        snapshot: mark,
                        ..borders.clone()
                    }
                    .to_mark();
                }
                (None, None) => mark = format!("{mark} {}", keys.digest()),
            }
        }
        let parts = match (&looked.keys, &looked.ranges) {
            (Some(keys), Some(borders)) => ranges::inputs(looked.relations, keys, borders),
            _ => looked.relations.into_iter().map(Part::whole).collect(),
        };
        let inputs = parts.into_iter().enumerate();
        let inputs = inputs.map(|(index, part)| {
            let Part {
                relation,
                only_range,
                condition,
            } = part;
            let mut identity = identity.clone();
            identity.push(relation.from.clone());
            identity.extend(condition);
            let pages = relation.pages.filter(|_| looked.keys.is_none());
            Arc::new(TableInput {
                of: Arc::new(DatabaseInput {
                    index,
                    kind: match only_range {
                        Some(_) => InputKind::Range,
                        None => settings.rows.kind(),
                    },
                    name: Arc::from(Path::new(&relation.name)),
                    size_bytes: relation.size_bytes,
                    mark: mark.clone(),
                    identity,
                    keeps_places: pages.is_some(),
                    places_by: Some("read a table, without `query` and `split_by`"),
                    whole_because: match looked.keys.is_some() || pages.is_some() {
                        true => None,
                        false => {
                            Some("no table with pages of its own, and no `split_by` names a key")
                        }
                    },
                    is_loaded_alone_again: only_range.is_some(),
                }),
                from: relation.from,
                pages,
                keys: looked.keys.clone(),
                only_range,
            })
        });
        Ok(PostgresSource {
            description: format!("{} of {place}", name.display()),
            inputs: inputs.collect(),
            notes,
            stored: found.stored,
            primary_key: looked.primary_key,
            structure: looked.structure,
            since: looked.since,
            has_one_moment,
            reading: Reading {
                database: Arc::clone(database),
                columns: looked.columns,
                conditions: looked.conditions,
                hides_nothing: found.table.is_some(),
                is_proven: looked.ranges.is_some(),
                stop: stop.clone(),
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

    /// The columns of the table's primary key, if all of them are read as values.
    pub fn primary_key(&self) -> &[String] {
        &self.primary_key
    }

    /// The collations of the text columns that are read unchanged.
    pub fn collations(&self) -> Vec<ColumnCollation> {
        let columns = self.reading.columns.iter();
        columns
            .filter_map(|column| column.collation.clone())
            .collect()
    }

    /// The indexes and partitions that a new target gets from the table, if the settings ask for them.
    pub fn structure(&self) -> Option<&TableStructure> {
        self.structure.as_ref()
    }

    /// The column by whose ranges it is cut.
    pub fn split_by(&self) -> Option<&str> {
        let keys = self.inputs.first()?.keys.as_ref()?;
        Some(&keys.column)
    }
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
        self.inputs[index].of.clone()
    }

    fn whole(&self, input: usize) -> SourceSplit {
        self.inputs[input].of.whole()
    }

    /// Ranges of pages, or of the key.
    fn splits(&self, input: usize, wanted_bytes: u64) -> Result<Vec<SourceSplit>, SourceError> {
        let steps = self.inputs[input].steps();
        Ok(match steps.count < 2 || steps.size_bytes == 0 {
            true => vec![self.whole(input)],
            false => steps.splits(input, wanted_bytes),
        })
    }

    fn open_stream(
        &self,
        settings: ReadSettings,
    ) -> Result<Box<dyn SourceStream + '_>, SourceError> {
        Ok(stream_by(move |split| {
            let input = &self.inputs[split.input];
            RangeReader::open(
                &self.reading,
                input,
                split.range.clone(),
                settings.chunk_bytes,
            )
        }))
    }

    fn has_same_content(&self, input: usize, read: &[SplitContent]) -> Result<bool, SourceError> {
        let of = &self.inputs[input];
        if self.reading.is_proven {
            return proof::holds(&self.reading, of, read);
        }
        has_same_hashes(read, of.of.size_bytes, |range, chunk_bytes| {
            RangeReader::open(&self.reading, of, range, chunk_bytes)
        })
    }

    /// Rows that come from another server or depend on the time are as of the moment at which each session begins.
    fn has_one_moment(&self) -> bool {
        self.has_one_moment
    }

    fn native_forms(&self) -> Option<Vec<NativeType>> {
        let columns = self.reading.columns.iter();
        columns.map(|column| column.form.clone()).collect()
    }

    fn sampler(&self) -> Option<Arc<dyn SessionSampler>> {
        Some(Arc::new(Sampler::new(&self.reading.database)))
    }

    /// The estimate of the server's planner.
    fn estimated_rows(&self, input: usize) -> Result<Option<u64>, SourceError> {
        let of = &self.inputs[input];
        let conditions = self.reading.conditions(of, &(0..of.of.size_bytes));
        let select = format!("SELECT * FROM {}{}", of.from, where_clause(&conditions));
        let explained = self.reading.database.look(&of.of.name, |keeper| {
            let doing = "asking the planner for the number of rows";
            let failed = |error| of_session(&of.of.name, error);
            keeper.query(USER_NAMES, doing).map_err(failed)?;
            Explained::of(keeper, &of.of.name, &select)
        })?;
        Ok(Some(explained.rows))
    }

    fn hazards(&self, expected: &ExpectedReading) -> Result<Vec<Finding>, SourceError> {
        hazards::of_reading(&self.reading.database, expected)
    }

    fn pace(&self) -> Option<&Arc<Pace>> {
        self.reading.pace().if_limited()
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn stored_tables(&self) -> Vec<String> {
        self.stored.clone()
    }
}
