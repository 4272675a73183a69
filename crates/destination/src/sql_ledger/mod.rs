//! The ledger of a destination that is a database: tables of runs, of units, of changes to targets, and of lineage.
//!
//! A destination makes the tables with its own types, runs the statements ([`LedgerSession`]), and describes its SQL
//! ([`LedgerDialect`]). The contents of the tables are the same for all databases. One function writes the text of each
//! statement, so that a plan can print the statements of a run. In a plan, a value may be a placeholder in angle
//! brackets.

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
/// The failed step, in the errors of all queries of the ledger.
pub const READING: &str = "cannot read the ledger";

/// A session that a ledger is read and written with.
pub trait LedgerSession {
    /// The name of a staging table, as it is stored in the ledger.
    type StagingName: Serialize + DeserializeOwned;

    /// Runs a statement. `doing` is the beginning of its error.
    fn run(&mut self, doing: &str, statement: &str) -> Result<()>;

    /// Runs a query with few rows, and returns their values as text.
    fn rows(&mut self, doing: &str, query: &str) -> Result<Vec<Vec<Option<String>>>>;
}

/// The parts of the ledger's statements that differ between databases. A hint follows the name of a table and begins
/// with a blank. It is empty if the database needs no hint.
#[derive(Clone, Copy, Debug)]
pub struct LedgerDialect {
    /// Writes a text as a literal.
    pub text: fn(&str) -> String,
    /// The hint that leaves out rows which another session is changing. Without it the query waits for them, unless the
    /// database has row versions.
    pub passes_locked: &'static str,
    /// The hint that reads rows whether they are committed or not.
    pub reads_uncommitted: &'static str,
    /// The hint that locks the row of a run until the transaction ends.
    pub holds_row: &'static str,
    /// The clause at the end of a query that locks the row of a run, in databases without such a hint.
    pub holds_row_at_end: &'static str,
    /// True for `SELECT TOP (n)`, false for `LIMIT n`.
    pub has_top: bool,
    /// True if the transaction that marks a run as switched has already removed its staging tables.
    pub switch_ends_staging: bool,
    /// Columns of the table of changes that only this database has, each with a comma before it.
    pub own_change_columns: &'static str,
}

/// The tables of a ledger, quoted.
#[derive(Clone, Debug)]
pub struct SqlLedger {
    /// The table of runs.
    pub run: String,
    /// The table of units.
    pub unit: String,
    /// The table of the changes that runs made to their targets. Ledgers of older versions lack it.
    pub change: String,
    /// The table of the runs' lineage. Ledgers of older versions lack it.
    pub lineage: String,
    /// How its SQL is written.
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
