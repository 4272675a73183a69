//! Merges staged rows into a target by their key. This file has the statements in T-SQL, and refuses the targets into
//! which rows cannot be merged.
//!
//! `MERGE` is not used: without HOLDLOCK two concurrent statements may insert the same key, it fires triggers once for each of
//! its actions, and it cannot keep versions. The merge takes the lock of the whole table first ([`lock_statement`]), so that
//! between its statements nobody writes to the target.
//!
//! Two texts are the same if their bytes are: the server's `=` ignores trailing blanks and, in most collations, case. It also
//! ignores zeros at the end of binary values, so their lengths are compared, too. Only the key is compared by the collation of
//! its column, as its unique index does.

use inrush_destination::merge::{
    Merge, MergeDialect, MergeObstacle, MergeSession, MergeUpdate, names,
};
use inrush_destination::{ColumnPlan, Error, MergedRows, Result, Step, TargetPlan};
use inrush_rows::column_type::ColumnType;

use crate::catalog;
use crate::connection::SqlSession;
use crate::indexes::Index;
use crate::insert::Insert;
use crate::run::SqlRun;
use crate::shape::TableShape;
use crate::sql;
use crate::staging::Staging;

/// A merge into a target.
pub struct SqlMerge<'a> {
    staging: &'a Staging,
    dialect: Dialect<'a>,
}

/// How the statements are written for SQL Server.
struct Dialect<'a> {
    plan: &'a TargetPlan,
    /// The load fills an identity column.
    fills_identity: bool,
}

impl MergeDialect for Dialect<'_> {
    fn differs(&self, column: &str) -> String {
        let name = sql::identifier(column);
        let mut columns = self.plan.columns.iter();
        let own = columns.find(|own| own.name == column);
        let values = match own.is_some_and(|own| is_of_bytes(&own.sql)) {
            false => format!("t.{name} <> s.{name}"),
            true => {
                let bytes = |table: &str| format!("CAST({table}.{name} AS varbinary(max))");
                let (own, new) = (bytes("t"), bytes("s"));
                format!("{own} <> {new} OR DATALENGTH({own}) <> DATALENGTH({new})")
            }
        };
        // IS DISTINCT FROM needs SQL Server 2022.
        format!(
            "(t.{name} IS NULL AND s.{name} IS NOT NULL OR t.{name} IS NOT NULL AND (s.{name} IS NULL OR {values}))"
        )
    }

    fn is_same(&self, column: &str) -> String {
        format!("NOT {}", self.differs(column))
    }

    fn update(&self, update: &MergeUpdate<'_>) -> String {
        let MergeUpdate {
            target,
            source,
            set,
            is_of_key,
            only,
        } = update;
        let only = only.as_ref().map(|only| format!(" WHERE {only}"));
        format!(
            "UPDATE t SET {set} FROM {target} AS t JOIN {source} AS s ON {is_of_key}{}",
            only.unwrap_or_default()
        )
    }

    fn insert(&self, insert: String) -> Vec<String> {
        self.of_insert(insert).statements()
    }

    fn first(&self, select: &str) -> String {
        format!("SELECT TOP (1) {select}")
    }

    fn count(&self) -> &'static str {
        "COUNT_BIG"
    }

    fn truth(&self, value: bool) -> &'static str {
        match value {
            true => "1",
            false => "0",
        }
    }

    fn text_type(&self) -> &'static str {
        "nvarchar(4000)"
    }

    fn offset(&self) -> &'static str {
        " +00:00"
    }

    fn moment(&self, text: &str, valid_from: &ColumnPlan) -> String {
        let (text, own) = (sql::text(text), &valid_from.sql);
        match valid_from.column_type {
            ColumnType::TimestampTz { .. } => format!("CAST({text} AS {own})"),
            // `datetime` takes no text with more than three digits of a second's fraction.
            _ => format!("CAST(CAST({text} AS datetime2(6)) AS {own})"),
        }
    }
}

