//! The indexes, partitions and collations of a table that is read, for a new target of the same kind of database.
//!
//! The texts are SQL that the source's server has written. A destination checks them before it runs them.

/// The collation of a column, if it differs from the collation of the column's type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnCollation {
    /// The name of the column.
    pub column: String,
    /// The schema of the collation.
    pub schema: String,
    /// Its name.
    pub name: String,
}

/// The indexes and partitions of a table, apart from its primary key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStructure {
    /// Indexes and unique constraints of the whole table, in the order of their names; empty if they are not asked for.
    pub indexes: Vec<TableIndex>,
    /// Its partitions; `None` if it has none, or if they are not asked for.
    pub partitioning: Option<TablePartitioning>,
    /// Objects that a target cannot have, each with its name and the reason.
    pub left_out: Vec<String>,
}

/// An index, or a unique constraint with its index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableIndex {
    /// Its name.
    pub name: String,
    /// True if two rows cannot have the same key.
    pub is_unique: bool,
    /// The text after `CREATE INDEX name ON table `: the method, the columns and the rest.
    pub definition: String,
    /// The definition of the constraint, if it is one: `UNIQUE (a, b)`.
    pub constraint: Option<String>,
    /// Its key columns, without expressions.
    pub key_columns: Vec<String>,
    /// True if two NULLs count as the same key (PostgreSQL 15 and later).
    pub nulls_are_equal: bool,
    /// Objects of the database that its definition names, apart from those that every server has.
    pub needs: Vec<NeededObject>,
}

/// An object that a definition names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededObject {
    /// Its kind, as PostgreSQL's `pg_identify_object` calls it: `operator class`.
    pub kind: String,
    /// Its identity, from the same function: `public.gin_trgm_ops USING gin`.
    pub identity: String,
    /// The extension that it belongs to.
    pub extension: Option<String>,
}

/// The partitions of a table, all levels of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablePartitioning {
    /// The key: `RANGE (day)`.
    pub partition_by: String,
    /// Objects that the keys of all levels name.
    pub needs: Vec<NeededObject>,
    /// The partitions, in the order of their names.
    pub partitions: Vec<TablePartition>,
}

/// A partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TablePartition {
    /// Its name.
    pub name: String,
    /// `FOR VALUES ...` or `DEFAULT`.
    pub bound: String,
    /// Its own key, if it is partitioned itself.
    pub partition_by: Option<String>,
    /// Indexes that the partition has and the table does not have.
    pub indexes: Vec<TableIndex>,
    /// Its partitions.
    pub partitions: Vec<TablePartition>,
}
