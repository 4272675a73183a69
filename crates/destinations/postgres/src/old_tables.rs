//! Tables that the switch takes out of a target, and the statements that take them out.
//!
//! A table that is kept moves to another schema under another name. Its indexes move with it and are renamed first: indexes
//! of a unit that was loaded from the same files may have their names in that schema.

use inrush_destination::address::POSTGRES_NAME_BYTES_MAX;

use super::error::PostgresError;
use super::session::Session;
use crate::quote::{cut, identifier, qualified};

/// A table that may be taken out of its target: one of its partitions, or the target itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OldTable {
    /// Its OID.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// The bound of a partition, as the server writes it.
    pub bound: Option<String>,
    /// The condition that all rows of a partition meet, as the server writes it.
    pub condition: Option<String>,
    /// It is partitioned itself.
    pub partitioned: bool,
    /// Names of its indexes, in the order of their OIDs.
    pub indexes: Vec<String>,
}

impl OldTable {
    /// The table as SQL names it.
    pub fn qualified(&self) -> String {
        qualified(&self.schema, &self.name)
    }

    /// True if it takes the rows that fit no other partition.
    pub fn is_default(&self) -> bool {
        self.bound.as_deref() == Some("DEFAULT")
    }
}

const COLUMNS: &str = "c.oid, n.nspname::text, c.relname::text, \
    pg_get_expr(c.relpartbound, c.oid), pg_get_partition_constraintdef(c.oid), c.relkind = 'p', \
    ARRAY(SELECT ic.relname::text FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid \
          WHERE i.indrelid = c.oid ORDER BY ic.oid)";

fn old_table(row: &tokio_postgres::Row) -> OldTable {
    OldTable {
        oid: row.get(0),
        schema: row.get(1),
        name: row.get(2),
        bound: row.get(3),
        condition: row.get(4),
        partitioned: row.get(5),
        indexes: row.get(6),
    }
}

/// The partitions of a table.
pub async fn partitions(session: &Session, parent: u32) -> Result<Vec<OldTable>, PostgresError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pg_inherits h JOIN pg_class c ON c.oid = h.inhrelid \
         JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE h.inhparent = $1 AND c.relispartition ORDER BY 2, 3"
    );
    let rows = session
        .query(&sql, &[&parent], "reading the partitions of a target")
        .await?;
    Ok(rows.iter().map(old_table).collect())
}

/// A table by its OID; `None` if it is gone.
pub async fn by_oid(session: &Session, oid: u32) -> Result<Option<OldTable>, PostgresError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE c.oid = $1 AND c.relkind IN ('r', 'p')"
    );
    let rows = session
        .query(&sql, &[&oid], "looking for a table that was kept")
        .await?;
    Ok(rows.first().map(old_table))
}

/// A table by its name; `None` if it is gone.
pub async fn by_name(
    session: &Session,
    schema: &str,
    name: &str,
) -> Result<Option<OldTable>, PostgresError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 AND c.relname = $2 AND c.relkind IN ('r', 'p')"
    );
    let rows = session
        .query(&sql, &[&schema, &name], "looking for a table")
        .await?;
    Ok(rows.first().map(old_table))
}

/// Objects that would be lost with these tables, or would continue to read them: views, rules, functions, foreign keys
/// of other tables. Objects that belong to one of the tables alone are not listed.
pub async fn dependents(session: &Session, oids: &[u32]) -> Result<Vec<String>, PostgresError> {
    let rows = session
        .query(
            "WITH own AS ( \
               SELECT 'pg_class'::regclass AS class, o AS object FROM unnest($1::oid[]) o \
               UNION ALL SELECT 'pg_type'::regclass, t.oid FROM pg_type t \
               WHERE t.typrelid = ANY($1) \
               UNION ALL SELECT 'pg_type'::regclass, t.typarray FROM pg_type t \
               WHERE t.typrelid = ANY($1) AND t.typarray <> 0) \
             SELECT DISTINCT CASE d.classid WHEN 'pg_rewrite'::regclass \
                      THEN (SELECT CASE WHEN v.relkind IN ('v', 'm') THEN 'view ' ELSE 'a rule of ' END \
                                   || v.oid::regclass \
                            FROM pg_rewrite r JOIN pg_class v ON v.oid = r.ev_class \
                            WHERE r.oid = d.objid) \
                      ELSE pg_describe_object(d.classid, d.objid, d.objsubid) END \
             FROM pg_depend d JOIN own ON own.class = d.refclassid AND own.object = d.refobjid \
             WHERE d.deptype = 'n' \
               AND NOT EXISTS (SELECT FROM pg_constraint k WHERE d.classid = 'pg_constraint'::regclass \
                               AND k.oid = d.objid AND k.conrelid = ANY($1)) \
               AND NOT EXISTS (SELECT FROM pg_attrdef a WHERE d.classid = 'pg_attrdef'::regclass \
                               AND a.oid = d.objid AND a.adrelid = ANY($1)) \
               AND NOT EXISTS (SELECT FROM pg_trigger t WHERE d.classid = 'pg_trigger'::regclass \
                               AND t.oid = d.objid AND t.tgrelid = ANY($1)) \
               AND NOT EXISTS (SELECT FROM own o WHERE o.class = d.classid AND o.object = d.objid) \
             ORDER BY 1",
            &[&oids],
            "looking for what depends on a table",
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Statements that take a partition out of its target.
pub fn detach(target: &str, old: &OldTable) -> String {
    format!("ALTER TABLE {target} DETACH PARTITION {}", old.qualified())
}

/// Statements that drop a table, or move it to the place where it is kept.
pub fn drop_or_keep(old: &OldTable, kept: Option<(&str, &str)>) -> Vec<String> {
    match kept {
        None => vec![format!("DROP TABLE {}", old.qualified())],
        Some((schema, name)) => relocate(old, schema, name, &kept_indexes(old, name)),
    }
}

/// The names of a kept table's indexes.
pub fn kept_indexes(old: &OldTable, kept_name: &str) -> Vec<String> {
    (1..=old.indexes.len())
        .map(|number| {
            let suffix = format!("_index{number}");
            format!(
                "{}{suffix}",
                cut(kept_name, POSTGRES_NAME_BYTES_MAX - suffix.len())
            )
        })
        .collect()
}

/// Statements that move a table with its indexes to another schema under other names. A unique intermediate name avoids
/// conflicts with names in both schemas.
pub fn relocate(old: &OldTable, schema: &str, name: &str, indexes: &[String]) -> Vec<String> {
    let passing = |number: usize| format!("inrush_moved_{}_{number}", old.oid);
    let mut statements = Vec::new();
    for (number, index) in old.indexes.iter().enumerate() {
        statements.push(rename("INDEX", &old.schema, index, &passing(number + 1)));
    }
    statements.push(rename("TABLE", &old.schema, &old.name, &passing(0)));
    if schema != old.schema {
        statements.push(format!(
            "ALTER TABLE {} SET SCHEMA {}",
            qualified(&old.schema, &passing(0)),
            identifier(schema)
        ));
    }
    statements.push(rename("TABLE", schema, &passing(0), name));
    for (number, index) in indexes.iter().enumerate().take(old.indexes.len()) {
        statements.push(rename("INDEX", schema, &passing(number + 1), index));
    }
    statements
}

/// The statement that renames a table or an index.
pub fn rename(kind: &str, schema: &str, name: &str, to: &str) -> String {
    format!(
        "ALTER {kind} {} RENAME TO {}",
        qualified(schema, name),
        identifier(to)
    )
}
