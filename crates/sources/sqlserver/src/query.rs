//! The statements that read a table, a view or a query.

use std::path::Path;

use inrush_rows::sql_text::{identifier, in_parentheses};
use inrush_source::{SourceError, choose_columns};

use crate::{Rows, Settings};

/// The name of the rows in statements.
const ROWS: &str = "inrush_rows";

/// What follows FROM.
pub fn rows_of(settings: &Settings) -> String {
    let from = match &settings.rows {
        Rows::Table { schema, name } => match schema {
            Some(schema) => format!("{}.{}", identifier(schema), identifier(name)),
            None => identifier(name),
        },
        Rows::Query(query) => in_parentheses(query),
    };
    match &settings.filter {
        Some(filter) => {
            let condition = in_parentheses(filter);
            format!("(SELECT * FROM {from} AS f WHERE {condition}) AS {ROWS}")
        }
        None => format!("{from} AS {ROWS}"),
    }
}

/// The statement that only describes all columns.
pub fn describe(from: &str) -> String {
    format!("SELECT * FROM {from} WHERE 1 = 0")
}

/// The statement that reads the chosen ones of these columns.
pub fn read(
    input: &Path,
    from: &str,
    all: &[String],
    settings: &Settings,
) -> Result<String, SourceError> {
    let chosen = choose_columns(input, all, &settings.columns)?;
    let list: Vec<String> = chosen
        .into_iter()
        .map(|(name, is_text)| {
            let name = identifier(&name);
            match is_text {
                true => format!("CAST({ROWS}.{name} AS nvarchar(max)) AS {name}"),
                false => format!("{ROWS}.{name}"),
            }
        })
        .collect();
    Ok(format!("SELECT {} FROM {from}", list.join(", ")))
}
