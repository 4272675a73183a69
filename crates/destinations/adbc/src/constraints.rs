//! The constraints of a target that a row can break, from the catalog: CHECK, PRIMARY KEY, UNIQUE, and unique indexes.
//!
//! NOT NULL is not included: a NULL is rejected when a row is converted. Foreign keys, exclusion constraints, triggers,
//! and unique indexes on expressions are not examined: a row that one of them refuses fails the load. A unique index
//! with a condition matters only for a merge, and only if its condition selects the current versions.

use inrush_destination::{MergePlan, Result, TargetName};
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
    /// Columns whose values must be unique among the rows that meet a condition.
    pub partial_keys: Vec<PartialKey>,
    /// Columns of text whose keys are compared by bytes, even if the columns have a collation.
    pub binary_texts: Vec<String>,
}

/// A unique index with a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialKey {
    /// Its columns.
    pub key: UniqueKey,
    /// The condition, as the catalog writes it.
    pub condition: String,
}

impl Constraints {
    /// The unique key by which rows are merged: the key on exactly the columns of the merge. If the target keeps
    /// versions, it is the unique key of the current versions. `None` if the target has no such key.
    pub fn of_merge(&self, merge: &MergePlan) -> Option<&UniqueKey> {
        match &merge.versions {
            None => self.keys.iter().find(|key| key.is_on(&merge.key)),
            Some(versions) => {
                let current = self.partial_keys.iter().find(|partial| {
                    partial.key.is_on(&merge.key) && partial.is_of_nulls(&versions.valid_to)
                });
                current.map(|partial| &partial.key)
            }
        }
    }

    /// The key by which rows are merged, even if the target has no unique index on it.
    pub fn key_of_merge(&self, merge: &MergePlan) -> UniqueKey {
        let found = self.of_merge(merge).cloned();
        found.unwrap_or_else(|| self.collated(UniqueKey::of_columns(&merge.key)))
    }

    /// The key with the collation by which its texts are compared.
    fn collated(&self, mut key: UniqueKey) -> UniqueKey {
        for column in &mut key.columns {
            let mut texts = self.binary_texts.iter();
            if texts.any(|text| text.eq_ignore_ascii_case(&column.name)) {
                column.collation = Some("binary".to_owned());
            }
        }
        key
    }
}

impl PartialKey {
    /// True if the condition is that a column is NULL.
    fn is_of_nulls(&self, column: &str) -> bool {
        let mut condition = self.condition.trim();
        while let Some(inner) = condition
            .strip_prefix('(')
            .and_then(|rest| rest.strip_suffix(')'))
        {
            condition = inner.trim();
        }
        let (name, rest) = match take_identifier(condition) {
            Some((name, rest)) => (name, rest),
            None => {
                let end = condition.find(char::is_whitespace);
                let (name, rest) = condition.split_at(end.unwrap_or(condition.len()));
                (name.to_owned(), rest)
            }
        };
        let words: Vec<String> = rest.split_whitespace().map(str::to_lowercase).collect();
        name.eq_ignore_ascii_case(column) && words == ["is", "null"]
    }
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

impl UniqueKey {
    /// A key of these columns, for a merge into a target without a unique index on them. Its values are compared in the
    /// same way as the columns.
    pub fn of_columns(names: &[String]) -> UniqueKey {
        let column = |name: &String| KeyColumn {
            name: name.clone(),
            collation: None,
        };
        UniqueKey {
            name: None,
            columns: names.iter().map(column).collect(),
        }
    }

    /// True if it has exactly these columns, in any order.
    pub fn is_on(&self, names: &[String]) -> bool {
        self.columns.len() == names.len() && self.is_within(names)
    }

    /// True if it has no other columns than these.
    pub fn is_within(&self, names: &[String]) -> bool {
        let mut columns = self.columns.iter();
        columns.all(|column| {
            let mut names = names.iter();
            names.any(|name| name.eq_ignore_ascii_case(&column.name))
        })
    }
}

/// A column of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyColumn {
    /// Its name.
    pub name: String,
    /// The collation of the index, if the database reports it. The column may have another collation.
    pub collation: Option<String>,
}

impl KeyColumn {
    /// True if the index may treat different texts as equal.
    pub fn folds_texts(&self) -> bool {
        let collation = self.collation.as_deref();
        collation.is_some_and(|name| !name.eq_ignore_ascii_case("binary"))
    }
}

