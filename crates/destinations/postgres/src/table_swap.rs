//! Swapping a plain table for a new one: the obstacles, and the properties that the new table must get to be just like
//! the old one.

use super::error::PostgresError;
use super::old_tables;
use super::session::Session;

/// The statements that make a new table like the one that it replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwapPlan {
    /// Statements that give the new table the owner, grants, comments and settings of the old one, once the new table
    /// has its name.
    pub dress: Vec<String>,
    /// The clauses after `ALTER TABLE name` that give the new table the tablespace and storage options of the old one,
    /// while the new table is empty.
    storage: Vec<String>,
}

impl SwapPlan {
    /// Reads the properties of the table `oid` from the catalog. `target` is its name, which the new one gets.
    pub async fn of(session: &Session, oid: u32, target: &str) -> Result<SwapPlan, PostgresError> {
        Ok(SwapPlan {
            dress: dress(session, oid, target).await?,
            storage: storage(session, oid).await?,
        })
    }

    /// Statements that give a staging table, while it is empty, the tablespace and storage options of the table that it
    /// will replace.
    pub fn fit_out(&self, staging: &str) -> impl Iterator<Item = String> {
        let actions = self.storage.iter();
        actions.map(move |action| format!("ALTER TABLE {staging} {action}"))
    }
}

/// Objects that would be lost with the table, or would stay with the old one.
pub async fn obstacles(session: &Session, oid: u32) -> Result<Vec<String>, PostgresError> {
    let rows = session
        .query(
            "SELECT 'trigger ' || quote_ident(tgname) FROM pg_trigger \
             WHERE tgrelid = $1 AND NOT tgisinternal \
             UNION SELECT 'foreign key ' || quote_ident(conname) FROM pg_constraint \
             WHERE conrelid = $1 AND contype = 'f' \
             UNION SELECT format('foreign key %I of %s', conname, conrelid::regclass) \
             FROM pg_constraint WHERE confrelid = $1 AND conrelid <> $1 AND contype = 'f' \
             UNION SELECT 'rule ' || quote_ident(rulename) FROM pg_rewrite WHERE ev_class = $1 \
             UNION SELECT 'policy ' || quote_ident(polname) FROM pg_policy WHERE polrelid = $1 \
             UNION SELECT 'its parent ' || inhparent::regclass FROM pg_inherits WHERE inhrelid = $1 \
             UNION SELECT 'the table ' || inhrelid::regclass || ', which inherits from it' \
             FROM pg_inherits WHERE inhparent = $1 \
             UNION SELECT 'sequence ' || s.oid::regclass || ', which numbers a column' \
             FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S' \
             WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass \
               AND d.refobjid = $1 AND d.deptype IN ('a', 'i') \
             UNION SELECT 'its type ' || reloftype::regtype FROM pg_class \
             WHERE oid = $1 AND reloftype <> 0 \
             UNION SELECT 'access method ' || quote_ident(a.amname) FROM pg_class c \
             JOIN pg_am a ON a.oid = c.relam WHERE c.oid = $1 AND a.amname <> 'heap' \
             UNION SELECT 'the tablespace of index ' || i.indexrelid::regclass FROM pg_index i \
             JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = $1 AND c.reltablespace <> 0 \
             UNION SELECT 'its place in extension ' || quote_ident(e.extname) FROM pg_depend d \
             JOIN pg_extension e ON e.oid = d.refobjid \
             WHERE d.classid = 'pg_class'::regclass AND d.objid = $1 AND d.deptype = 'e' \
             UNION SELECT 'a security label' FROM pg_seclabel \
             WHERE classoid = 'pg_class'::regclass AND objoid = $1 \
             ORDER BY 1",
            &[&oid],
            "looking for what stands in the way of a swap",
        )
        .await?;
    let mut found: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    for dependent in old_tables::dependents(session, &[oid]).await? {
        // Foreign keys of other tables are named already.
        if !dependent.starts_with("constraint ") && !found.contains(&dependent) {
            found.push(dependent);
        }
    }
    Ok(found)
}