impl Dialect<'_> {
    /// The INSERT with this text.
    fn of_insert(&self, sql: String) -> Insert {
        let target = &self.plan.name.sql;
        Insert {
            sql,
            identity_of: self.fills_identity.then(|| target.clone()),
        }
    }
}

/// True if values of a type are compared by their bytes.
fn is_of_bytes(type_name: &str) -> bool {
    let word: String = type_name
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    matches!(
        word.to_ascii_lowercase().as_str(),
        "char" | "varchar" | "nchar" | "nvarchar" | "binary" | "varbinary" | "xml"
    )
}

/// The statement that keeps others away from a target until the transaction ends. Readers of snapshots do not wait.
pub fn lock_statement(plan: &TargetPlan) -> String {
    format!(
        "SELECT TOP (1) 1 FROM {} WITH (TABLOCKX, HOLDLOCK)",
        plan.name.sql
    )
}

/// A session that merges.
struct Session<'a> {
    run: &'a SqlRun,
    session: &'a mut SqlSession,
    dialect: &'a Dialect<'a>,
}

impl MergeSession for Session<'_> {
    fn rows(&mut self, doing: &str, sql: &str) -> Result<Vec<Vec<Option<String>>>> {
        self.session.rows(doing, sql)
    }

    fn change(&mut self, doing: &str, sql: &str) -> Result<()> {
        self.run.refuse_interrupted()?;
        self.session.run(doing, sql).map(drop)
    }

    fn insert(&mut self, doing: &str, sql: String) -> Result<()> {
        self.run.refuse_interrupted()?;
        let insert = self.dialect.of_insert(sql);
        insert.run(self.session, doing).map(drop)
    }
}

impl<'a> SqlMerge<'a> {
    /// The merge of the rows in staging.
    pub fn of_staging(session: &mut SqlSession, staging: &'a Staging) -> Result<SqlMerge<'a>> {
        let identity = catalog::identity(session, &staging.plan.name.sql)?;
        let is_filled = |identity: String| staging.filled().any(|filled| filled == identity);
        Ok(SqlMerge {
            staging,
            dialect: Dialect {
                plan: &staging.plan,
                fills_identity: identity.is_some_and(is_filled),
            },
        })
    }

    fn merge(&self) -> Merge<'_> {
        Merge::new(&self.dialect, &self.staging.plan, &self.staging.sql)
    }

    /// Merges the staged rows into the run's target with the index `place`. `staged` is their number.
    pub fn perform(
        &self,
        run: &SqlRun,
        session: &mut SqlSession,
        (place, staged): (usize, u64),
    ) -> Result<MergedRows> {
        let started_at = run.record.started_at_microseconds;
        let mut session = Session {
            run,
            session,
            dialect: &self.dialect,
        };
        self.merge()
            .perform(&mut session, (place, staged), started_at)
    }

    /// The statements as a plan prints them.
    pub fn planned(&self) -> Vec<Step> {
        self.merge().planned()
    }
}

