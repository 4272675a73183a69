//! Tables and queries of any database with an ADBC driver: only the SQL standard is used, and Arrow's types are taken as they are.

use std::ops::Range;
use std::path::Path;

use arrow_array::RecordBatch;
use inrush_rows::sql_text::{identifier, in_parentheses};
use inrush_source::{SourceError, choose_columns};

use crate::columns::{Column, ROWS, qualified};
use crate::error::Refused;
use crate::session::Session;
use crate::table::{Block, Table};
use crate::{Rows, Settings};

/// A table, a view or a query.
#[derive(Debug)]
pub struct OtherTable {
    columns: Vec<Column>,
    statement: String,
}

impl OtherTable {
    /// Looks at a table, a view or a query.
    pub fn open(
        session: &mut Session,
        name: &str,
        settings: &Settings,
        refused: Refused<'_>,
    ) -> Result<OtherTable, SourceError> {
        let input = Path::new(name);
        let from = match &settings.rows {
            Rows::Table { schema, name } => qualified(schema.as_deref(), name),
            Rows::Query(query) => in_parentheses(query),
        };
        let from = match &settings.filter {
            Some(filter) => {
                let condition = in_parentheses(filter);
                format!("(SELECT f.* FROM {from} AS f WHERE {condition})")
            }
            None => from,
        };
        let doing = format!("asking for the columns of {name}");
        let mut schema = |list: &str| {
            let sql = format!("SELECT {list} FROM {from} AS {ROWS} WHERE 1 = 0");
            session
                .schema(&sql)
                .map_err(|error| refused(&doing, &error))
        };
        let all = schema(&format!("{ROWS}.*"))?;
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
        let chosen = schema(&list)?;
        let mut columns = Vec::with_capacity(chosen.fields().len());
        for field in chosen.fields() {
            let column = Column::of_field(field);
            column.check(input)?;
            columns.push(column);
        }
        Ok(OtherTable {
            columns,
            statement: format!("SELECT {list} FROM {from} AS {ROWS}"),
        })
    }
}

impl Table for OtherTable {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn statement(&self, _range: Range<u64>) -> String {
        self.statement.clone()
    }

    fn block(&self, batch: &RecordBatch, _is_first: bool) -> Result<Block, String> {
        Ok(Block {
            columns: batch.columns().to_vec(),
            row_ids: None,
            faults: Vec::new(),
        })
    }
}
