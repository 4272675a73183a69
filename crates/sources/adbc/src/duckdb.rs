//! Tables, views and queries of DuckDB.
//!
//! All SQL of a user goes through DuckDB's table function `query`, which takes exactly one SELECT: nothing else is run.

use std::ops::Range;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use inrush_rows::sql_text::{alone, identifier, in_parentheses};
use inrush_source::{SourceError, choose_columns, refuse_unknown_key};

use crate::arrays::plain_or_text;
use crate::columns::{Column, literal, qualified, row_bytes, without_counterpart};
use crate::duckdb_plan::{explained, refuse_chosen_rows, why_changes_unseen};
use crate::error::Refused;
use crate::keys::{self, Dialect, FoundKeys, KeyAsked};
use crate::session::Session;
use crate::table::{Block, RowIds, Table};
use crate::{Rows, Settings};

/// The name of the column with the row's number.
const ROW_ID: &str = "inrush_row_id";

/// The name of the column with the row's key.
const KEY: &str = "inrush_key";

/// The number of rows of a row group, which DuckDB reads as a whole.
const GROUP_ROWS: u64 = 122_880;

/// A table, a view or a query.
#[derive(Debug)]
pub struct DuckDbTable {
    columns: Vec<Column>,
    /// Its columns in a select list.
    list: String,
    /// The text after FROM. It includes the row numbers, if there are any.
    from: String,
    row_ids: Option<RowIds>,
    keys: Option<FoundKeys>,
    changes_unseen: Option<String>,
}

impl DuckDbTable {
    /// Opens a table, a view or a query. `range` is the condition of an incremental load.
    pub fn open(
        session: &mut Session,
        name: &str,
        settings: &Settings,
        range: Option<&str>,
        refused: Refused<'_>,
    ) -> Result<DuckDbTable, SourceError> {
        let input = Path::new(name);
        let filter = settings.filter.as_deref().map(in_parentheses);
        let conditions: Vec<String> = filter.into_iter().chain(range.map(str::to_owned)).collect();
        let condition = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        let from_where = |row_id: &str, condition: &str| match &settings.rows {
            Rows::Table { schema, name } => {
                let table = qualified(schema.as_deref(), name);
                one_select(&format!("SELECT {row_id}* FROM {table}{condition}"))
            }
            Rows::Query(query) if condition.is_empty() => one_select(query),
            Rows::Query(query) => {
                let query = in_parentheses(query);
                one_select(&format!("SELECT * FROM {query} AS q{condition}"))
            }
        };
        let from_with = |row_id: &str| from_where(row_id, &condition);
        let plain = from_with("");
        let doing = format!("asking for the columns of {name}");
        let described = session
            .rows(&format!("DESCRIBE SELECT * FROM {plain}"))
            .map_err(|error| refused(&doing, &error))?;
        let described: Vec<(String, String)> = described
            .into_iter()
            .filter_map(|row| {
                let mut row = row.into_iter().flatten();
                Some((row.next()?, row.next()?))
            })
            .collect();
        if let Some(filter) = &settings.filter {
            let plain = from_where("", &format!(" WHERE {}", alone(filter)));
            session
                .rows(&format!("DESCRIBE SELECT * FROM {plain}"))
                .map_err(|error| refused(&doing, &error))?;
        }
        let names: Vec<String> = described.iter().map(|(name, _)| name.clone()).collect();
        let chosen = choose_columns(input, &names, &settings.columns)?;
        let mut expressions = Vec::with_capacity(chosen.len());
        for (name, is_text) in &chosen {
            let kind = described.iter().find(|(known, _)| known == name);
            let kind = kind.map_or("", |(_, kind)| kind.as_str());
            if !*is_text && !is_known(kind) {
                return Err(without_counterpart(input, name, kind));
            }
            let quoted = identifier(name);
            expressions.push(match is_text {
                true => format!("CAST({quoted} AS VARCHAR) AS {quoted}"),
                false => quoted,
            });
        }
        let list = expressions.join(", ");
        let schema = session
            .schema(&format!("SELECT {list} FROM {plain} LIMIT 0"))
            .map_err(|error| refused(&doing, &error))?;
        let not_null = not_null(session, &settings.rows, &doing, refused)?;
        let mut columns = Vec::with_capacity(chosen.len());
        for (field, (name, is_text)) in schema.fields().iter().zip(&chosen) {
            let kind = described.iter().find(|(known, _)| known == name);
            let column = Column {
                sql_type: match kind {
                    Some((_, kind)) if !*is_text => sql_type(kind),
                    _ => None,
                },
                declared: kind.map(|(_, kind)| kind.clone()),
                not_null: not_null.contains(name),
                ..Column::of_field(field)
            };
            column.check(input)?;
            columns.push(column);
        }
        let keys = match &settings.split_by {
            Some(column) => {
                refuse_unknown_key(input, column, &names, "split_by")?;
                refuse_chosen_rows(session, input, &plain, &settings.rows, "split_by", refused)?;
                let kind = described.iter().find(|(name, _)| name == column);
                let asked = KeyAsked {
                    input,
                    column,
                    key: &identifier(column),
                    from: &plain,
                    takes_nulls: settings.split_nulls,
                    dialect: Dialect::DuckDb(kind.map_or("VARCHAR", |(_, kind)| kind.as_str())),
                };
                Some(keys::find(session, &asked, refused)?)
            }
            None => None,
        };
        let changes_unseen = match settings.is_stable {
            true => None,
            false => why_changes_unseen(session, &plain, settings, refused)?,
        };
        if range.is_some() {
            // Rows that a limit leaves out would be below the next mark, and would never be loaded.
            refuse_chosen_rows(session, input, &plain, &settings.rows, "since", refused)?;
        }
        let row_ids = match keys {
            Some(_) => None,
            None => row_ids(session, &settings.rows, &names, &columns),
        };
        let from = match row_ids {
            Some(_) => from_with(&format!("rowid AS {ROW_ID}, ")),
            None => plain,
        };
        Ok(DuckDbTable {
            columns,
            list,
            from,
            row_ids,
            keys,
            changes_unseen,
        })
    }
}

