//! The lineage of a run as the ledger keeps it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The lineage of all flows of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLineage {
    /// The version of this form.
    pub version: u32,
    /// The version of Inrush.
    pub inrush_version: String,
    /// The flows, in the order of the package.
    pub flows: Vec<FlowLineage>,
}

/// The lineage of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowLineage {
    /// The name of the flow.
    pub flow: String,
    /// The target, as SQL names it.
    pub target: String,
    /// The origin of its rows.
    pub source: RowSource,
    /// The columns that are read, before the first step.
    pub read: Vec<ReadColumn>,
    /// The steps, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StepLineage>,
    /// The columns that are loaded. Each is filled by the column of the same name in `read` or in a step.
    pub columns: Vec<LoadedColumn>,
}

/// Where the rows of a flow, or of a lookup, come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RowSource {
    /// Files, by the patterns of the package.
    Files {
        /// The patterns.
        patterns: Vec<String>,
    },
    /// A table or view.
    Table {
        /// The URL of its database, without a password.
        database: String,
        /// The table as the package names it.
        table: String,
    },
    /// A query.
    Query {
        /// The URL of its database, without a password.
        database: String,
        /// The query.
        query: String,
    },
    /// Anything else, in words: rows that a program hands over.
    Other {
        /// The words.
        what: String,
    },
}

impl RowSource {
    /// The source in a few words, for people.
    pub fn words(&self) -> String {
        match self {
            RowSource::Files { patterns } => patterns.join(", "),
            RowSource::Table { database, table } => format!("{table} of {database}"),
            RowSource::Query { database, query } => {
                let query = query.split_whitespace().collect::<Vec<_>>().join(" ");
                format!("the query `{query}` of {database}")
            }
            RowSource::Other { what } => what.clone(),
        }
    }
}

/// A column that is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadColumn {
    /// Its name in the flow.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// The origin of its values.
    pub origin: ColumnOrigin,
}

/// The origin of a column that is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ColumnOrigin {
    /// A field of the source.
    Field {
        /// Its place in a record, counted from 1.
        position: usize,
        /// Its name in the source, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The provenance of the row: `file`, `line`, `byte_offset`, `load_time` or `run`.
    Provenance {
        /// The word.
        what: String,
    },
    /// A constant of the package.
    Constant {
        /// Its text.
        value: String,
    },
}

/// A step that rows pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepLineage {
    /// Its word in a package: `derive`, `where`, `check`, `lookup`, `distinct_on` or `unpivot`.
    pub step: String,
    /// The condition of a `where` or a `check`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The name of a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Rows that fail a check are loaded all the same (`else = "warn"`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_warns: bool,
    /// The columns that its condition or its key names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The columns that it adds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub adds: Vec<AddedColumn>,
    /// The reference of a lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<RowSource>,
    /// The key of a lookup: columns of the flow, each with the column of the reference.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub on: BTreeMap<String, String>,
    /// The columns of the reference that a lookup reads: those of the key, then those that it takes. Empty in lineages of
    /// older versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reference_columns: Vec<ReferenceColumn>,
}

/// A column of a reference that a lookup reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReferenceColumn {
    /// Its name in the reference.
    pub name: String,
    /// Its type.
    pub data_type: String,
}

/// A column that a step adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddedColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub data_type: String,
    /// Its expression, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// The columns that the expression names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The column's name in the reference, if a lookup takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_from: Option<String>,
}

/// A column that is loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoadedColumn {
    /// Its name in the target.
    pub name: String,
    /// Its type.
    pub data_type: String,
}

impl RunLineage {
    /// The text that the ledger keeps.
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a lineage has only keys that are text")
    }

    /// The lineage of a text that [`RunLineage::to_text`] has written; `None` if a newer version wrote it in a form that this
    /// one does not know.
    pub fn from_text(text: &str) -> Option<RunLineage> {
        let read: RunLineage = serde_json::from_str(text).ok()?;
        (read.version <= super::LINEAGE_VERSION).then_some(read)
    }
}
