//! Existing tables, and tables as a run will fill them.

use inrush_rows::column_type::ColumnType;
use serde::{Deserialize, Serialize};

use crate::members::MembersPlan;

/// A table's full name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TargetName {
    /// Its schema, if the destination has schemas.
    pub schema: Option<String>,
    /// Its name.
    pub name: String,
    /// Both, as the destination's statements and messages write them. Ledgers keep this text.
    pub sql: String,
}

/// A type of the destination, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedType {
    /// As the destination writes it, with its modifiers. Safe in a statement.
    pub sql: String,
    /// The values that fit.
    pub column_type: ColumnType,
}

/// A table that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetFacts {
    /// Its columns, in its order.
    pub columns: Vec<TargetColumn>,
    /// True if it has rows.
    pub has_rows: bool,
    /// The columns whose values are its partitions.
    pub partitioned_by: Vec<String>,
    /// True if it can get further partitions, for bounds beyond those that it has ([`TargetPlan::bounds`]).
    pub takes_new_bounds: bool,
    /// Why it cannot be loaded, and how to fix that; `None` if it can.
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
    /// The values that fit; `None` if it cannot be loaded.
    pub column_type: Option<ColumnType>,
    /// True if it refuses NULL.
    pub not_null: bool,
    /// True if it has a DEFAULT.
    pub has_default: bool,
    /// True if the destination computes its values.
    pub generated: bool,
}

/// How a target is filled, and which of its rows are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WriteMode {
    /// It is new, or has no rows.
    Create,
    /// Rows are added to it.
    Append,
    /// All of its rows are replaced.
    Replace,
    /// The partitions that new rows fall into are replaced; the others stay.
    ReplacePartitions,
    /// Rows are merged into it by their key, as [`TargetPlan::merge`] says.
    Upsert,
}

/// How rows are merged into a target by their key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergePlan {
    /// The filled columns that make the key.
    pub key: Vec<String>,
    /// The versions of rows that the target keeps. `None`: a row replaces the filled columns of the row with its key.
    pub versions: Option<VersionColumns>,
}

/// The columns of a target that keeps versions of rows. The current version of a key is the one whose end is NULL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionColumns {
    /// The filled columns whose change makes a new version. The filled columns that are neither here nor in the key are
    /// overwritten in the current version.
    pub tracked: Vec<String>,
    /// The start of a version: a timestamp, with a zone or in UTC. The destination fills it with the start of the run.
    pub valid_from: ColumnPlan,
    /// The end of a version, of the same type: the start of the run that made the next one.
    pub valid_to: String,
    /// A boolean that is true only in the current version.
    pub current: Option<String>,
}

/// What happens to rows that are replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplacedRows {
    /// They are removed.
    #[default]
    Removed,
    /// They are kept until the same package next replaces the rows of the target and keeps the replaced rows.
    KeptUntilNext,
    /// They are kept in a table of this name, until somebody drops it.
    KeptAs(String),
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
    /// What happens to the rows that a `Replace` removes from the target. Only a destination with
    /// [`Ability::KeepReplaced`](crate::Ability::KeepReplaced) is asked to keep them. Plans that an earlier version
    /// wrote into a ledger lack it.
    #[serde(default)]
    pub replaced: ReplacedRows,
    /// Its partition columns.
    pub partition_by: Vec<String>,
    /// The bounds of the partitions of a new table: the first value of each partition, except for the partition of
    /// values below all bounds. They are texts of the partition column's type in ISO form (`1000`, `2024-01-31`,
    /// `2024-01-31 06:00:00` in UTC), ascending unless they are of text. For an existing table that [can get
    /// partitions](TargetFacts::takes_new_bounds), they are the bounds that the package declares: the table must have
    /// them, and those beyond its last bound are added. Empty for all other existing tables, for a destination without
    /// [`Ability::Bounds`](crate::Ability::Bounds), and in plans that an earlier version wrote into a ledger.
    #[serde(default)]
    pub bounds: Vec<String>,
    /// How rows are merged, for [`WriteMode::Upsert`]. Plans that an earlier version wrote into a ledger lack it.
    #[serde(default)]
    pub merge: Option<MergePlan>,
    /// The tables to which lookups of its flow add members. Plans that an earlier version wrote into a ledger lack
    /// them.
    #[serde(default)]
    pub members: Vec<MembersPlan>,
    /// A text of any length: the name of the target, and everything that affects its rows, such as format and types.
    /// Staged rows with another shape cannot be used.
    pub shape: String,
    /// Statements of the user that the publishing transaction runs first.
    pub pre_sql: Vec<String>,
    /// Statements of the user that the publishing transaction runs after all rows are in the target.
    pub post_sql: Vec<String>,
}

impl TargetPlan {
    /// How rows are merged, for [`WriteMode::Upsert`].
    pub fn merge_plan(&self) -> &MergePlan {
        let merge = self.merge.as_ref();
        merge.expect("the plan of an upsert has a merge")
    }

    /// True if rows may have a NULL in the key by which they are merged.
    pub fn has_nulls_in_key(&self) -> bool {
        let key = self.merge.iter().flat_map(|merge| &merge.key);
        let mut key =
            key.filter_map(|name| self.columns.iter().find(|column| column.name == *name));
        key.any(|column| column.nullable)
    }
}

/// A column that is filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnPlan {
    /// Its name.
    pub name: String,
    /// Its type as the destination writes it.
    pub sql: String,
    /// The values that are written, and their Arrow type ([`ColumnType::arrow`]).
    pub column_type: ColumnType,
    /// True if NULL may be written.
    pub nullable: bool,
}
