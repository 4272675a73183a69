//! The unique indexes by which rows are merged. They say which keys are equal: an index may have another collation than its
//! column.

use crate::quote::identifier;
use crate::{PostgresError, Session};

/// A unique index on the columns of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyIndex(Vec<KeyPart>);

/// A column of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyPart {
    /// Its name, as SQL has it.
    column: String,
    /// The collation, as SQL names it, if it is not the column's.
    collation: Option<String>,
    /// The operator class, as SQL names it, if it is not the type's default.
    class: Option<String>,
}

/// An index of a target.
pub struct FoundIndex {
    /// Its name.
    pub name: String,
    /// True if it refuses a row at once, and not only at the end of a transaction.
    pub is_immediate: bool,
    /// True if it treats NULL as equal to NULL.
    pub takes_one_null: bool,
    /// True if it belongs to the primary key.
    pub is_primary: bool,
    /// Its columns.
    pub index: KeyIndex,
}

impl KeyIndex {
    /// An index that compares values as the columns do: without a collation or an operator class of its own.
    pub fn of_columns(key: &[String]) -> KeyIndex {
        let part = |name: &String| KeyPart {
            column: identifier(name),
            collation: None,
            class: None,
        };
        KeyIndex(key.iter().map(part).collect())
    }

    /// True if it compares as its columns do.
    fn is_of_columns(&self) -> bool {
        let mut parts = self.0.iter();
        parts.all(|part| part.collation.is_none() && part.class.is_none())
    }

    /// The statement that builds an index like it on a table.
    pub fn build_on(&self, table: &str) -> String {
        let parts = self.0.iter().map(|part| {
            let words = [Some(part.collated()), part.class.clone()];
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        });
        let parts: Vec<String> = parts.collect();
        format!("CREATE UNIQUE INDEX ON {table} ({})", parts.join(", "))
    }

    /// The condition that rows of two tables, by their aliases, have the same key.
    pub fn is_same(&self, one: &str, other: &str) -> String {
        let parts = self.0.iter().map(|part| {
            let column = part.collated();
            format!("{one}.{column} = {other}.{column}")
        });
        parts.collect::<Vec<_>>().join(" AND ")
    }
}

impl KeyPart {
    fn collated(&self) -> String {
        match &self.collation {
            Some(collation) => format!("{} COLLATE {collation}", self.column),
            None => self.column.clone(),
        }
    }
}

/// The valid unique indexes of a table that have exactly the columns of a key, ordered by their names. With `null_in`,
/// a column of the table: only the indexes of the rows in which this column is NULL. Otherwise only the indexes of all
/// rows.
pub async fn find(
    session: &Session,
    table_oid: u32,
    key: &[String],
    null_in: Option<&str>,
) -> Result<Vec<FoundIndex>, PostgresError> {
    // Servers before 15 have no column for NULLS NOT DISTINCT.
    let sql = "SELECT c.relname::text, i.indimmediate, \
               COALESCE(pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct' = 'true', false), i.indisprimary, \
               p.names, p.collations, p.classes \
               FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
               CROSS JOIN LATERAL (SELECT array_agg(a.attname::text ORDER BY place) names, \
               array_agg(CASE WHEN l.oid <> a.attcollation THEN format('%I.%I', ln.nspname, l.collname) END ORDER BY place) \
               collations, \
               array_agg(CASE WHEN NOT o.opcdefault THEN format('%I.%I', xn.nspname, o.opcname) END ORDER BY place) classes \
               FROM pg_catalog.generate_series(0, i.indnkeyatts - 1) place \
               LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place] AND a.attnum > 0 \
               LEFT JOIN pg_catalog.pg_collation l ON l.oid = i.indcollation[place] \
               LEFT JOIN pg_catalog.pg_namespace ln ON ln.oid = l.collnamespace \
               JOIN pg_catalog.pg_opclass o ON o.oid = i.indclass[place] \
               JOIN pg_catalog.pg_namespace xn ON xn.oid = o.opcnamespace) p \
               WHERE i.indrelid = $1 AND i.indisunique AND i.indisvalid AND i.indnkeyatts = $2 \
               AND pg_catalog.pg_get_expr(i.indpred, i.indrelid) IS NOT DISTINCT FROM \
               CASE WHEN $4::text IS NOT NULL THEN format('(%I IS NULL)', $4::text) END \
               AND array_position(p.names, NULL) IS NULL AND p.names <@ $3::text[] ORDER BY c.relname";
    let count = i16::try_from(key.len()).unwrap_or(i16::MAX);
    let doing = "asking the server for the unique indexes on the key";
    let rows = session
        .query(sql, &[&table_oid, &count, &key, &null_in], doing)
        .await?;
    let found = rows.iter().map(|row| {
        let (names, collations, classes): (Vec<String>, Vec<Option<String>>, Vec<Option<String>>) =
            (row.get(4), row.get(5), row.get(6));
        let parts = names.iter().zip(collations).zip(classes);
        let parts = parts.map(|((name, collation), class)| KeyPart {
            column: identifier(name),
            collation,
            class,
        });
        FoundIndex {
            name: row.get(0),
            is_immediate: row.get(1),
            takes_one_null: row.get(2),
            is_primary: row.get(3),
            index: KeyIndex(parts.collect()),
        }
    });
    Ok(found.collect())
}

/// The different comparisons of these indexes. The first is the comparison of the columns, if an index has it or if
/// there is no index.
pub fn distinct(key: &[String], found: impl IntoIterator<Item = FoundIndex>) -> Vec<KeyIndex> {
    let (own, others): (Vec<_>, Vec<_>) = found
        .into_iter()
        .map(|found| found.index)
        .partition(KeyIndex::is_of_columns);
    let mut distinct = Vec::new();
    if !own.is_empty() || others.is_empty() {
        distinct.push(KeyIndex::of_columns(key));
    }
    for index in others {
        if !distinct.contains(&index) {
            distinct.push(index);
        }
    }
    distinct
}
