//! Facts of a target table, read from the catalog.

use std::collections::{BTreeMap, BTreeSet};

use inrush_pgclient::index_definition;
use inrush_rows::column::Column;

use super::error::PostgresError;
use super::session::Session;
use crate::quote;
use crate::types::{self, PostgresType};

/// A table before the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFacts {
    /// Its OID; a table that is dropped and created again has another OID.
    pub oid: u32,
    /// `pg_class.relkind`: `r` plain, `p` partitioned.
    pub kind: char,
    /// Its columns in order, without dropped ones.
    pub columns: Vec<CatalogColumn>,
    /// Its partitioning.
    pub partitioning: Option<Partitioning>,
    /// True if it holds a row; true also if the role may not read the table.
    pub has_rows: bool,
    /// The role may read it.
    pub readable: bool,
    /// True if the loading role owns it, directly or as a member of the owner.
    pub owned: bool,
    /// The owner's name.
    pub owner: String,
    /// Row security is on.
    pub row_security: bool,
    /// It is UNLOGGED.
    pub unlogged: bool,
    /// Publications that publish it.
    pub publications: Vec<String>,
    /// Triggers of users on INSERT; a switched load does not fire them.
    pub insert_triggers: Vec<String>,
    /// Its indexes.
    pub indexes: Vec<IndexFacts>,
    /// Its constraints, defaults and collations in one text; staging tables are made with the same ones.
    pub structure: String,
    /// Names of foreign keys from it; attaching a partition checks them row by row.
    pub foreign_keys: Vec<String>,
    /// Rules on INSERT that are not disabled: they may write other rows than the inserted ones.
    pub insert_rules: Vec<String>,
    /// The table access method, if it is not the database's own default.
    pub access_method: Option<String>,
    /// The tablespace, if it is not the database's own.
    pub tablespace: Option<String>,
    /// `pg_class.relreplident`: `d` the primary key, `f` the full row, `n` nothing, `i` an index.
    pub replica_identity: char,
    /// Foreign keys of other tables that refer to it.
    pub referring: Vec<ReferringKey>,
}

/// A foreign key of another table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferringKey {
    /// Its name and its table, for a person.
    pub label: String,
    /// Deleting a row that it refers to deletes or changes rows of its table.
    pub cascades: bool,
}

/// A column of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub resolved: PostgresType,
    /// NULL is refused.
    pub not_null: bool,
    /// The server computes it, so it cannot be loaded.
    pub generated: bool,
    /// True for a column of versions, which the switch fills.
    pub of_versions: bool,
    /// It has a default, so a file may leave it out.
    pub has_default: bool,
    /// Its default takes the next number of a sequence.
    pub default_draws: bool,
    /// The server numbers it.
    pub identity: bool,
    /// The sequence that numbers it, as SQL names it.
    pub identity_sequence: Option<String>,
    /// Its collation as SQL names it, if it is not its type's own.
    pub collation: Option<String>,
}

/// The partitioning of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partitioning {
    /// `pg_partitioned_table.partstrat`: `r` range, `l` list, `h` hash.
    pub strategy: char,
    /// The key's columns; `None` for an expression.
    pub key: Vec<Option<String>>,
    /// Its partitions.
    pub partitions: Vec<Partition>,
}

/// An existing partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its OID.
    pub oid: u32,
    /// Its schema.
    pub schema: String,
    /// Its name, without the schema.
    pub name: String,
    /// It is partitioned itself.
    pub partitioned: bool,
    /// `pg_get_expr(relpartbound)`.
    pub bound: String,
}

/// An index of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFacts {
    /// Its name.
    pub name: String,
    /// The text after `CREATE INDEX name ON table `: the method, columns and the rest.
    pub definition: String,
    /// True if it is UNIQUE.
    pub unique: bool,
    /// The definition of the constraint that it implements (`PRIMARY KEY (a)`).
    pub constraint: Option<String>,
    /// The tablespace that it names, if it is not the database's own.
    pub tablespace: Option<String>,
}

impl TableFacts {
    /// Columns that the server numbers and the files leave out.
    pub fn numbered(&self, loaded: &[Column]) -> impl Iterator<Item = &CatalogColumn> {
        self.columns.iter().filter(move |column| {
            column.identity && loaded.iter().all(|other| other.name != column.name)
        })
    }

