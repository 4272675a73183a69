//! The columns that are read.

use std::path::Path;

use arrow_array::new_empty_array;
use arrow_schema::{DataType, Field};
use inrush_rows::sql_text::identifier;
use inrush_rows::typed_rows::Cells;
use inrush_source::{SourceColumn, SourceError};

use crate::error::input_error;

/// The suffix of a column whose values are read as the database's text.
const AS_TEXT: &str = "::text";

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// Its values are 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
    /// Its type in SQL, for a new target, if the type of its values does not say all: `json`, `uuid`.
    pub sql_type: Option<String>,
    /// It has no NULL.
    pub not_null: bool,
}

impl Column {
    /// A column of an Arrow schema.
    pub fn of_field(field: &Field) -> Column {
        let data_type = match field.data_type() {
            DataType::Dictionary(_, values) => values.as_ref(),
            other => other,
        };
        // The layout of values in memory does not matter.
        let data_type = match data_type {
            DataType::LargeUtf8 | DataType::Utf8View => DataType::Utf8,
            DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
            other => other.clone(),
        };
        let marked = field.metadata().get("ARROW:extension:name");
        Column {
            name: field.name().clone(),
            is_uuid: marked.is_some_and(|name| name == "arrow.uuid")
                && data_type == DataType::FixedSizeBinary(16),
            data_type,
            sql_type: None,
            not_null: false,
        }
    }

    /// What a plan is told.
    pub fn in_source(&self) -> SourceColumn {
        SourceColumn {
            name: self.name.clone(),
            data_type: Some(self.data_type.clone()),
            is_uuid: self.is_uuid,
            native: None,
        }
    }

    /// Refuses a type whose values have no text.
    pub fn check(&self, input: &Path) -> Result<(), SourceError> {
        match Cells::of(&new_empty_array(&self.data_type), self.is_uuid) {
            Some(_) => Ok(()),
            None => Err(without_counterpart(
                input,
                &self.name,
                &self.data_type.to_string(),
            )),
        }
    }
}

/// The refusal of a column's type.
pub fn without_counterpart(input: &Path, name: &str, type_name: &str) -> SourceError {
    input_error(
        input,
        format!(
            "the column {} has the type {type_name}, which has no counterpart",
            identifier(name)
        ),
        format!(
            "name the columns to read, and this one as {name}{AS_TEXT}: its values are then the database's text"
        ),
    )
}

/// The columns that are read, of all that there are, in their order, or those that are named; true for those that are read as
/// text.
pub fn choose(
    input: &Path,
    all: &[String],
    named: &[String],
) -> Result<Vec<(String, bool)>, SourceError> {
    if all.is_empty() {
        return Err(input_error(
            input,
            "it has no columns",
            "name a table with columns",
        ));
    }
    if named.is_empty() {
        return Ok(all.iter().map(|name| (name.clone(), false)).collect());
    }
    let mut chosen: Vec<(String, bool)> = Vec::new();
    for text in named {
        let (name, is_text) = match text.strip_suffix(AS_TEXT) {
            Some(name) if !all.contains(text) => (name.trim_end(), true),
            _ => (text.as_str(), false),
        };
        if !all.iter().any(|known| known == name) {
            let known: Vec<String> = all.iter().map(|name| identifier(name)).collect();
            return Err(input_error(
                input,
                format!("it has no column {}", identifier(name)),
                format!("its columns are {}", known.join(", ")),
            ));
        }
        if chosen.iter().any(|(other, _)| other == name) {
            let what = format!("the column {} stands twice", identifier(name));
            return Err(input_error(input, what, "name each column once"));
        }
        chosen.push((name.to_owned(), is_text));
    }
    Ok(chosen)
}

/// The name of the rows in statements whose rest a user wrote. The list before it names it, so that a text which ends its own
/// parentheses and begins another statement is an error: some drivers ignore what follows the first statement.
pub const ROWS: &str = "inrush_rows";

/// SQL of a user: a comment at its end must not swallow what follows.
pub fn in_parentheses(sql: &str) -> String {
    format!("(\n{sql}\n)")
}

/// A table's name in SQL.
pub fn qualified(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{}.{}", identifier(schema), identifier(name)),
        None => identifier(name),
    }
}
