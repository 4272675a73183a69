//! Rows that are moved out of a table into a separate one, and back: replaced rows that are kept, and the rows of an undone
//! run.
//!
//! If possible, they are switched, which changes only the catalog. Otherwise they are copied (SELECT ... INTO), and the
//! caller removes them from the table. A table for switched rows is like the table that the rows come from: it has the
//! same indexes, CHECKs, and filegroup or partition scheme. So the rows can be switched back, as long as the target has
//! the same shape.

use std::fmt::Display;

use inrush_destination::{Error, Result};
use inrush_rows::plural::counted;

use crate::catalog;
use crate::connection::SqlSession;
use crate::insert::Insert;
use crate::options::Options;
use crate::partitions::Partitioning;
use crate::shape::TableShape;
use crate::sql;

/// One minute, the usual wait of a run for locks. Then the switch gives up, and the session that holds the lock
/// continues.
const LOW_PRIORITY: &str =
    "WITH (WAIT_AT_LOW_PRIORITY (MAX_DURATION = 1 MINUTES, ABORT_AFTER_WAIT = SELF))";

/// A table, and the table that its rows are moved to.
#[derive(Clone, Copy, Debug)]
pub struct MovedRows<'a> {
    /// The table, as statements name it.
    pub table: &'a str,
    /// Its shape.
    pub shape: &'a TableShape,
    /// The table that takes the rows, as statements name it.
    pub apart: &'a str,
    /// The partitions that are moved; `None` for all of the table.
    pub numbers: Option<&'a [u64]>,
}

impl MovedRows<'_> {
    /// Moves the rows out, into a table that is made for them. Returns their number. If they were copied, both tables
    /// have them.
    pub fn take_out(&self, session: &mut SqlSession, by_switch: bool) -> Result<u64> {
        let doing = format!("cannot keep the rows of {}", self.table);
        if !by_switch {
            let copied = session.run(&doing, &self.copy_statement())?.count();
            return Ok(copied.unwrap_or(0));
        }
        for statement in self.create_statements() {
            session.run(&doing, &statement)?;
        }
        self.switch(session, &doing, self.table, self.apart)?;
        catalog::rows_told(session, self.apart, None)
    }

    /// The statements that make the table that takes switched rows. The names of its constraints begin with the table's
    /// name, because names of constraints are unique in a schema.
    pub fn create_statements(&self) -> Vec<String> {
        let prefix = sql::parse_names(self.apart).map(|(_, name)| name);
        let prefix = prefix.unwrap_or_default();
        let create = self.shape.create_statement(self.apart);
        let complete = self.shape.complete_statements(self.apart, &prefix, None);
        [create].into_iter().chain(complete).collect()
    }

    /// The statement that copies the rows. The server computes the other columns again when the rows come back.
    pub fn copy_statement(&self) -> String {
        let condition = match (&self.shape.partitioning, self.numbers) {
            (Some(partitioning), Some(numbers)) => in_partitions(partitioning, &listed(numbers)),
            _ => String::new(),
        };
        self.copy_statement_of(&condition)
    }

    /// The statement that copies the rows with this condition.
    pub fn copy_statement_of(&self, condition: &str) -> String {
        format!(
            "SELECT {} INTO {} FROM {}{condition}",
            self.stored_columns(),
            self.apart,
            self.table
        )
    }

    fn stored_columns(&self) -> String {
        let columns = self.shape.columns.iter();
        let stored = columns.filter(|column| !column.is_computed);
        sql::names(stored.map(|column| column.name.as_str()))
    }

    /// Switches the rows from one of the tables into the other.
    fn switch(&self, session: &mut SqlSession, doing: &str, from: &str, to: &str) -> Result<()> {
        let Some(partitioning) = &self.shape.partitioning else {
            return session.run(doing, &switch_statement(from, to)).map(drop);
        };
        let all: Vec<u64> = (1..=partitioning.count).collect();
        for number in self.numbers.unwrap_or(&all) {
            session.run(doing, &switch_partition_statement(from, to, number))?;
        }
        Ok(())
    }

    /// Moves the rows back, and drops the other table. The table, or each moved partition of it, has no other rows.
    pub fn put_back(&self, session: &mut SqlSession, options: &Options, rows: u64) -> Result<()> {
        let doing = format!("cannot put the rows of {} back", self.table);
        let apart = TableShape::read(session, self.apart)?;
        if is_switched(self.shape, options) && apart.is_like(self.shape) {
            self.switch(session, &doing, self.apart, self.table)?;
        } else {
            self.copy_back(session, &doing, rows)?;
        }
        session.run(&doing, &format!("DROP TABLE {}", self.apart))?;
        Ok(())
    }

    fn copy_back(&self, session: &mut SqlSession, doing: &str, rows: u64) -> Result<()> {
        let columns = self.stored_columns();
        let identity = self.shape.columns.iter().any(|column| column.is_identity);
        let insert = Insert {
            sql: format!(
                "INSERT INTO {} WITH (TABLOCK) ({columns}) SELECT {columns} FROM {}",
                self.table, self.apart
            ),
            identity_of: identity.then(|| self.table.to_owned()),
        };
        match insert.run(session, doing)?.count() {
            Some(copied) if copied != rows => Err(Error::Refused {
                doing: doing.to_owned(),
                message: format!(
                    "{} has {}, but {} got {copied} of them",
                    self.apart,
                    counted(rows, "row"),
                    self.table
                ),
                hint: Some("IGNORE_DUP_KEY of an index drops rows".to_owned()),
            }),
            _ => Ok(()),
        }
    }
}

/// True if rows of a table with this shape can be switched into a table that is made for them.
pub fn is_switched(shape: &TableShape, options: &Options) -> bool {
    let names = shape.columns.iter().map(|column| column.name.as_str());
    options.switch && !shape.is_referenced && shape.obstacle(names).is_none()
}

/// The condition for the rows of these partitions.
pub fn in_partitions(partitioning: &Partitioning, numbers: &str) -> String {
    format!(" WHERE {} IN ({numbers})", partitioning.number())
}

/// Numbers, separated by commas.
pub fn listed(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    numbers.join(", ")
}

/// The statement that switches a partition.
pub fn switch_partition_statement(from: &str, to: &str, number: impl Display) -> String {
    format!(
        "ALTER TABLE {from} SWITCH PARTITION {number} TO {to} PARTITION {number} {LOW_PRIORITY}"
    )
}

/// The statement that switches all rows of a table without partitions.
pub fn switch_statement(from: &str, to: &str) -> String {
    format!("ALTER TABLE {from} SWITCH TO {to} {LOW_PRIORITY}")
}
