//! The partitions of a table, including the partitions of partitions.

use std::collections::BTreeMap;

use super::error::PostgresError;
use super::session::Session;

/// A partitioned table with all levels of partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionTree {
    /// The table's key in SQL: `RANGE (day)`.
    pub partition_by: String,
    /// Its partitions, in the order of their names.
    pub partitions: Vec<PartitionNode>,
}

/// A partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionNode {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// `pg_class.relkind`: `r` a table, `p` partitioned itself, `f` foreign.
    pub kind: char,
    /// It is UNLOGGED.
    pub unlogged: bool,
    /// `FOR VALUES ...` or `DEFAULT`.
    pub bound: String,
    /// Its own key, if it is partitioned.
    pub partition_by: Option<String>,
    /// Its own constraints, as clauses of ALTER TABLE: without its bound, and without the constraints of its parent.
    pub constraints: Vec<String>,
    /// Its partitions.
    pub partitions: Vec<PartitionNode>,
}

impl PartitionTree {
    /// All partitions, each before its own partitions.
    pub fn all(&self) -> Vec<&PartitionNode> {
        let mut found = Vec::new();
        let mut open: Vec<&PartitionNode> = self.partitions.iter().rev().collect();
        while let Some(node) = open.pop() {
            found.push(node);
            open.extend(node.partitions.iter().rev());
        }
        found
    }

    /// True if a partition is partitioned itself.
    pub fn is_nested(&self) -> bool {
        self.partitions.iter().any(|node| node.kind == 'p')
    }
}

/// Reads the tree of a partitioned table.
pub async fn read(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<PartitionTree, PostgresError> {
    let rows = session
        .query(
            "SELECT c.oid, i.inhparent, n.nspname::text, c.relname::text, c.relkind::text, \
                    c.relpersistence::text = 'u', \
                    coalesce(pg_get_expr(c.relpartbound, c.oid), ''), pg_get_partkeydef(c.oid), \
                    ARRAY(SELECT format('ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(k.oid)) \
                          FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'c' \
                            AND k.coninhcount = 0 AND i.inhparent IS NOT NULL ORDER BY conname) \
                    || ARRAY(SELECT format('ALTER COLUMN %I SET NOT NULL', a.attname) \
                             FROM pg_attribute a JOIN pg_attribute p ON p.attname = a.attname \
                             WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
                               AND p.attrelid = i.inhparent AND a.attnotnull \
                               AND NOT p.attnotnull ORDER BY a.attnum) \
             FROM pg_partition_tree($1::oid::regclass) t JOIN pg_class c ON c.oid = t.relid \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_inherits i ON i.inhrelid = c.oid AND c.relispartition \
                                        AND c.oid <> $1::oid \
             WHERE NOT coalesce(i.inhdetachpending, false) \
             ORDER BY n.nspname, c.relname",
            &[&oid],
            doing,
        )
        .await?;
    let mut partition_by = String::new();
    let mut children: BTreeMap<u32, Vec<(u32, PartitionNode)>> = BTreeMap::new();
    for row in &rows {
        let own: u32 = row.get(0);
        let key: Option<String> = row.get(7);
        let Some(parent) = row.get::<_, Option<u32>>(1) else {
            if own == oid {
                partition_by = key.unwrap_or_default();
            }
            continue;
        };
        let node = PartitionNode {
            schema: row.get(2),
            name: row.get(3),
            kind: row.get::<_, String>(4).chars().next().unwrap_or(' '),
            unlogged: row.get(5),
            bound: row.get(6),
            partition_by: key,
            constraints: row.get(8),
            partitions: Vec::new(),
        };
        children.entry(parent).or_default().push((own, node));
    }
    Ok(PartitionTree {
        partition_by,
        partitions: below(&mut children, oid),
    })
}

fn below(
    children: &mut BTreeMap<u32, Vec<(u32, PartitionNode)>>,
    parent: u32,
) -> Vec<PartitionNode> {
    let own = children.remove(&parent).unwrap_or_default();
    let filled = own.into_iter().map(|(oid, node)| PartitionNode {
        partitions: below(children, oid),
        ..node
    });
    filled.collect()
}