/// Refuses a target into which rows cannot be merged.
pub fn check(session: &mut SqlSession, plan: &TargetPlan) -> Result<()> {
    let target = &plan.name.sql;
    let merge = plan.merge_plan();
    let shape = TableShape::read(session, target)?;
    let is_overwritten = |name: &String| {
        let mut loaded = plan.columns.iter();
        loaded.any(|column| column.name == *name) && !merge.key.contains(name)
    };
    let mut identities = shape.columns.iter().filter(|column| column.is_identity);
    if let Some(column) = identities.find(|column| is_overwritten(&column.name)) {
        return Err(Error::Unsuitable {
            what: format!(
                "{target} has the identity column {}, which no UPDATE can change",
                sql::identifier(&column.name)
            ),
            hint: "make it part of the key, or do not load it".to_owned(),
        });
    }
    let key = names(&merge.key);
    let index = format!(
        "CREATE UNIQUE INDEX {} ON {target} ({key})",
        sql::identifier(&format!("{}_key", plan.name.name))
    );
    let own = shape.indexes.iter().find(|index| is_of_merge(index, plan));
    let Some(versions) = &merge.versions else {
        let Some(own) = own else {
            let fix = format!("{index}; or name the columns of an existing unique index");
            return Err(MergeObstacle::NoIndex.error(plan, fix));
        };
        return match plan.has_nulls_in_key() {
            false => Ok(()),
            true => Err(MergeObstacle::EqualNulls(own.name.clone()).error(
                plan,
                format!("make the columns of the key NOT NULL: ALTER TABLE {target} ALTER COLUMN ... NOT NULL"),
            )),
        };
    };
    let current = format!(" WHERE {} IS NULL", sql::identifier(&versions.valid_to));
    let mut indexes = shape.indexes.iter();
    let of_all = indexes.find(|index| {
        let mut columns = index.unique_columns().peekable();
        let is_unique = columns.peek().is_some() && index.filter().is_none();
        is_unique && columns.all(|name| merge.key.iter().any(|key| key == name))
    });
    if let Some(of_all) = of_all {
        let columns = of_all.unique_columns().map(str::to_owned).collect();
        let fix = format!("drop that index, and {index}{current}");
        return Err(MergeObstacle::OneVersion(columns).error(plan, fix));
    }
    match own {
        Some(_) => Ok(()),
        None => Err(MergeObstacle::NoIndex.error(plan, format!("{index}{current}"))),
    }
}

/// True if this is the unique index by which rows are merged: it is on exactly the key and, if the target keeps
/// versions, has only the current versions.
pub fn is_of_merge(index: &Index, plan: &TargetPlan) -> bool {
    let Some(merge) = &plan.merge else {
        return false;
    };
    let columns: Vec<&str> = index.unique_columns().collect();
    let is_on_key = columns.len() == merge.key.len()
        && columns
            .iter()
            .all(|name| merge.key.iter().any(|key| key == *name));
    is_on_key
        && match (&merge.versions, index.filter()) {
            (None, filter) => filter.is_none(),
            (Some(versions), Some(filter)) => is_null(filter, &versions.valid_to),
            (Some(_), None) => false,
        }
}

/// True if a condition, as the catalog writes it, is that a column is NULL.
fn is_null(condition: &str, column: &str) -> bool {
    let mut condition = condition.trim();
    while let Some(inner) = condition
        .strip_prefix('(')
        .and_then(|rest| rest.strip_suffix(')'))
    {
        condition = inner.trim();
    }
    let name = format!("[{}]", column.replace(']', "]]"));
    let rest = condition.get(name.len()..).filter(|_| {
        condition
            .get(..name.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(&name))
    });
    let words = rest.map(|rest| rest.split_whitespace().map(str::to_uppercase));
    words.is_some_and(|words| words.eq(["IS", "NULL"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_current_versions_is_known_by_its_condition() {
        for (condition, expected) in [
            ("([valid_to] IS NULL)", true),
            ("[Valid_To] is  null", true),
            ("([valid_to] IS NOT NULL)", false),
            ("([valid_from] IS NULL)", false),
            ("([valid_to] IS NULL AND [id]>(1))", false),
            ("", false),
        ] {
            assert_eq!(is_null(condition, "valid_to"), expected, "{condition}");
        }
        assert!(is_null("([a]]b] IS NULL)", "a]b"));
    }

    #[test]
    fn texts_and_binary_values_are_compared_by_their_bytes() {
        for (type_name, expected) in [
            ("nvarchar(40) COLLATE Latin1_General_CI_AS", true),
            ("varbinary(max)", true),
            ("xml", true),
            ("int", false),
            ("datetime2(6)", false),
        ] {
            assert_eq!(is_of_bytes(type_name), expected, "{type_name}");
        }
    }
}
