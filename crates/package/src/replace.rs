//! The fate of the target's present rows when it is replaced.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `mode = "replace"` takes out of the target, and what becomes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Replace {
    /// How much of a partitioned target goes.
    #[serde(skip_serializing_if = "ReplaceScope::is_usual")]
    pub scope: ReplaceScope,
    /// How the rows of a plain target go.
    #[serde(skip_serializing_if = "ReplaceBy::is_usual")]
    pub by: ReplaceBy,
    /// Keep what is taken out, so that `inrush undo` can put it back: `true`, or a name that it
    /// is kept under in the staging schema.
    #[serde(skip_serializing_if = "Keep::is_no")]
    pub keep: Keep,
}

impl Replace {
    /// Whether it says nothing.
    pub fn is_usual(&self) -> bool {
        *self == Replace::default()
    }
}

/// How much of a partitioned target is replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplaceScope {
    /// All of it: every partition goes.
    #[default]
    Table,
    /// The partitions whose ranges the new ones cover whole; the others stay.
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
    /// A new table takes the place of the old one, where nothing depends on that.
    #[default]
    Swap,
    /// Its rows are deleted and the new ones inserted: the table stays, with all that depends on
    /// it, and readers are not held up.
    Rows,
}

impl ReplaceBy {
    fn is_usual(&self) -> bool {
        *self == ReplaceBy::Swap
    }
}

/// Whether what was replaced is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Keep {
    /// `true`: until the same package replaces the target again. `false`: it is dropped.
    Whether(bool),
    /// Under this name in the staging schema, until somebody drops it.
    Name(String),
}

impl Keep {
    /// Whether nothing is kept.
    pub fn is_no(&self) -> bool {
        *self == Keep::default()
    }
}

impl Default for Keep {
    fn default() -> Keep {
        Keep::Whether(false)
    }
}