    /// Columns whose default draws from a sequence, which the files leave out.
    pub fn drawn(&self, loaded: &[Column]) -> impl Iterator<Item = &CatalogColumn> {
        self.columns.iter().filter(move |column| {
            column.default_draws && loaded.iter().all(|other| other.name != column.name)
        })
    }

    /// The words after `REPLICA IDENTITY` if it is neither the primary key nor an index.
    pub fn replica_identity_words(&self) -> Option<&'static str> {
        match self.replica_identity {
            'f' => Some("FULL"),
            'n' => Some("NOTHING"),
            _ => None,
        }
    }
}

/// Reads a table; `None` if there is no relation of that name.
pub async fn target(
    session: &Session,
    schema: &str,
    name: &str,
) -> Result<Option<TableFacts>, PostgresError> {
    let doing = format!("reading the catalog of {}", quote::qualified(schema, name));
    let rows = session
        .query(
            "SELECT c.oid, c.relkind::text, c.relrowsecurity, c.relpersistence::text, \
                    pg_has_role(c.relowner, 'USAGE'), pg_get_userbyid(c.relowner)::text, \
                    p.partstrat::text, \
                    ARRAY(SELECT a.attname::text FROM unnest(p.partattrs) WITH ORDINALITY k(n, o) \
                          LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.n \
                               AND k.n > 0 ORDER BY o), \
                    (SELECT amname::text FROM pg_am WHERE oid = c.relam \
                        AND amname <> current_setting('default_table_access_method')), \
                    (SELECT spcname::text FROM pg_tablespace WHERE oid = c.reltablespace), \
                    c.relreplident::text \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid \
             WHERE n.nspname = $1 AND c.relname = $2",
            &[&schema, &name],
            &doing,
        )
        .await?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let oid: u32 = row.get(0);
    let kind = first_character(row.get(1));
    let columns = columns(session, oid, &doing).await?;
    let partitioning = match row.get::<_, Option<String>>(6) {
        Some(strategy) => Some(Partitioning {
            strategy: first_character(strategy),
            key: row.get(7),
            partitions: partitions(session, oid, &doing).await?,
        }),
        None => None,
    };
    let look = "SELECT has_any_column_privilege($1::oid, 'SELECT')";
    let readable: bool = session.query(look, &[&oid], &doing).await?[0].get(0);
    let has_rows = matches!(kind, 'r' | 'p')
        && (!readable || has_rows(session, &quote::qualified(schema, name), &doing).await?);
    Ok(Some(TableFacts {
        oid,
        kind,
        columns,
        partitioning,
        has_rows,
        readable,
        owned: row.get(4),
        owner: row.get(5),
        row_security: row.get(2),
        unlogged: row.get::<_, String>(3) == "u",
        publications: publications_of_table(session, oid, &doing).await?,
        insert_triggers: insert_triggers(session, oid, &doing).await?,
        indexes: indexes(session, oid, &doing).await?,
        structure: structure(session, oid, &doing).await?,
        foreign_keys: names(
            session,
            "SELECT conname::text FROM pg_constraint \
             WHERE conrelid = $1 AND contype = 'f' ORDER BY 1",
            oid,
            &doing,
        )
        .await?,
        referring: referring(session, oid, &doing).await?,
        // `3` is the event INSERT.
        insert_rules: names(
            session,
            "SELECT rulename::text FROM pg_rewrite \
             WHERE ev_class = $1 AND ev_type = '3' AND ev_enabled <> 'D' ORDER BY 1",
            oid,
            &doing,
        )
        .await?,
        access_method: row.get(8),
        tablespace: row.get(9),
        replica_identity: first_character(row.get(10)),
    }))
}

async fn referring(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<Vec<ReferringKey>, PostgresError> {
    // Triggers of partitions come with those of the parent.
    let rows = session
        .query(
            "SELECT format('%I of %s', conname, conrelid::regclass), confdeltype IN ('c', 'n', 'd') \
             FROM pg_constraint WHERE confrelid = $1 AND contype = 'f' AND conrelid <> $1 \
               AND conparentid = 0 ORDER BY 1",
            &[&oid],
            doing,
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| ReferringKey {
            label: row.get(0),
            cascades: row.get(1),
        })
        .collect())
}

