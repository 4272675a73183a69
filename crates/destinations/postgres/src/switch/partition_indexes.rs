//! Renames the indexes of new partitions that belong to indexes of their parents. They get the names that the server
//! would have chosen.
//!
//! The indexes were made with the names of staging tables. They get their final names after all tables have theirs, so
//! that no index takes a name that the plan gives to another relation.

use std::collections::BTreeSet;

use super::error::SwitchError;
use crate::index_names::{self, IndexKind};
use crate::{Session, catalog, old_tables};

/// An index of a partition that belongs to an index of its parent.
struct PartitionIndex {
    partition: String,
    name: String,
    kind: IndexKind,
    /// The names of its own columns.
    columns: Vec<String>,
    /// The names of the partition's constraints; the index may not have one of these names.
    constraints: Vec<String>,
}

/// Names the indexes of these partitions of a schema.
pub async fn name(
    session: &Session,
    schema: &str,
    partitions: &[String],
) -> Result<(), SwitchError> {
    let indexes = read(session, schema, partitions).await?;
    if indexes.is_empty() {
        return Ok(());
    }
    let mut taken: BTreeSet<String> = catalog::relation_names(session, schema, None).await?;
    for index in &indexes {
        let is_taken = |name: &str| {
            taken.contains(name) || index.constraints.iter().any(|other| other == name)
        };
        let name = index_names::free_name(&index.partition, &index.columns, index.kind, is_taken);
        let statement = old_tables::rename("INDEX", schema, &index.name, &name);
        session
            .execute(&statement, "naming the indexes of a partition")
            .await?;
        taken.insert(name);
    }
    Ok(())
}

/// The indexes of these partitions, each partition's in the order in which they were made.
async fn read(
    session: &Session,
    schema: &str,
    partitions: &[String],
) -> Result<Vec<PartitionIndex>, SwitchError> {
    let rows = session
        .query(
            "SELECT t.relname::text, i.relname::text, k.contype::text, \
               ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = i.oid ORDER BY a.attnum), \
               ARRAY(SELECT o.conname::text FROM pg_constraint o WHERE o.conrelid = t.oid) \
             FROM unnest($2::text[]) WITH ORDINALITY AS p (name, number) \
             JOIN pg_class t ON t.relname = p.name \
             JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = $1 \
             JOIN pg_index x ON x.indrelid = t.oid \
             JOIN pg_class i ON i.oid = x.indexrelid AND i.relispartition \
             LEFT JOIN pg_constraint k ON k.conindid = i.oid AND k.conrelid = t.oid \
               AND k.contype IN ('p', 'u', 'x') \
             ORDER BY p.number, i.oid",
            &[&schema, &partitions],
            "reading the indexes of new partitions",
        )
        .await?;
    let index = |row: &tokio_postgres::Row| PartitionIndex {
        partition: row.get(0),
        name: row.get(1),
        kind: IndexKind::of_constraint(row.get(2)),
        columns: row.get(3),
        constraints: row.get(4),
    };
    Ok(rows.iter().map(index).collect())
}
