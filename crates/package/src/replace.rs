//! The setting `replace` of a flow: which rows of the target are replaced, and whether they are kept.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The rows that `mode = "replace"` removes from the target, and whether they are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Replace {
    /// The part of a partitioned target that is replaced.
    #[serde(skip_serializing_if = "ReplaceScope::is_usual")]
    pub scope: ReplaceScope,
    /// How the rows of a plain target are replaced.
    #[serde(skip_serializing_if = "ReplaceBy::is_usual")]
    pub by: ReplaceBy,
    /// Keep the removed tables, so that `inrush undo` can restore them: `true`, or a name for them in
    /// the staging schema.
    #[serde(skip_serializing_if = "Keep::is_no")]
    pub keep: Keep,
}

impl Replace {
    /// True if all settings have their defaults.
    pub fn is_usual(&self) -> bool {
        *self == Replace::default()
    }
}

/// The part of a partitioned target that is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplaceScope {
    /// The whole table: every partition is removed.
    #[default]
    Table,
    /// The partitions whose ranges the new partitions cover completely; the others stay.
    Partitions,
}

impl ReplaceScope {
    fn is_usual(&self) -> bool {
        *self == ReplaceScope::Table
    }
}

/// How the rows of a plain target are replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplaceBy {
    /// A new table takes the place of the old table. Refused if other objects depend on the old table.
    #[default]
    Swap,
    /// The rows are deleted and the new rows inserted. The table stays, with all objects that depend on
    /// it, and readers are not blocked.
    Rows,
}

impl ReplaceBy {
    fn is_usual(&self) -> bool {
        *self == ReplaceBy::Swap
    }
}

/// Whether the replaced tables are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Keep {
    /// `true`: they are kept until the same package replaces the target again. `false`: they are dropped.
    Whether(bool),
    /// They are kept under this name in the staging schema, until somebody drops them.
    Name(String),
}

impl Keep {
    /// True if nothing is kept.
    pub fn is_no(&self) -> bool {
        *self == Keep::default()
    }
}

impl Default for Keep {
    fn default() -> Keep {
        Keep::Whether(false)
    }
}
