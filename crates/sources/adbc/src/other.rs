//! Tables and queries of any database with an ADBC driver: only the SQL standard is used, and Arrow's types are kept. A
//! result that is not cut by a key, and whose rows are not declared stable, is read in the partitions that the driver offers (`ExecutePartitions` of ADBC).

use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use inrush_rows::sql_text::{alone, identifier, in_parentheses};
use inrush_source::{SourceError, choose_columns, chosen_rows, refuse_unknown_key, unsteady_word};

use crate::columns::{Column, ROWS, qualified};
use crate::database::Database;
use crate::error::Refused;
use crate::keys::{self, Dialect, FoundKeys, KeyAsked};
use crate::session::{ReadTransaction, Session};
use crate::table::{Block, Partitions, Table};
use crate::{Rows, Settings};

/// A table, a view or a query.
#[derive(Debug)]
pub struct OtherTable {
    columns: Vec<Column>,
    statement: String,
    all_rows: String,
    keys: Option<FoundKeys>,
    partitions: Option<Partitions>,
}

impl OtherTable {
    /// Opens a table, a view or a query. With `has_partitions` the driver may cut its result.
    pub fn open(
        session: &mut Session,
        name: &str,
        settings: &Settings,
        has_partitions: bool,
        refused: Refused<'_>,
    ) -> Result<OtherTable, SourceError> {
        let input = Path::new(name);
        let whole = match &settings.rows {
            Rows::Table { schema, name } => qualified(schema.as_deref(), name),
            Rows::Query(query) => in_parentheses(query),
        };
        let from = match &settings.filter {
            Some(filter) => {
                let condition = in_parentheses(filter);
                format!("(SELECT f.* FROM {whole} AS f WHERE {condition})")
            }
            None => whole.clone(),
        };
        let doing = format!("asking for the columns of {name}");
        let mut describe = |sql: &str| session.schema(sql).map_err(|error| refused(&doing, &error));
        let of_list = |list: &str| format!("SELECT {list} FROM {from} AS {ROWS} WHERE 1 = 0");
        let all = describe(&of_list(&format!("{ROWS}.*")))?;
        if let Some(filter) = &settings.filter {
            // A query without rows, because some drivers run a statement to describe it.
            let none = format!("(SELECT f.* FROM {whole} AS f WHERE 1 = 0)");
            describe(&format!(
                "SELECT f.* FROM {none} AS f WHERE {}",
                alone(filter)
            ))?;
        }
        let names: Vec<String> = all
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect();
        let expressions: Vec<String> = choose_columns(input, &names, &settings.columns)?
            .into_iter()
            .map(|(name, is_text)| {
                let name = identifier(&name);
                match is_text {
                    true => format!("CAST({ROWS}.{name} AS VARCHAR) AS {name}"),
                    false => format!("{ROWS}.{name}"),
                }
            })
            .collect();
        let list = expressions.join(", ");
        let chosen = describe(&of_list(&list))?;
        let mut columns = Vec::with_capacity(chosen.fields().len());
        for field in chosen.fields() {
            let column = Column::of_field(field);
            column.check(input)?;
            columns.push(column);
        }
        let all_rows = from.clone();
        let from = format!("{from} AS {ROWS}");
        let Some(column) = &settings.split_by else {
            let statement = format!("SELECT {list} FROM {from}");
            // The next run may get other partitions. The rows of a stable table are not compared, so that run would
            // not notice the difference.
            let partitions = match has_partitions && !settings.is_stable {
                true => partitions(session, &statement, name, refused)?,
                false => None,
            };
            return Ok(OtherTable {
                columns,
                statement,
                all_rows,
                keys: None,
                partitions,
            });
        };
        refuse_unknown_key(input, column, &names, "split_by")?;
        let query = match &settings.rows {
            Rows::Query(query) => query,
            Rows::Table { .. } => "",
        };
        if let Some(word) = unsteady_word(query) {
            return Err(chosen_rows(input, &format!("the word {word}"), "split_by"));
        }
        let key = key_of(column);
        let of_key = describe(&of_list(&key))?;
        let of_key = of_key.fields().first().map(|field| Column::of_field(field));
        let asked = KeyAsked {
            input,
            column,
            key: &key,
            from: &from,
            takes_nulls: settings.split_nulls,
            dialect: Dialect::Other(
                of_key
                    .as_ref()
                    .map_or(&DataType::Utf8, |column| &column.data_type),
            ),
        };
        Ok(OtherTable {
            columns,
            statement: format!("SELECT {key}, {list} FROM {from}"),
            all_rows,
            keys: Some(keys::find(session, &asked, refused)?),
            partitions: None,
        })
    }
}

/// The plan's note if the rows may not all be of one moment.
pub fn moment_note(
    transaction: ReadTransaction,
    name: &str,
    database: &Database,
    sessions_max: usize,
) -> Option<String> {
    match sessions_max {
        1 if transaction.is_snapshot => None,
        1 => Some(format!(
            "Inrush does not know whether a transaction of {} reads one snapshot: make sure that nobody writes to {name} meanwhile",
            database.described
        )),
        _ => Some(format!(
            "{name} is read by several connections (`max_connections`), each at its own moment: let nobody write to it meanwhile"
        )),
    }
}

/// The plan's note if a query that writes is not refused.
pub fn writes_note(transaction: ReadTransaction, database: &Database) -> Option<String> {
    (!transaction.is_read_only).then(|| {
        format!(
            "the driver of {} has no transactions that only read: a query or a function that writes is not refused, so connect as a \
             user who can only read",
            database.described
        )
    })
}

/// The partitions of a statement's result. `None` if the driver offers no more than one.
fn partitions(
    session: &mut Session,
    statement: &str,
    name: &str,
    refused: Refused<'_>,
) -> Result<Option<Partitions>, SourceError> {
    let found = session.partitions(statement);
    let found = found.map_err(|error| refused(&format!("reading {name}"), &error))?;
    let found = found.filter(|found| found.partitions.len() > 1);
    Ok(found.map(|found| Partitions {
        names: found.partitions,
        rows: u64::try_from(found.rows_affected).ok(),
    }))
}

/// The column of the key in SQL.
fn key_of(column: &str) -> String {
    format!("{ROWS}.{}", identifier(column))
}

impl Table for OtherTable {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn all_rows(&self) -> &str {
        &self.all_rows
    }

    fn keys(&self) -> Option<&FoundKeys> {
        self.keys.as_ref()
    }

    fn partitions(&self) -> Option<&Partitions> {
        self.partitions.as_ref()
    }

    /// The driver may know the number of rows in the partitions of a result.
    fn estimated_rows(&self, _session: &mut Session) -> Option<u64> {
        self.partitions.as_ref()?.rows
    }

    fn statement(&self, range: Range<u64>) -> String {
        let ranges = self.keys.as_ref().map(|keys| &keys.ranges);
        let condition = ranges.and_then(|ranges| ranges.condition(&key_of(&ranges.column), range));
        match condition {
            Some(condition) => format!("{} WHERE {condition}", self.statement),
            None => self.statement.clone(),
        }
    }

    fn block(&self, batch: &RecordBatch, _is_first: bool) -> Result<Block, String> {
        let keys = self.keys.as_ref().and(batch.columns().first());
        let columns = batch.columns().iter().skip(usize::from(keys.is_some()));
        Ok(Block {
            columns: columns.cloned().collect(),
            row_ids: None,
            keys: keys.cloned(),
            faults: Vec::new(),
        })
    }
}
