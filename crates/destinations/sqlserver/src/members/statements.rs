//! The statements of members: the run performs them, and the plan prints them.

use inrush_rows::sql_text::identifier;

use super::MemberTable;
use crate::connection::{BEGIN, ROLL_BACK};
use crate::insert::Insert;
use crate::ledger::COLLATION;
use crate::sql;
use crate::staging::Staging;

impl MemberTable {
    /// The columns of the table of members.
    pub fn columns(&self) -> Vec<String> {
        let keys = (1..=self.key.len()).map(|at| format!("key_{at}"));
        keys.chain(["number".to_owned()]).collect()
    }

    /// The statement that makes the table of members.
    pub fn create_statement(&self) -> String {
        let keys =
            (1..=self.key.len()).map(|at| format!("key_{at} nvarchar(max) {COLLATION} NOT NULL, "));
        format!(
            "CREATE TABLE {} ({}number bigint NOT NULL)",
            self.sql,
            keys.collect::<String>()
        )
    }

    /// The statement that drops the table of members, if it is there.
    pub fn remove_statement(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.sql)
    }

    /// The batch that takes numbers from the identity column of the reference: it inserts the keys, returns their
    /// numbers, and rolls back.
    pub(super) fn take_batch(&self, keys: &[&Vec<String>]) -> String {
        let values = keys.iter().map(|key| {
            let values = key.iter().enumerate();
            let values: Vec<String> = values.map(|(at, text)| self.literal(at, text)).collect();
            format!("({})", values.join(", "))
        });
        let values: Vec<String> = values.collect();
        self.take_batch_of(&values.join(", "), &self.numbers_of(keys))
    }

    /// The batch of `take_batch` with these texts as values and query. The plan prints it with placeholders.
    pub fn take_batch_of(&self, values: &str, query: &str) -> String {
        format!(
            "{BEGIN}; INSERT INTO {} ({}) VALUES {values}; {query}; {ROLL_BACK}",
            self.plan.table.sql,
            sql::names(self.key.iter().map(|own| own.name.as_str()))
        )
    }

    /// The query for the numbers of keys in the reference: one row with a value for each key. A key that the
    /// reference does not have gives NULL.
    pub(super) fn numbers_of(&self, keys: &[&Vec<String>]) -> String {
        let number = identifier(&self.plan.number);
        let values = keys.iter().map(|key| {
            let columns = self.key.iter().zip(key.iter()).enumerate();
            let is_key = columns.map(|(at, (column, text))| {
                format!("{} = {}", identifier(&column.name), self.literal(at, text))
            });
            let is_key: Vec<String> = is_key.collect();
            format!(
                "(SELECT {number} FROM {} WHERE {})",
                self.plan.table.sql,
                is_key.join(" AND ")
            )
        });
        let values: Vec<String> = values.collect();
        format!("SELECT {}", values.join(", "))
    }

    /// The query for all members, a page at a time.
    pub(super) fn all_after(&self, number: i64, count: usize) -> String {
        format!(
            "SELECT DISTINCT TOP ({count}) {} FROM {} WHERE number > {number} ORDER BY number",
            self.columns().join(", "),
            self.sql
        )
    }

    /// The query for the members whose keys already have other numbers in the reference: the keys, and the numbers
    /// there.
    pub(super) fn existing_of_keys(&self) -> String {
        let keys = (1..=self.key.len()).map(|at| format!("m.key_{at}"));
        let keys: Vec<String> = keys.collect();
        format!(
            "SELECT DISTINCT {}, d.{} {}",
            keys.join(", "),
            identifier(&self.plan.number),
            self.existing_from()
        )
    }

    /// The statements that add the members that staged rows refer to; `None` if no target stores their numbers. The
    /// second statement adds them. It locks the keys that it does not find, so that another run that adds the same
    /// keys waits.
    pub fn add_statement(&self, stagings: &[Staging]) -> Option<Insert> {
        let used = self.used(stagings)?;
        let reference = &self.plan.table.sql;
        let key = self.key.iter().map(|own| own.name.as_str());
        let columns = sql::names(key.chain([self.plan.number.as_str()]));
        let values: Vec<String> = (0..self.key.len()).map(|at| self.key_value(at)).collect();
        let values = values.join(", ");
        Some(Insert {
            sql: format!(
                "INSERT INTO {reference} ({columns}) SELECT DISTINCT {values}, m.number FROM {} AS m WHERE ({used}) AND NOT EXISTS \
                 (SELECT 1 FROM {reference} AS d WITH (UPDLOCK, HOLDLOCK) WHERE {}) ORDER BY {values}",
                self.sql,
                self.has_key()
            ),
            identity_of: Some(reference.clone()),
        })
    }

    /// The statements for members that others have added meanwhile: staged rows get the numbers that these members have
    /// in the reference.
    pub fn replace_statements(&self, stagings: &[Staging]) -> Vec<String> {
        let number = identifier(&self.plan.number);
        let staged = self.staged.iter();
        staged
            .map(|(target, column)| {
                let (staging, column) = (&stagings[*target].sql, identifier(column));
                format!(
                    "UPDATE s SET {column} = o.inrush_existing FROM {staging} AS s JOIN (SELECT DISTINCT m.number AS \
                     inrush_number, d.{number} AS inrush_existing {}) AS o ON s.{column} = o.inrush_number",
                    self.existing_from()
                )
            })
            .collect()
    }

    /// The query that counts the members that staged rows refer to and that the reference does not have with the same
    /// number; `None` if no target stores their numbers.
    pub(super) fn missing(&self, stagings: &[Staging]) -> Option<String> {
        let used = self.used(stagings)?;
        Some(format!(
            "SELECT COUNT_BIG(*) FROM {} AS m WHERE ({used}) AND NOT EXISTS (SELECT 1 FROM {} AS d WHERE {} AND d.{} = m.number)",
            self.sql,
            self.plan.table.sql,
            self.has_key(),
            identifier(&self.plan.number)
        ))
    }

    /// Joins the members `m` with the rows `d` of the reference that have the same key but another number.
    fn existing_from(&self) -> String {
        format!(
            "FROM {} AS m JOIN {} AS d ON {} WHERE d.{} <> m.number",
            self.sql,
            self.plan.table.sql,
            self.has_key(),
            identifier(&self.plan.number)
        )
    }

    /// A condition for the members `m` that staged rows refer to.
    fn used(&self, stagings: &[Staging]) -> Option<String> {
        let staged = self.staged.iter().map(|(target, column)| {
            let (staging, column) = (&stagings[*target].sql, identifier(column));
            format!("EXISTS (SELECT 1 FROM {staging} AS s WHERE s.{column} = m.number)")
        });
        let conditions: Vec<String> = staged.collect();
        (!conditions.is_empty()).then(|| conditions.join(" OR "))
    }

    /// A condition for the row `d` of the reference that has the key of the member `m`.
    fn has_key(&self) -> String {
        let columns = self.key.iter().enumerate();
        let equal = columns
            .map(|(at, own)| format!("d.{} = {}", identifier(&own.name), self.key_value(at)));
        equal.collect::<Vec<_>>().join(" AND ")
    }

    /// A part of a member's key. A text is not cast, because CAST cuts texts that are too long.
    fn key_value(&self, at: usize) -> String {
        let value = format!("m.key_{}", at + 1);
        match &self.key[at].collation {
            Some(collation) => format!("{value} COLLATE {collation}"),
            None => format!("CAST({value} AS {})", self.key[at].type_sql),
        }
    }

    /// A part of a key as a literal.
    fn literal(&self, at: usize, text: &str) -> String {
        let literal = sql::text(text);
        match self.key[at].collation {
            Some(_) => literal,
            None => format!("CAST({literal} AS {})", self.key[at].type_sql),
        }
    }
}
