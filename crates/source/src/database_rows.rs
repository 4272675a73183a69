//! The rows of a database that a flow reads: a table, or a query (`table` and `query` of a `source`).

use crate::input_kind::InputKind;

/// What is read of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A table, with its partitions if it has any, or a view.
    Table {
        /// Its schema; without one it is looked up as the database does.
        schema: Option<String>,
        /// Its name.
        name: String,
    },
    /// The rows of one SELECT.
    Query(String),
}

impl Rows {
    /// The kind of the inputs that have these rows.
    pub fn kind(&self) -> InputKind {
        match self {
            Rows::Table { .. } => InputKind::Table,
            Rows::Query(_) => InputKind::Query,
        }
    }

    /// What it is called in messages.
    pub fn name(&self) -> String {
        match self {
            Rows::Table {
                schema: Some(schema),
                name,
            } => format!("{schema}.{name}"),
            Rows::Table { schema: None, name } => name.clone(),
            Rows::Query(_) => "the query".to_owned(),
        }
    }
}