async fn columns(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<Vec<CatalogColumn>, PostgresError> {
    let rows = session
        .query(
            "SELECT attname::text, atttypid, atttypmod, attnotnull, attgenerated::text, \
                    atthasdef, attidentity <> '', \
                    (SELECT format('%I.%I', n.nspname, c.collname) FROM pg_collation c \
                     JOIN pg_namespace n ON n.oid = c.collnamespace \
                     WHERE c.oid = attcollation AND c.collname <> 'default'), \
                    CASE WHEN attidentity <> '' THEN \
                      pg_get_serial_sequence(attrelid::regclass::text, attname) END, \
                    attgenerated = '' AND coalesce((SELECT pg_get_expr(adbin, adrelid) LIKE '%nextval(%' \
                      FROM pg_attrdef WHERE adrelid = attrelid AND adnum = attnum), false) \
             FROM pg_attribute WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped \
             ORDER BY attnum",
            &[&oid],
            doing,
        )
        .await?;
    let mut columns = Vec::with_capacity(rows.len());
    // Wide tables have many columns of few types.
    let mut known: BTreeMap<(u32, i32), PostgresType> = BTreeMap::new();
    for row in rows {
        let type_key: (u32, i32) = (row.get(1), row.get(2));
        let resolved = match known.get(&type_key) {
            Some(resolved) => PostgresType::clone(resolved),
            None => {
                let resolved = types::resolve(session, type_key.0, type_key.1).await?;
                known.insert(type_key, resolved.clone());
                resolved
            }
        };
        columns.push(CatalogColumn {
            name: row.get(0),
            not_null: row.get::<_, bool>(3) || resolved.not_null,
            resolved,
            generated: !row.get::<_, String>(4).is_empty(),
            of_versions: false,
            has_default: row.get(5),
            default_draws: row.get(9),
            identity: row.get(6),
            identity_sequence: row.get(8),
            collation: row.get(7),
        });
    }
    Ok(columns)
}

/// The partitions of a table.
pub async fn partitions(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<Vec<Partition>, PostgresError> {
    let rows = session
        .query(
            "SELECT c.relname::text, pg_get_expr(c.relpartbound, c.oid), c.oid, n.nspname::text, \
                    c.relkind = 'p' \
             FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE i.inhparent = $1 AND c.relispartition ORDER BY 4, 1",
            &[&oid],
            doing,
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| Partition {
            name: row.get(0),
            bound: row.get::<_, Option<String>>(1).unwrap_or_default(),
            oid: row.get(2),
            schema: row.get(3),
            partitioned: row.get(4),
        })
        .collect())
}

/// Publications that publish changes of the table, by its name, by its schema, or because they publish all tables.
/// `pg_publication_tables` contains all three.
async fn publications_of_table(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<Vec<String>, PostgresError> {
    names(
        session,
        "SELECT DISTINCT p.pubname::text FROM pg_publication_tables p \
         JOIN pg_namespace n ON n.nspname = p.schemaname \
         JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename \
         WHERE c.oid = $1 \
            OR c.oid IN (SELECT relid FROM pg_partition_ancestors($1)) \
         UNION SELECT pubname::text FROM pg_publication WHERE puballtables \
         UNION SELECT pubname::text FROM pg_publication pub \
               JOIN pg_publication_rel r ON r.prpubid = pub.oid WHERE r.prrelid = $1 \
         ORDER BY 1",
        oid,
        doing,
    )
    .await
}

/// Publications that would publish a new table in this schema.
pub async fn publications_of_schema(
    session: &Session,
    schema: &str,
    version_number: i32,
) -> Result<Vec<String>, PostgresError> {
    // Publishing whole schemas came with version 15.
    let sql = if version_number >= 150_000 {
        "SELECT pubname::text FROM pg_publication WHERE puballtables \
         UNION SELECT pubname::text FROM pg_publication p \
               JOIN pg_publication_namespace pn ON pn.pnpubid = p.oid \
               JOIN pg_namespace n ON n.oid = pn.pnnspid WHERE n.nspname = $1 ORDER BY 1"
    } else {
        "SELECT pubname::text FROM pg_publication WHERE puballtables AND $1::text IS NOT NULL \
         ORDER BY 1"
    };
    let rows = session
        .query(sql, &[&schema], "reading the publications")
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn insert_triggers(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<Vec<String>, PostgresError> {
    // Bit 2 of tgtype stands for INSERT.
    names(
        session,
        "SELECT tgname::text FROM pg_trigger \
         WHERE tgrelid = $1 AND NOT tgisinternal AND tgenabled <> 'D' AND (tgtype & 4) <> 0 \
         ORDER BY 1",
        oid,
        doing,
    )
    .await
}

async fn structure(session: &Session, oid: u32, doing: &str) -> Result<String, PostgresError> {
    let rows = session
        .query(
            "SELECT concat_ws(E'\\n', \
               (SELECT string_agg(conname || ' ' || pg_get_constraintdef(oid), E'\\n' \
                                  ORDER BY conname) \
                FROM pg_constraint WHERE conrelid = $1), \
               (SELECT string_agg(concat_ws(' ', a.attname, \
                                            format_type(a.atttypid, a.atttypmod), a.attnotnull, \
                                            a.attcollation, pg_get_expr(d.adbin, d.adrelid)), \
                                  E'\\n' ORDER BY a.attnum) \
                FROM pg_attribute a LEFT JOIN pg_attrdef d \
                     ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
                WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped))",
            &[&oid],
            doing,
        )
        .await?;
    Ok(rows[0].get(0))
}

async fn indexes(
    session: &Session,
    oid: u32,
    doing: &str,
) -> Result<Vec<IndexFacts>, PostgresError> {
    let definition = index_definition::AFTER_TABLE;
    let rows = session
        .query(
            &format!(
            "SELECT ic.relname::text, {definition}, i.indisunique, pg_get_constraintdef(con.oid), \
                    (SELECT spcname::text FROM pg_tablespace WHERE oid = ic.reltablespace) \
             FROM pg_index i JOIN pg_class ic ON ic.oid = i.indexrelid \
             JOIN pg_class tc ON tc.oid = i.indrelid \
             JOIN pg_namespace n ON n.oid = tc.relnamespace \
             LEFT JOIN pg_constraint con ON con.conindid = i.indexrelid \
                  AND con.conrelid = i.indrelid AND con.contype IN ('p', 'u', 'x') \
             WHERE i.indrelid = $1 ORDER BY i.indisprimary DESC, ic.relname"
            ),
            &[&oid],
            doing,
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| IndexFacts {
            name: row.get(0),
            definition: row.get(1),
            unique: row.get(2),
            constraint: row.get(3),
            tablespace: row.get(4),
        })
        .collect())
}

async fn names(
    session: &Session,
    sql: &str,
    oid: u32,
    doing: &str,
) -> Result<Vec<String>, PostgresError> {
    let rows = session.query(sql, &[&oid], doing).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

fn first_character(text: String) -> char {
    text.chars().next().unwrap_or(' ')
}

/// The schema in which the role's search path finds a name without a schema, or in which it would be created.
pub async fn default_schema(session: &Session, name: &str) -> Result<String, PostgresError> {
    let doing = "finding the target's schema";
    session.execute("SET search_path = DEFAULT", doing).await?;
    let rows = session
        .query(
            "SELECT coalesce( \
               (SELECT n.nspname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
                WHERE c.oid = to_regclass(quote_ident($1))), \
               current_schema()::text)",
            &[&name],
            doing,
        )
        .await;
    session
        .execute("SET search_path = pg_catalog", doing)
        .await?;
    match rows?[0].get::<_, Option<String>>(0) {
        Some(schema) => Ok(schema),
        None => Err(PostgresError::Unsuitable {
            what: format!("no schema of the role's search_path exists, so `{name}` has none"),
            hint: "name the schema: `schema.table`".to_owned(),
        }),
    }
}

/// True if a table, given as SQL names it, has a row.
pub async fn has_rows(session: &Session, table: &str, doing: &str) -> Result<bool, PostgresError> {
    let sql = format!("SELECT EXISTS (SELECT FROM {table})");
    Ok(session.query(&sql, &[], doing).await?[0].get(0))
}

/// The names of the relations in a schema; with `among`, only those in this list.
pub async fn relation_names(
    session: &Session,
    schema: &str,
    among: Option<&[String]>,
) -> Result<BTreeSet<String>, PostgresError> {
    let rows = session
        .query(
            "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = $1 AND ($2::text[] IS NULL OR c.relname = ANY($2))",
            &[&schema, &among],
            "reading the names that are taken",
        )
        .await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// True if a schema exists.
pub async fn schema_exists(session: &Session, schema: &str) -> Result<bool, PostgresError> {
    let rows = session
        .query(
            "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1)",
            &[&schema],
            "looking for a schema",
        )
        .await?;
    Ok(rows[0].get(0))
}
