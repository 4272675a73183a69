//! The ledger of a destination that is a database: tables of runs, of units, of changes to targets, and of lineage.
//!
//! A destination makes the tables, with types of its own, and has a session that runs statements ([`LedgerSession`]) and the
//! differences of its SQL ([`LedgerDialect`]). What is written into the tables, and read from them, is the same for all. The
//! text of each statement comes from one function, so that a plan can print what a run performs: a value there may be words in
//! angle brackets.

pub mod changes;
mod lineage;
mod runs;
mod units;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use self::runs::StoredRun;
use crate::error::Result;

/// The version of the ledger's format, stored in each run.
const VERSION: u64 = 1;
/// The step of all questions to the ledger, for errors.
pub const READING: &str = "cannot read the ledger";

/// A session that a ledger is read and written with.
pub trait LedgerSession {
    /// The name of a staging table, as the ledger keeps it.
    type StagingName: Serialize + DeserializeOwned;

    /// Runs a statement. `doing` says for an error what cannot be done.
    fn run(&mut self, doing: &str, statement: &str) -> Result<()>;

    /// Runs a query with few rows, and returns their values as text.
    fn rows(&mut self, doing: &str, query: &str) -> Result<Vec<Vec<Option<String>>>>;
}

/// The differences between databases, as far as a ledger needs them. Hints begin with a blank.
#[derive(Clone, Copy, Debug)]
pub struct LedgerDialect {
    /// Writes a text as a literal.
    pub text: fn(&str) -> String,
    /// The hint after the name of a table that leaves out rows which another session is changing. Without it the query waits
    /// for them, or the database has other means.
    pub passes_locked: &'static str,
    /// The hint after the name of a table that reads rows as they are, committed or not.
    pub reads_uncommitted: &'static str,
    /// The hint after the name of a table that holds the row of a run until the transaction ends.
    pub holds_row: &'static str,
    /// The clause at the end of a query that does the same.
    pub holds_row_at_end: &'static str,
    /// `SELECT TOP (n)` returns the first rows of a query; else `LIMIT n` does.
    pub has_top: bool,
    /// The transaction that marks a run as switched has also removed its staging tables.
    pub switch_ends_staging: bool,
    /// Columns of the table of changes that only this database has: separated by commas, and with one before.
    pub own_change_columns: &'static str,
}

/// The tables of a ledger, quoted.
#[derive(Clone, Debug)]
pub struct SqlLedger {
    /// The table of runs.
    pub run: String,
    /// The table of units.
    pub unit: String,
    /// The table of what runs did to their targets. Ledgers of older versions lack it.
    pub change: String,
    /// The table of the runs' lineage. Ledgers of older versions lack it.
    pub lineage: String,
    /// The database's SQL.
    pub dialect: LedgerDialect,
}

impl SqlLedger {
    /// A text as a literal.
    fn text(&self, text: &str) -> String {
        (self.dialect.text)(text)
    }

    /// The beginning and the end of a query for the first `count` rows.
    fn first_rows(&self, count: usize) -> (String, String) {
        match self.dialect.has_top {
            true => (format!("SELECT TOP ({count})"), String::new()),
            false => ("SELECT".to_owned(), format!(" LIMIT {count}")),
        }
    }
}

/// A value of the ledger as JSON.
pub fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("names and numbers are written as JSON")
}
