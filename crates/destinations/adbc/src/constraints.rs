//! The constraints of a target that a row can break, from the catalog: CHECK, PRIMARY KEY, UNIQUE, and unique indexes.
//!
//! NOT NULL is not included: a NULL is rejected when a row is converted. Foreign keys, exclusion constraints, triggers,
//! and unique indexes on expressions or with a condition are not examined: a row that one of them refuses fails the
//! load.

use inrush_destination::{Result, TargetName};
use inrush_rows::sql_text::take_identifier;

use crate::check_text;
use crate::quirks::{Quirks, Vendor};
use crate::session::AdbcSession;
use crate::sql;

const DOING: &str = "cannot read the constraints of a target";

/// The constraints of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// Expressions that must not be false for any row.
    pub checks: Vec<Check>,
    /// Columns whose values must be unique.
    pub keys: Vec<UniqueKey>,
}

/// A CHECK.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its expression, in the database's syntax.
    pub expression: String,
    /// Its column, if it has one and the catalog names it.
    pub column: Option<String>,
}

/// A PRIMARY KEY, a UNIQUE constraint or a unique index. A row with a NULL in it conflicts with no other row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueKey {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its columns.
    pub columns: Vec<KeyColumn>,
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// The collation of the index, if it differs from the column's own.
    pub collation: Option<String>,
}

/// Reads the constraints of an existing table.
pub fn of_table(
    session: &mut AdbcSession,
    quirks: &Quirks,
    name: &TargetName,
) -> Result<Constraints> {
    match quirks.vendor {
        Vendor::DuckDb => duckdb(session, name),
        Vendor::Sqlite => sqlite(session, name),
        Vendor::Postgres => postgres(session, name),
        Vendor::Other => Ok(Constraints::default()),
    }
}

fn duckdb(session: &mut AdbcSession, name: &TargetName) -> Result<Constraints> {
    let of_table = format!(
        "database_name = current_database() AND lower(schema_name) = lower({}) AND lower(table_name) = lower({})",
        sql::text(name.schema.as_deref().unwrap_or("main")),
        sql::text(&name.name)
    );
    let checks = session.rows(
        DOING,
        &format!(
            "SELECT constraint_name, expression, \
             CASE WHEN len(constraint_column_names) = 1 THEN constraint_column_names[1] END \
             FROM duckdb_constraints() WHERE {of_table} AND constraint_type = 'CHECK' ORDER BY constraint_index"
        ),
    )?;
    let keys = session.rows(
        DOING,
        &format!(
            "SELECT constraint_index::VARCHAR, constraint_name, unnest(constraint_column_names), NULL::VARCHAR \
             FROM duckdb_constraints() WHERE {of_table} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') \
             ORDER BY constraint_index"
        ),
    )?;
    let indexes = session.rows(
        DOING,
        &format!(
            "SELECT index_oid::VARCHAR, index_name, unnest(expressions::VARCHAR[]), NULL::VARCHAR \
             FROM duckdb_indexes() WHERE {of_table} AND is_unique AND NOT is_primary ORDER BY index_oid"
        ),
    )?;
    let mut found = keys_of(keys);
    found.extend(keys_of(indexes).into_iter().filter_map(columns_alone));
    Ok(Constraints {
        checks: checks_of(checks),
        keys: found,
    })
}

/// A key whose index expressions are plain columns, with their unquoted names; `None` for any other key.
fn columns_alone(mut key: UniqueKey) -> Option<UniqueKey> {
    for column in &mut key.columns {
        if column.name.starts_with('"') {
            let (name, rest) = take_identifier(&column.name)?;
            if !rest.is_empty() {
                return None;
            }
            column.name = name;
        } else if !column
            .name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            return None;
        }
    }
    Some(key)
}

fn sqlite(session: &mut AdbcSession, name: &TargetName) -> Result<Constraints> {
    let table = sql::text(&name.name);
    // A key of one INTEGER column is the row ID, and has no index.
    let row_number = session.rows(
        DOING,
        &format!(
            "SELECT 'rowid', 'PRIMARY KEY', name, NULL FROM pragma_table_info({table}) \
             WHERE pk > 0 AND lower(type) = 'integer' \
             AND (SELECT count(*) FROM pragma_table_info({table}) WHERE pk > 0) = 1 \
             AND NOT EXISTS (SELECT 1 FROM pragma_index_list({table}) WHERE origin = 'pk')"
        ),
    )?;
    let indexes = session.rows(
        DOING,
        &format!(
            "SELECT list.name, list.name, info.name, CASE WHEN info.coll <> 'BINARY' THEN info.coll END \
             FROM pragma_index_list({table}) AS list, pragma_index_xinfo(list.name) AS info \
             WHERE list.\"unique\" = 1 AND list.partial = 0 AND info.key = 1 ORDER BY list.seq, info.seqno"
        ),
    )?;
    let text = session.rows(
        DOING,
        &format!(
            "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = {table} COLLATE NOCASE"
        ),
    )?;
    let text = text.into_iter().flatten().flatten().next();
    let checks = check_text::of_create_table(text.as_deref().unwrap_or_default());
    let mut keys = keys_of(row_number);
    keys.extend(keys_of(indexes));
    Ok(Constraints {
        checks: checks
            .into_iter()
            .map(|expression| Check {
                name: None,
                expression,
                column: None,
            })
            .collect(),
        keys,
    })
}

