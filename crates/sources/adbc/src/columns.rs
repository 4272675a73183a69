//! The columns that are read.

use std::path::Path;

use arrow_array::new_empty_array;
use arrow_schema::{DataType, Field};
use inrush_rows::sql_text::identifier;
use inrush_rows::typed_rows::Cells;
use inrush_source::{AS_TEXT, SourceColumn, SourceError, read_as_text};

use crate::error::unsuitable;

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// The type of its values.
    pub data_type: DataType,
    /// True if its values are 16 bytes that are marked as a UUID.
    pub is_uuid: bool,
    /// Its type in SQL, for a new target, if the type of its values does not say enough, as for `json` and `uuid`.
    pub sql_type: Option<String>,
    /// Its type as the database declares it; `None` if that is not known.
    pub declared: Option<String>,
    /// True if it has no NULL.
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
            declared: None,
            not_null: false,
        }
    }

    /// The column as the contract describes it.
    pub fn in_source(&self) -> SourceColumn {
        SourceColumn {
            name: self.name.clone(),
            data_type: Some(self.data_type.clone()),
            is_uuid: self.is_uuid,
            native: None,
            declared: self.declared.clone(),
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

/// The estimated number of bytes of a value without a fixed width.
const TEXT_BYTES: u64 = 16;

/// The approximate number of bytes of a row.
pub fn row_bytes(columns: &[Column]) -> u64 {
    let width = |column: &Column| match column.data_type.primitive_width() {
        Some(width) => width as u64,
        None if column.data_type == DataType::Boolean => 1,
        None => TEXT_BYTES,
    };
    columns.iter().map(width).sum::<u64>().max(1)
}

/// The refusal of a column's type.
pub fn without_counterpart(input: &Path, name: &str, type_name: &str) -> SourceError {
    unsuitable(
        input,
        format!(
            "the column {} has the type {type_name}, which has no counterpart",
            identifier(name)
        ),
        read_as_text(["...", &format!("{name}{AS_TEXT}")]),
    )
}

/// The alias of the rows in a statement that contains a user's text. The columns that are selected are qualified with
/// it. So a text that closes the parentheses around it and begins another statement is an error: the first statement
/// then lacks the alias. Some drivers would ignore everything after the first statement.
pub const ROWS: &str = "inrush_rows";

/// A text literal of standard SQL, as DuckDB and SQLite read it.
pub fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A table's name in SQL.
pub fn qualified(schema: Option<&str>, name: &str) -> String {
    match schema {
        Some(schema) => format!("{}.{}", identifier(schema), identifier(name)),
        None => identifier(name),
    }
}