/// The rows of one SELECT. The SELECT is passed as a text literal, so nothing in it can end the literal.
fn one_select(sql: &str) -> String {
    format!("query({})", literal(sql))
}

/// The columns of a table that have no NULL.
fn not_null(
    session: &mut Session,
    rows: &Rows,
    doing: &str,
    refused: Refused<'_>,
) -> Result<Vec<String>, SourceError> {
    let Rows::Table { schema, name } = rows else {
        return Ok(Vec::new());
    };
    let table = qualified(schema.as_deref(), name);
    let told = session
        .rows(&format!("DESCRIBE {table}"))
        .map_err(|error| refused(doing, &error))?;
    let of_row = |row: Vec<Option<String>>| {
        let is_not_null = row.get(2)?.as_deref() == Some("NO");
        row.into_iter().next().flatten().filter(|_| is_not_null)
    };
    Ok(told.into_iter().filter_map(of_row).collect())
}

/// The numbers of a table's rows. Views and tables of other formats have none. If a column is itself named `rowid` or
/// [`ROW_ID`], the numbers cannot be read.
fn row_ids(
    session: &mut Session,
    rows: &Rows,
    names: &[String],
    columns: &[Column],
) -> Option<RowIds> {
    let Rows::Table { schema, name } = rows else {
        return None;
    };
    let taken = |name: &String| {
        let lower = name.to_lowercase();
        lower == "rowid" || lower == ROW_ID
    };
    if names.iter().any(taken) {
        return None;
    }
    let table = qualified(schema.as_deref(), name);
    let told = session
        .rows(&format!("SELECT max(rowid) FROM {table}"))
        .ok()?;
    let last = told.into_iter().next()?.into_iter().next()?;
    let end = match last {
        Some(last) => last.parse::<u64>().ok()?.checked_add(1)?,
        None => 0,
    };
    Some(RowIds {
        end,
        row_bytes: row_bytes(columns),
        group_rows: GROUP_ROWS,
    })
}

/// True if Arrow has all values of a type. `TIME WITH TIME ZONE` would lose its offset and `UHUGEINT` its highest bit; `BIT` and
/// `BIGNUM` are DuckDB's own bytes.
fn is_known(kind: &str) -> bool {
    let base = kind.split('(').next().unwrap_or(kind);
    let is_known = matches!(
        base,
        "BOOLEAN"
            | "TINYINT"
            | "SMALLINT"
            | "INTEGER"
            | "BIGINT"
            | "UTINYINT"
            | "USMALLINT"
            | "UINTEGER"
            | "UBIGINT"
            | "HUGEINT"
            | "FLOAT"
            | "DOUBLE"
            | "DECIMAL"
            | "VARCHAR"
            | "JSON"
            | "BLOB"
            | "DATE"
            | "TIME"
            | "TIMESTAMP"
            | "TIMESTAMP_S"
            | "TIMESTAMP_MS"
            | "TIMESTAMP_NS"
            | "TIMESTAMP WITH TIME ZONE"
            | "INTERVAL"
            | "UUID"
            | "ENUM"
            | "\"NULL\""
    );
    // A list is written as the type of its elements followed by brackets.
    is_known && !kind.ends_with(']')
}