/// The clauses after `ALTER TABLE name` for the tablespace and the storage options of a table.
async fn storage(session: &Session, oid: u32) -> Result<Vec<String>, PostgresError> {
    let rows = session
        .query(
            "SELECT format('SET TABLESPACE %I', t.spcname) \
             FROM pg_class c JOIN pg_tablespace t ON t.oid = c.reltablespace WHERE c.oid = $1 \
             UNION ALL SELECT format('SET (%s)', o.list) FROM ( \
               SELECT string_agg(prefix || quote_ident(split_part(o, '=', 1)) || ' = ' \
                                 || quote_literal(substr(o, strpos(o, '=') + 1)), ', ') AS list \
               FROM (SELECT '' AS prefix, unnest(reloptions) AS o FROM pg_class WHERE oid = $1 \
                     UNION ALL SELECT 'toast.', unnest(t.reloptions) FROM pg_class c \
                     JOIN pg_class t ON t.oid = c.reltoastrelid WHERE c.oid = $1) o) o \
             WHERE o.list IS NOT NULL",
            &[&oid],
            "reading the storage options of a table",
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Statements that give a new table the owner, grants, comments and settings of the table `oid`, which it has replaced.
/// By then the indexes of the new table have the old names. Column options that begin with `pg_` are left out: the
/// server sets them itself for each table (`pg_attver`, since 15.20).
async fn dress(session: &Session, oid: u32, target: &str) -> Result<Vec<String>, PostgresError> {
    let rows = session
        .query(
            "WITH c AS (SELECT * FROM pg_class WHERE oid = $1), \
             acl AS (SELECT a.*, NULL::text AS column_name FROM c, aclexplode(c.relacl) a \
                     UNION ALL SELECT a.*, t.attname::text FROM pg_attribute t, \
                                      aclexplode(t.attacl) a \
                     WHERE t.attrelid = $1 AND NOT t.attisdropped) \
             SELECT s FROM ( \
               SELECT 1 AS n, format('ALTER TABLE %s OWNER TO %I', $2::text, \
                                     pg_get_userbyid(relowner)) AS s FROM c \
               UNION ALL SELECT 2, format('REVOKE ALL ON TABLE %s FROM %I', $2::text, \
                                          pg_get_userbyid(relowner)) \
               FROM c WHERE relacl IS NOT NULL \
               UNION ALL SELECT 3, format('GRANT %s%s ON TABLE %s TO %s%s', privilege_type, \
                 CASE WHEN column_name IS NULL THEN '' ELSE format(' (%I)', column_name) END, $2::text, \
                 CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, \
                 CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM acl \
               UNION ALL SELECT 4, format('COMMENT ON TABLE %s IS %L', $2::text, \
                                          obj_description($1, 'pg_class')) \
               FROM c WHERE obj_description($1, 'pg_class') IS NOT NULL \
               UNION ALL SELECT 5, format('COMMENT ON INDEX %I.%I IS %L', n.nspname, ic.relname, \
                                          obj_description(ic.oid, 'pg_class')) \
               FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid \
               JOIN pg_namespace n ON n.oid = ic.relnamespace \
               WHERE i.indrelid = $1 AND obj_description(ic.oid, 'pg_class') IS NOT NULL \
               UNION ALL SELECT 6, format('COMMENT ON CONSTRAINT %I ON %s IS %L', conname, $2::text, \
                                          obj_description(oid, 'pg_constraint')) \
               FROM pg_constraint WHERE conrelid = $1 AND contype IN ('p', 'u', 'x') \
                 AND obj_description(oid, 'pg_constraint') IS NOT NULL \
               UNION ALL SELECT 7, format('ALTER TABLE %s REPLICA IDENTITY %s', $2::text, \
                 CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' \
                   ELSE (SELECT format('USING INDEX %I', ic.relname) FROM pg_index i \
                         JOIN pg_class ic ON ic.oid = i.indexrelid \
                         WHERE i.indrelid = $1 AND i.indisreplident) END) \
               FROM c WHERE c.relreplident IN ('f', 'n', 'i') \
               UNION ALL SELECT 8, format('ALTER TABLE %s CLUSTER ON %I', $2::text, ic.relname) \
               FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid \
               WHERE i.indrelid = $1 AND i.indisclustered \
               UNION ALL SELECT 9, format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS %s', \
                                          $2::text, attname, attstattarget) \
               FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped \
                 AND attstattarget >= 0 \
               UNION ALL SELECT 10, format('ALTER TABLE %s ALTER COLUMN %I SET (%s)', $2::text, \
                                           attname, string_agg(o, ', ')) \
               FROM pg_attribute, unnest(attoptions) o \
               WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND NOT starts_with(o, 'pg_') \
               GROUP BY attname) x ORDER BY n, s",
            &[&oid, &target],
            "reading what a table has besides its rows",
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Statements that revoke the grants of default privileges on a new table, except the owner's.
pub async fn undress(
    session: &Session,
    schema: &str,
    name: &str,
) -> Result<Vec<String>, PostgresError> {
    let rows = session
        .query(
            "SELECT DISTINCT format('REVOKE ALL ON TABLE %I.%I FROM %s', n.nspname, c.relname, \
                CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END) \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) a \
             WHERE n.nspname = $1 AND c.relname = $2 AND a.grantee <> c.relowner",
            &[&schema, &name],
            "reading the privileges of a new table",
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