fn postgres(session: &mut AdbcSession, name: &TargetName) -> Result<Constraints> {
    let table = sql::text(&name.sql);
    let checks = session.rows(
        DOING,
        &format!(
            "SELECT conname::text, pg_catalog.pg_get_expr(conbin, conrelid), (SELECT attname::text \
             FROM pg_catalog.pg_attribute WHERE attrelid = conrelid AND attnum = conkey[1] \
             AND pg_catalog.cardinality(conkey) = 1) FROM pg_catalog.pg_constraint \
             WHERE conrelid = {table}::pg_catalog.regclass AND contype = 'c' ORDER BY conname"
        ),
    )?;
    let keys = session.rows(
        DOING,
        &format!(
            "SELECT i.indexrelid::text, c.relname::text, a.attname::text, NULL::text \
             FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             CROSS JOIN LATERAL pg_catalog.generate_series(0, i.indnkeyatts - 1) AS place \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place] \
             AND a.attnum > 0 WHERE i.indrelid = {table}::pg_catalog.regclass AND i.indisunique AND i.indisvalid \
             AND i.indpred IS NULL ORDER BY c.relname, place"
        ),
    )?;
    Ok(Constraints {
        checks: checks_of(checks),
        keys: keys_of(keys),
    })
}

/// The CHECKs in catalog rows: name, expression, column.
fn checks_of(rows: Vec<Vec<Option<String>>>) -> Vec<Check> {
    rows.into_iter()
        .filter_map(|row| {
            let [name, expression, column] = <[Option<String>; 3]>::try_from(row).ok()?;
            Some(Check {
                name,
                expression: expression?,
                column,
            })
        })
        .collect()
}

/// The keys in catalog rows: an identifier of the key, its name, one of its columns, and that column's collation. A key
/// is left out if one of its columns has no name, because it is an expression.
fn keys_of(rows: Vec<Vec<Option<String>>>) -> Vec<UniqueKey> {
    let mut keys: Vec<(Option<String>, Option<UniqueKey>)> = Vec::new();
    for row in rows {
        let Ok([id, name, column, collation]) = <[Option<String>; 4]>::try_from(row) else {
            continue;
        };
        if keys.last().is_none_or(|(last, _)| *last != id) {
            let columns = Vec::new();
            keys.push((id, Some(UniqueKey { name, columns })));
        }
        let Some((_, key)) = keys.last_mut() else {
            continue;
        };
        match (column, &mut *key) {
            (Some(name), Some(key)) => key.columns.push(KeyColumn { name, collation }),
            _ => *key = None,
        }
    }
    keys.into_iter().filter_map(|(_, key)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, column: Option<&str>) -> Vec<Option<String>> {
        vec![
            Some(id.to_owned()),
            Some(format!("key {id}")),
            column.map(str::to_owned),
            None,
        ]
    }

    fn columns(key: &UniqueKey) -> Vec<&str> {
        key.columns
            .iter()
            .map(|column| column.name.as_str())
            .collect()
    }

    #[test]
    fn a_key_with_an_expression_is_left_out() {
        let rows = vec![
            row("1", Some("a")),
            row("1", Some("b")),
            row("2", Some("a")),
            row("2", None),
            row("3", Some("c")),
        ];
        let keys = keys_of(rows);
        assert_eq!(
            keys.iter().map(columns).collect::<Vec<_>>(),
            [vec!["a", "b"], vec!["c"]]
        );
    }

    #[test]
    fn an_index_of_duckdb_names_its_columns_as_statements_do() {
        let of = |texts: &[&str]| {
            let rows = texts.iter().map(|text| row("1", Some(text))).collect();
            keys_of(rows).into_iter().filter_map(columns_alone).next()
        };
        let found = of(&["id", "\"q \"\"x\"\"\""]).expect("two columns");
        assert_eq!(columns(&found), ["id", "q \"x\""]);
        assert_eq!(of(&["id", "((id + 1))"]), None);
        assert_eq!(of(&["\"a\" || \"b\""]), None);
    }
}