/// The type for a new target, if Arrow's type says less about the values.
fn sql_type(kind: &str) -> Option<String> {
    match kind {
        "JSON" => Some("json".to_owned()),
        "UUID" => Some("uuid".to_owned()),
        _ => None,
    }
}

impl Table for DuckDbTable {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn all_rows(&self) -> &str {
        &self.from
    }

    fn row_ids(&self) -> Option<RowIds> {
        self.row_ids
    }

    fn places_by(&self) -> Option<&'static str> {
        Some("read a table, without `query` and `split_by`")
    }

    fn keys(&self) -> Option<&FoundKeys> {
        self.keys.as_ref()
    }

    fn changes_unseen(&self) -> Option<&str> {
        self.changes_unseen.as_deref()
    }

    /// The planner's estimate, from the outermost operator that has an estimate.
    fn estimated_rows(&self, session: &mut Session) -> Option<u64> {
        let parts = explained(session, &self.from).ok()?;
        let mut of_operators = parts.iter().rev();
        let (_, rows) = of_operators.find(|(key, _)| key == "Estimated Cardinality")?;
        rows.parse().ok()
    }

    fn statement(&self, range: Range<u64>) -> String {
        let DuckDbTable { list, from, .. } = self;
        if let Some(FoundKeys { ranges, .. }) = &self.keys {
            let key = identifier(&ranges.column);
            let condition = ranges.condition(&key, range);
            let condition = condition.map_or_else(String::new, |it| format!(" WHERE {it}"));
            return format!("SELECT {key} AS {KEY}, {list} FROM {from}{condition}");
        }
        let Some(RowIds { end, .. }) = self.row_ids else {
            return format!("SELECT {list} FROM {from}");
        };
        let mut conditions = Vec::new();
        if range.start > 0 {
            conditions.push(format!("{ROW_ID} >= {}", range.start));
        }
        if range.end < end {
            conditions.push(format!("{ROW_ID} < {}", range.end));
        }
        let conditions = match conditions.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", conditions.join(" AND ")),
        };
        format!("SELECT {ROW_ID}, {list} FROM {from}{conditions}")
    }

    fn block(&self, batch: &RecordBatch, _is_first: bool) -> Result<Block, String> {
        let has_row_ids = self.row_ids.is_some();
        let row_ids = match (has_row_ids, batch.columns().first()) {
            (true, Some(ids)) if *ids.data_type() == DataType::Int64 && ids.null_count() == 0 => {
                Some(ids.as_primitive::<Int64Type>().clone())
            }
            (true, _) => return Err("it sends rows without row numbers".to_owned()),
            (false, _) => None,
        };
        let keys = self.keys.as_ref().and(batch.columns().first());
        let own = usize::from(has_row_ids || keys.is_some());
        let columns = batch.columns().iter().skip(own);
        Ok(Block {
            columns: columns.cloned().map(plain_or_text).collect(),
            row_ids,
            keys: keys.cloned().map(plain_or_text),
            faults: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_arrow_would_change_are_not_known() {
        for kind in [
            "TIME WITH TIME ZONE",
            "UHUGEINT",
            "BIT",
            "BIGNUM",
            "INTEGER[]",
            "DECIMAL(3,1)[2]",
            "STRUCT(a INTEGER)",
            "MAP(VARCHAR, INTEGER)",
            "UNION(k INTEGER)",
            "",
        ] {
            assert!(!is_known(kind), "{kind}");
        }
        for kind in [
            "DECIMAL(12,2)",
            "ENUM('a', 'b[]')",
            "TIMESTAMP WITH TIME ZONE",
        ] {
            assert!(is_known(kind), "{kind}");
        }
    }

    #[test]
    fn the_sql_of_a_user_cannot_end_its_literal() {
        assert_eq!(one_select("SELECT 'x' -- '"), "query('SELECT ''x'' -- ''')");
    }
}