/// The SQL expression for a column of a key in `table`, compared as in the key's index.
pub fn term(table: &str, column: &KeyColumn) -> String {
    let name = sql::identifier(&column.name);
    match &column.collation {
        Some(collation) => format!("{table}.{name} COLLATE {}", sql::identifier(collation)),
        None => format!("{table}.{name}"),
    }
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
            "SELECT constraint_index::VARCHAR, constraint_name, unnest(constraint_column_names), NULL::VARCHAR, \
             NULL::VARCHAR \
             FROM duckdb_constraints() WHERE {of_table} AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') \
             ORDER BY constraint_index"
        ),
    )?;
    let indexes = session.rows(
        DOING,
        &format!(
            "SELECT index_oid::VARCHAR, index_name, unnest(expressions::VARCHAR[]), NULL::VARCHAR, NULL::VARCHAR \
             FROM duckdb_indexes() WHERE {of_table} AND is_unique AND NOT is_primary ORDER BY index_oid"
        ),
    )?;
    // DuckDB's indexes compare texts by bytes, but its operator `=` compares them by the column's collation.
    let texts = session.rows(
        DOING,
        &format!(
            "SELECT column_name FROM duckdb_columns() WHERE {of_table} \
             AND (data_type = 'VARCHAR' OR data_type LIKE 'VARCHAR COLLATE %')"
        ),
    )?;
    let mut found = Constraints {
        checks: checks_of(checks),
        binary_texts: texts.into_iter().flatten().flatten().collect(),
        // DuckDB has no indexes with a condition.
        ..Constraints::default()
    };
    let indexes = whole(keys_of(indexes)).into_iter();
    let keys = whole(keys_of(keys)).into_iter();
    let keys = keys.chain(indexes.filter_map(columns_alone));
    found.keys = keys.map(|key| found.collated(key)).collect();
    Ok(found)
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
            "SELECT 'rowid', 'PRIMARY KEY', name, NULL, NULL FROM pragma_table_info({table}) \
             WHERE pk > 0 AND lower(type) = 'integer' \
             AND (SELECT count(*) FROM pragma_table_info({table}) WHERE pk > 0) = 1 \
             AND NOT EXISTS (SELECT 1 FROM pragma_index_list({table}) WHERE origin = 'pk')"
        ),
    )?;
    let indexes = session.rows(
        DOING,
        &format!(
            "SELECT list.name, list.name, info.name, info.coll, \
             CASE WHEN list.partial THEN (SELECT sql FROM sqlite_master WHERE type = 'index' AND name = list.name) END \
             FROM pragma_index_list({table}) AS list, pragma_index_xinfo(list.name) AS info \
             WHERE list.\"unique\" = 1 AND info.key = 1 ORDER BY list.seq, info.seqno"
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
    let mut keys = whole(keys_of(row_number));
    let (of_all, of_some) = keys_of(indexes)
        .into_iter()
        .partition(|key| key.1.is_none());
    keys.extend(whole(of_all));
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
        partial_keys: partial(of_some, condition_of_index),
        binary_texts: Vec::new(),
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
            "SELECT i.indexrelid::text, c.relname::text, a.attname::text, NULL::text, \
             pg_catalog.pg_get_expr(i.indpred, i.indrelid) \
             FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             CROSS JOIN LATERAL pg_catalog.generate_series(0, i.indnkeyatts - 1) AS place \
             LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[place] \
             AND a.attnum > 0 WHERE i.indrelid = {table}::pg_catalog.regclass AND i.indisunique AND i.indisvalid \
             ORDER BY c.relname, place"
        ),
    )?;
    let (of_all, of_some) = keys_of(keys).into_iter().partition(|key| key.1.is_none());
    Ok(Constraints {
        checks: checks_of(checks),
        keys: whole(of_all),
        partial_keys: partial(of_some, |condition| Some(condition.to_owned())),
        binary_texts: Vec::new(),
    })
}

