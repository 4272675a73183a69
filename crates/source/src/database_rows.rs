//! The rows of a database that a flow reads (`source` in a package): a table or a query, and how it is read.

use std::sync::Arc;

use inrush_rows::pace::Pace;

use crate::input_kind::InputKind;
use crate::since::Since;

/// What is read of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A table, with its partitions if it has any, or a view.
    Table {
        /// Its schema; without one, the database looks the table up by its own rules.
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

    /// Its name in messages.
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

/// How a table or query is read. Sources have further settings if their database can do more.
#[derive(Clone, Debug)]
pub struct DatabaseSettings {
    /// What is read.
    pub rows: Rows,
    /// The columns: `name`, or `name::text` for the database's text of its values. If it is empty, all columns are
    /// read.
    pub columns: Vec<String>,
    /// A condition on the rows, as in WHERE.
    pub filter: Option<String>,
    /// The column by whose ranges the rows are cut into splits.
    pub split_by: Option<String>,
    /// True if rows in which this column is NULL are read with the first range; otherwise they are refused.
    pub split_nulls: bool,
    /// The most connections that are open at a time; `None` if the source decides.
    pub connections_max: Option<usize>,
    /// The pace at which bytes are read, shared by all sources of the connection.
    pub pace: Arc<Pace>,
    /// True if the rows are declared not to change between runs.
    pub is_stable: bool,
    /// The range of an incremental load: only its rows are read.
    pub since: Option<Since>,
}
