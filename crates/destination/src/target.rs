//! Tables: as they are, and as they are to be.

use inrush_rows::column_type::ColumnType;
use serde::{Deserialize, Serialize};

/// A table's full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TargetName {
    /// Its schema, where the destination has schemas.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// Both, as the destination's statements name them, and messages. Ledgers keep this text.
    pub sql: String,
}

/// A type of the destination, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedType {
    /// As the destination writes it, with its modifiers. Safe in a statement.
    pub sql: String,
    /// Which values fit.
    pub column_type: ColumnType,
}

/// A table that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Its columns, in its order.
    pub columns: Vec<TargetColumn>,
    /// It has rows.
    pub has_rows: bool,
    /// The columns whose values are its partitions.
    pub partitioned_by: Vec<String>,
    /// Why it cannot be loaded, where it cannot, and how to fix that.
    pub obstacle: Option<(String, String)>,
    /// Notes for the user before it is loaded.
    pub notes: Vec<String>,
}

/// A column of a table that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetColumn {
    /// Its name.
    pub name: String,
    /// Its type as the destination writes it.
    pub sql: String,
    /// Which values fit; none where there is no way into it from here.
    pub column_type: Option<ColumnType>,
    /// NULL is refused.
    pub not_null: bool,
    /// It has a DEFAULT.
    pub has_default: bool,
    /// The destination computes its values.
    pub generated: bool,
}

/// How a target is filled, and which of its rows give way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteMode {
    /// It is new, or has no rows.
    Create,
    /// Rows are added to it.
    Append,
    /// All of its rows give way.
    Replace,
    /// The partitions that new rows fall into give way; the others stay.
    ReplacePartitions,
}

/// A target as a run will fill it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetPlan {
    /// Its name.
    pub name: TargetName,
    /// The columns that are filled, in the order of the batches.
    pub columns: Vec<ColumnPlan>,
    /// How it is filled.
    pub mode: WriteMode,
    /// The columns whose values make its partitions.
    pub partition_by: Vec<String>,
    /// A text of any length: the target's name and all that shapes its rows, such as format and types. Rows that were staged
    /// under another shape are of no use to this run.
    pub shape: String,
    /// Statements of the user that the publishing transaction runs first.
    pub pre_sql: Vec<String>,
    /// Statements of the user that it runs when all rows are there.
    pub post_sql: Vec<String>,
}

/// A column that is filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPlan {
    /// Its name.
    pub name: String,
    /// Its type as the destination writes it.
    pub sql: String,
    /// Which values come, and in which Arrow type ([`ColumnType::arrow`]).
    pub column_type: ColumnType,
    /// NULL may come.
    pub nullable: bool,
}
