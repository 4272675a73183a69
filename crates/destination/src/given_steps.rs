//! Steps of a flow that a destination evaluates itself, as a part of the statement by which it adds rows to staging.
//!
//! The plan gives the steps to a destination that takes them ([`refuses_steps`](crate::Destination::refuses_steps)).
//! The batches of a unit are then the rows before the steps. If a row might be rejected, the statement fails as a whole
//! ([`Error::StepsFailed`](crate::Error::StepsFailed)), and the unit is loaded again, with the steps evaluated by the
//! engine.

use inrush_rows::column_type::ColumnType;

/// Steps that are a part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenSteps {
    /// The columns of the batches: the rows before the steps.
    pub columns: Vec<GivenColumn>,
    /// The version of the library for which the expressions are written. Another version may give other results.
    pub version: String,
    /// Statements for the session, before it evaluates the steps for the first time.
    pub session: Vec<String>,
    /// The query of the rows that the steps keep: the text before the name of the rows.
    pub before: String,
    /// The text of the query after the name of the rows.
    pub after: String,
}

/// A column of the rows before the steps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GivenColumn {
    /// Its name.
    pub name: String,
    /// Its values, and their Arrow type ([`ColumnType::arrow`]).
    pub column_type: ColumnType,
}

impl GivenSteps {
    /// The query of the rows that the steps keep, with the columns of the target in their order. `rows` is the name of
    /// the rows, where SQL allows the name of a table.
    pub fn query(&self, rows: &str) -> String {
        format!("{}{rows}{}", self.before, self.after)
    }
}
