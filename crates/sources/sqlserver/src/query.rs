//! The statements that read a table, a view or a query.

use std::ops::Range;
use std::path::Path;

use inrush_rows::sql_text::{alone, identifier, in_parentheses};
use inrush_source::{SourceError, choose_columns};

use crate::split_by::SplitBy;
use crate::{Rows, Settings};

/// The alias of the rows in statements.
pub const ROWS: &str = "inrush_rows";

/// A table as statements write it; `None` for a query.
pub fn table(rows: &Rows) -> Option<String> {
    match rows {
        Rows::Table { schema, name } => Some(match schema {
            Some(schema) => format!("{}.{}", identifier(schema), identifier(name)),
            None => identifier(name),
        }),
        Rows::Query(_) => None,
    }
}

/// The text after FROM. `sample` is a clause that takes some of a table's rows, with a blank before it.
pub fn rows_of(settings: &Settings, sample: &str) -> String {
    let from = unfiltered(settings);
    match &settings.filter {
        Some(filter) => {
            let condition = in_parentheses(filter);
            format!("(SELECT * FROM {from} AS f{sample} WHERE {condition}) AS {ROWS}")
        }
        None => format!("{from} AS {ROWS}{sample}"),
    }
}

/// A statement that only checks whether the condition is valid without the parentheses around it.
pub fn condition_alone(settings: &Settings) -> Option<String> {
    let condition = alone(settings.filter.as_deref()?);
    let from = unfiltered(settings);
    Some(format!(
        "SELECT * FROM (SELECT * FROM {from} AS f WHERE 1 = 0) AS f WHERE {condition}"
    ))
}

fn unfiltered(settings: &Settings) -> String {
    match &settings.rows {
        Rows::Query(query) => in_parentheses(query),
        named => table(named).unwrap_or_default(),
    }
}

/// A statement without rows, which only describes all columns.
pub fn describe(from: &str) -> String {
    format!("SELECT * FROM {from} WHERE 1 = 0")
}

/// The statements that read splits of the rows.
#[derive(Clone, Debug)]
pub struct Reads {
    list: String,
    from: String,
}

impl Reads {
    /// The statements that read the columns that the settings choose from `all`.
    pub fn of(
        input: &Path,
        from: &str,
        all: &[String],
        settings: &Settings,
    ) -> Result<Reads, SourceError> {
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
        Ok(Reads {
            list: list.join(", "),
            from: from.to_owned(),
        })
    }

    /// A statement without rows, which only describes the columns.
    pub fn describe(&self) -> String {
        format!("SELECT {} FROM {} WHERE 1 = 0", self.list, self.from)
    }

    /// The statement that reads these steps, or all rows if the rows are not split. If they are split, the first column
    /// is the place of a row.
    pub fn statement(&self, split_by: Option<&SplitBy>, steps: Range<u64>) -> String {
        let Reads { list, from } = self;
        let condition = split_by.and_then(|split_by| split_by.condition(steps));
        let condition = condition.map(|condition| format!(" WHERE {condition}"));
        let condition = condition.unwrap_or_default();
        let Some(split_by) = split_by else {
            return format!("SELECT {list} FROM {from}");
        };
        let (_, place) = split_by.place();
        let order = split_by.order().map(|key| format!(" ORDER BY {key}"));
        let order = order.unwrap_or_default();
        format!("SELECT {place} AS inrush_place, {list} FROM {from}{condition}{order}")
    }
}