/// The unique indexes of a table of PostgreSQL in which NULL is equal to NULL.
pub fn with_equal_nulls(session: &mut AdbcSession, name: &TargetName) -> Result<Vec<String>> {
    // Servers before 15 do not have the column.
    let found = session.rows(
        DOING,
        &format!(
            "SELECT c.relname::text FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
             WHERE i.indrelid = {}::pg_catalog.regclass AND i.indisunique \
             AND pg_catalog.to_jsonb(i) ->> 'indnullsnotdistinct' = 'true'",
            sql::text(&name.sql)
        ),
    )?;
    Ok(found.into_iter().flatten().flatten().collect())
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

/// A key, and the catalog's text with its condition, if the key has one.
type CatalogKey = (UniqueKey, Option<String>);

/// The keys in catalog rows: an identifier of the key, its name, one of its columns, that column's collation, and the text
/// with the key's condition. A key is left out if one of its columns has no name, because it is an expression.
fn keys_of(rows: Vec<Vec<Option<String>>>) -> Vec<CatalogKey> {
    let mut keys: Vec<(Option<String>, Option<CatalogKey>)> = Vec::new();
    for row in rows {
        let Ok([id, name, column, collation, condition]) = <[Option<String>; 5]>::try_from(row)
        else {
            continue;
        };
        if keys.last().is_none_or(|(last, _)| *last != id) {
            let columns = Vec::new();
            keys.push((id, Some((UniqueKey { name, columns }, condition))));
        }
        let Some((_, key)) = keys.last_mut() else {
            continue;
        };
        match (column, &mut *key) {
            (Some(name), Some((key, _))) => key.columns.push(KeyColumn { name, collation }),
            _ => *key = None,
        }
    }
    keys.into_iter().filter_map(|(_, key)| key).collect()
}

fn whole(keys: Vec<CatalogKey>) -> Vec<UniqueKey> {
    keys.into_iter().map(|(key, _)| key).collect()
}

/// The keys with a condition, which `condition` takes from the text in the catalog.
fn partial(keys: Vec<CatalogKey>, condition: impl Fn(&str) -> Option<String>) -> Vec<PartialKey> {
    let keys = keys.into_iter();
    keys.filter_map(|(key, text)| {
        let condition = condition(&text?)?;
        Some(PartialKey { key, condition })
    })
    .collect()
}

/// The condition in the text of a CREATE INDEX: all that follows its WHERE.
fn condition_of_index(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let end = sql::after_token(bytes, at);
        if text[at..end].eq_ignore_ascii_case("where") {
            return Some(text[end..].to_owned());
        }
        at = end;
    }
    None
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
        let keys = whole(keys_of(rows));
        assert_eq!(
            keys.iter().map(columns).collect::<Vec<_>>(),
            [vec!["a", "b"], vec!["c"]]
        );
    }

    #[test]
    fn an_index_of_duckdb_names_its_columns_as_statements_do() {
        let of = |texts: &[&str]| {
            let rows = texts.iter().map(|text| row("1", Some(text))).collect();
            whole(keys_of(rows))
                .into_iter()
                .filter_map(columns_alone)
                .next()
        };
        let found = of(&["id", "\"q \"\"x\"\"\""]).expect("two columns");
        assert_eq!(columns(&found), ["id", "q \"x\""]);
        assert_eq!(of(&["id", "((id + 1))"]), None);
        assert_eq!(of(&["\"a\" || \"b\""]), None);
    }

    #[test]
    fn the_index_of_current_versions_is_known_by_its_condition() {
        let is_current = |condition: &str| {
            let key = UniqueKey::of_columns(&["id".to_owned()]);
            let condition = condition.to_owned();
            PartialKey { key, condition }.is_of_nulls("Valid to")
        };
        for yes in [
            "(\"Valid to\" IS NULL)",
            " \"valid to\" is\n null ",
            "((\"Valid to\" IS NULL))",
        ] {
            assert!(is_current(yes), "{yes}");
        }
        for no in [
            "\"Valid to\" IS NOT NULL",
            "other IS NULL",
            "\"Valid to\" IS NULL AND id > 1",
            "",
        ] {
            assert!(!is_current(no), "{no}");
        }
        let text = "CREATE UNIQUE INDEX \"where\" ON t (id) WHERE valid_to IS NULL";
        assert_eq!(
            condition_of_index(text).as_deref(),
            Some(" valid_to IS NULL")
        );
        assert_eq!(condition_of_index("CREATE UNIQUE INDEX i ON t (id)"), None);
    }
}
