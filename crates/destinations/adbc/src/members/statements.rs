//! The statements of members: the run performs them, and the plan prints them.

use inrush_rows::sql_text::identifier;

use super::MemberTable;
use crate::quirks::Vendor;
use crate::sql;
use crate::staging::{self, Staging};

impl MemberTable {
    /// The columns of the table of members.
    pub fn columns(&self) -> Vec<String> {
        let keys = (1..=self.plan.key.len()).map(|at| format!("key_{at}"));
        keys.chain(["number".to_owned()]).collect()
    }

    /// The statement that makes the table of members.
    pub fn create_statement(&self) -> String {
        let keys = (1..=self.plan.key.len()).map(|at| format!("key_{at} TEXT NOT NULL, "));
        format!(
            "CREATE TABLE {} ({}number BIGINT NOT NULL)",
            self.sql,
            keys.collect::<String>()
        )
    }

    /// The statement that drops the table of members, if it is there.
    pub fn remove_statement(&self) -> String {
        staging::drop_statement(&self.sql)
    }

    /// The statement with which a unit keeps other writers away until it ends, in SQLite. It changes nothing.
    pub fn lock_writers_statement(&self) -> Option<String> {
        (self.vendor == Vendor::Sqlite).then(|| format!("DELETE FROM {} WHERE 0", self.sql))
    }

    /// The query for the highest number of the reference in SQLite.
    pub(super) fn highest_number(&self) -> String {
        format!(
            "SELECT max(coalesce((SELECT max(seq) FROM sqlite_sequence WHERE name = {}), 0), \
             coalesce((SELECT max({}) FROM {}), 0))",
            sql::text(&self.plan.table.name),
            identifier(&self.plan.number),
            self.plan.table.sql
        )
    }

    /// The statements that raise SQLite's sequence, so that no other row of the reference gets a number up to this one.
    pub fn raise_sequence_statements(&self, number: &str) -> Vec<String> {
        if self.vendor != Vendor::Sqlite {
            return Vec::new();
        }
        let name = sql::text(&self.plan.table.name);
        vec![
            format!(
                "INSERT INTO sqlite_sequence (name, seq) SELECT {name}, 0 \
                 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = {name})"
            ),
            format!(
                "UPDATE sqlite_sequence SET seq = {number} WHERE name = {name} AND seq < {number}"
            ),
        ]
    }

    /// The query for the next numbers of the sequence, each with the answer whether a row of the reference already has
    /// it.
    pub(super) fn next_numbers(&self, count: usize) -> Option<String> {
        let next = self.next_number.as_deref()?;
        Some(format!(
            "WITH numbered AS MATERIALIZED (SELECT {next} AS number FROM range({count})) \
             SELECT number, CASE WHEN number IN (SELECT {} FROM {}) THEN 1 ELSE 0 END FROM numbered ORDER BY number",
            identifier(&self.plan.number),
            self.plan.table.sql
        ))
    }

    /// The query for all members, a page at a time.
    pub(super) fn all_after(&self, number: i64, count: usize) -> String {
        format!(
            "SELECT DISTINCT {} FROM {} WHERE number > {number} ORDER BY number LIMIT {count}",
            self.columns().join(", "),
            self.sql
        )
    }

    /// The query for the members whose keys already have other numbers in the reference: the keys, and the numbers
    /// there.
    pub(super) fn existing_of_keys(&self) -> String {
        let keys = (1..=self.plan.key.len()).map(|at| format!("m.key_{at}"));
        let keys: Vec<String> = keys.collect();
        format!(
            "SELECT DISTINCT {}, d.{} {}",
            keys.join(", "),
            identifier(&self.plan.number),
            self.existing_from()
        )
    }

    /// The query for the number of members that others have added.
    pub(super) fn existing_count(&self) -> String {
        format!("SELECT count(*) {}", self.existing_from())
    }

    /// The statement that adds the members that staged rows refer to; `None` if no target stores their numbers.
    pub fn add_statement(&self, stagings: &[Staging]) -> Option<String> {
        let used = self.used(stagings)?;
        let key = self.plan.key.iter().map(String::as_str);
        let columns = sql::names(key.chain([self.plan.number.as_str()]));
        let values = (0..self.plan.key.len()).map(|at| self.key_value(at));
        let values: Vec<String> = values
            .chain([self.cast("m.number", &self.number_type)])
            .collect();
        Some(format!(
            "INSERT INTO {} ({columns}) SELECT DISTINCT {} FROM {} m WHERE m.number IN ({used}) \
             AND NOT EXISTS (SELECT 1 FROM {} d WHERE {}) ORDER BY {}",
            self.plan.table.sql,
            values.join(", "),
            self.sql,
            self.plan.table.sql,
            self.has_key(),
            values.len()
        ))
    }

    /// The statements that give staged rows the number of a member that others have added.
    pub fn replace_statements(&self, stagings: &[Staging]) -> Vec<String> {
        let number = identifier(&self.plan.number);
        let staged = self.staged.iter();
        staged
            .map(|(target, column)| {
                let column = identifier(column);
                format!(
                    "UPDATE {} SET {column} = inrush_other.inrush_existing FROM \
                     (SELECT DISTINCT m.number AS inrush_number, d.{number} AS inrush_existing {}) AS inrush_other \
                     WHERE {column} = inrush_other.inrush_number",
                    stagings[*target].sql,
                    self.existing_from()
                )
            })
            .collect()
    }

    /// The query that counts the members that staged rows refer to and the reference lacks; `None` if no target stores
    /// their numbers.
    pub(super) fn missing(&self, stagings: &[Staging]) -> Option<String> {
        let used = self.used(stagings)?;
        Some(format!(
            "SELECT count(*) FROM {} m WHERE m.number IN ({used}) \
             AND NOT EXISTS (SELECT 1 FROM {} d WHERE {} AND d.{} = m.number)",
            self.sql,
            self.plan.table.sql,
            self.has_key(),
            identifier(&self.plan.number)
        ))
    }

    /// Joins the members `m` with the rows `d` of the reference that have the same key but another number.
    fn existing_from(&self) -> String {
        format!(
            "FROM {} m JOIN {} d ON {} WHERE d.{} <> m.number",
            self.sql,
            self.plan.table.sql,
            self.has_key(),
            identifier(&self.plan.number)
        )
    }

    /// A query for the numbers in staged rows.
    fn used(&self, stagings: &[Staging]) -> Option<String> {
        let staged = self.staged.iter().map(|(target, column)| {
            let column = identifier(column);
            format!("SELECT {column} FROM {}", stagings[*target].sql)
        });
        let queries: Vec<String> = staged.collect();
        (!queries.is_empty()).then(|| queries.join(" UNION "))
    }

    /// A condition for the row `d` of the reference that has the key of the member `m`.
    fn has_key(&self) -> String {
        let columns = self.plan.key.iter().enumerate();
        let equal =
            columns.map(|(at, name)| format!("d.{} = {}", identifier(name), self.key_value(at)));
        equal.collect::<Vec<_>>().join(" AND ")
    }

    fn key_value(&self, at: usize) -> String {
        self.cast(&format!("m.key_{}", at + 1), &self.key_types[at])
    }

    /// SQLite converts a text by the type of the column that it is compared with or stored in.
    fn cast(&self, value: &str, type_sql: &str) -> String {
        match self.vendor {
            Vendor::Sqlite => value.to_owned(),
            _ => format!("CAST({value} AS {type_sql})"),
        }
    }
}
