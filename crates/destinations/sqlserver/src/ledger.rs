//! The tables of the ledger in SQL Server, in a schema of their own. Their contents are the same for all databases
//! ([`SqlLedger`]).
//!
//! Texts have a binary collation, so keys that differ only in case are different keys. Each table has a clustered
//! primary key, so that a session locks the row of its run and no other.

use std::fmt::Display;
use std::ops::Deref;

use inrush_destination::Result;
use inrush_destination::sql_ledger::{self, LedgerDialect, LedgerSession, READING, SqlLedger};
use inrush_rows::ids::{RunId, RunKey};

use crate::catalog;
use crate::changes::CHANGE;
use crate::connection::SqlSession;
use crate::sql;

/// Compares texts by their code points, not by the rules of a language. The server still ignores blanks at their ends.
pub const COLLATION: &str = "COLLATE Latin1_General_BIN2";
/// Leaves out rows that another session is changing, because waiting for them could take as long as that session lives.
/// READPAST alone is refused (error 650) in a database whose READ_COMMITTED_SNAPSHOT is on, so READCOMMITTEDLOCK is
/// needed, too.
const PASSES_LOCKED: &str = " WITH (READCOMMITTEDLOCK, READPAST)";
/// The name of the table of lineage.
const LINEAGE: &str = "lineage";

/// A row of the table of runs. Staging tables have a schema and a name.
pub type StoredRun = sql_ledger::StoredRun<<SqlSession as LedgerSession>::StagingName>;

/// The ledger's schema and tables.
#[derive(Clone, Debug)]
pub struct Ledger {
    schema: String,
    tables: SqlLedger,
}

impl Deref for Ledger {
    type Target = SqlLedger;

    fn deref(&self) -> &SqlLedger {
        &self.tables
    }
}

impl LedgerSession for SqlSession {
    type StagingName = (String, String);

    fn run(&mut self, doing: &str, statement: &str) -> Result<()> {
        SqlSession::run(self, doing, statement).map(|_| ())
    }

    fn rows(&mut self, doing: &str, query: &str) -> Result<Vec<Vec<Option<String>>>> {
        SqlSession::rows(self, doing, query)
    }
}

impl Ledger {
    /// The ledger in this schema.
    pub fn new(schema: &str) -> Ledger {
        Ledger {
            tables: SqlLedger {
                run: sql::table(schema, "run"),
                unit: sql::table(schema, "unit"),
                change: sql::table(schema, CHANGE),
                lineage: sql::table(schema, LINEAGE),
                dialect: LedgerDialect {
                    text: sql::text,
                    passes_locked: PASSES_LOCKED,
                    reads_uncommitted: " WITH (NOLOCK)",
                    // Streams share the row's lock; a process that takes over the run waits for their transactions.
                    holds_row: " WITH (REPEATABLEREAD)",
                    holds_row_at_end: "",
                    has_top: true,
                    switch_ends_staging: true,
                    own_change_columns: ", partitions",
                },
            },
            schema: schema.to_owned(),
        }
    }

    /// The schema of its tables.
    pub fn schema(&self) -> &str {
        &self.schema
    }

    /// True if the ledger exists.
    pub fn exists(&self, session: &mut SqlSession) -> Result<bool> {
        self.has_table(session, "run")
    }

    /// True if the ledger has this table.
    pub fn has_table(&self, session: &mut SqlSession, name: &str) -> Result<bool> {
        Ok(catalog::entry(session, &self.schema, name)?.is_some())
    }

    /// The statement that creates a table of the ledger; `None` if the table exists. Ledgers of older versions lack
    /// some tables.
    pub fn create_table_statement(
        &self,
        session: &mut SqlSession,
        name: &str,
        columns: &str,
    ) -> Result<Option<String>> {
        let table = sql::table(&self.schema, name);
        let is_missing = !self.has_table(session, name)?;
        Ok(is_missing.then(|| format!("CREATE TABLE {table} ({columns})")))
    }

    /// The table that keeps the rows of a target that a run replaced, until the package replaces the target again.
    /// `place` is the target's index in the run.
    pub fn kept_table(&self, run_id: impl Display, place: usize) -> String {
        sql::table(&self.schema, &format!("kept_{run_id}_{}", place + 1))
    }

    /// The table that keeps the rows that an undo takes out of a target. `place` is the target's index in the run.
    pub fn undone_table(&self, run_id: RunId, place: usize) -> String {
        sql::table(&self.schema, &format!("undone_{run_id}_{}", place + 1))
    }

    /// Creates the ledger if it does not exist. The session must hold the lock under which runs are entered
    /// (`lock::take_ledger`), so that no other process creates the ledger at the same time.
    pub fn create(&self, session: &mut SqlSession) -> Result<()> {
        let mut statements = self.create_statements(session)?;
        statements.extend(self.create_changes_statement(session)?);
        for statement in statements {
            session.run("cannot create the ledger", &statement)?;
        }
        Ok(())
    }

    /// The batches that create the ledger, except the tables of changes and of lineage; none if it exists.
    pub fn create_statements(&self, session: &mut SqlSession) -> Result<Vec<String>> {
        if self.exists(session)? {
            return Ok(Vec::new());
        }
        let mut statements = Vec::new();
        if catalog::schema(session, &self.schema)?.is_none() {
            // CREATE SCHEMA must be alone in its batch.
            statements.push(format!("CREATE SCHEMA {}", sql::identifier(&self.schema)));
        }
        let unit = format!(
            "CREATE TABLE {} (run_id bigint NOT NULL, unit_key nvarchar(200) {COLLATION} NOT NULL, target nvarchar(max) \
             {COLLATION} NOT NULL, rows_loaded bigint NOT NULL, detail nvarchar(max) {COLLATION} NOT NULL, PRIMARY KEY \
             CLUSTERED (run_id, unit_key))",
            self.unit
        );
        let run = format!(
            "CREATE TABLE {} (run_id bigint NOT NULL PRIMARY KEY CLUSTERED, version bigint NOT NULL, name nvarchar(400) \
             {COLLATION} NOT NULL, run_key nvarchar(200) {COLLATION} NOT NULL, package nvarchar(max) {COLLATION} NOT NULL, \
             package_hash nvarchar(200) {COLLATION} NOT NULL, holder nvarchar(max) {COLLATION} NOT NULL, epoch bigint NOT \
             NULL, state nvarchar(20) {COLLATION} NOT NULL, started_at bigint NOT NULL, switched_at bigint NULL, targets \
             nvarchar(max) {COLLATION} NOT NULL, staging nvarchar(max) {COLLATION} NOT NULL, loaded nvarchar(max) {COLLATION} \
             NOT NULL)",
            self.run
        );
        statements.extend([unit, run]);
        Ok(statements)
    }

    /// The holders of runs that are loading, or whose rows another session is changing now. With a run key, only the
    /// runs with this key count. Uncommitted rows are read, so that this never waits.
    pub fn holders(
        &self,
        session: &mut SqlSession,
        run_key: Option<&RunKey>,
    ) -> Result<Vec<String>> {
        let of_key = match run_key {
            Some(key) => format!("run_key = {} AND ", sql::text(key.as_str())),
            None => String::new(),
        };
        let question = format!(
            "SELECT holder FROM {} WITH (NOLOCK) WHERE {of_key}(state = N'loading' OR run_id NOT IN (SELECT run_id FROM {}{PASSES_LOCKED})) ORDER BY run_id DESC",
            self.run, self.run
        );
        let rows = session.rows(READING, &question)?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    /// The statement that creates the table of lineage; `None` if the table exists.
    pub fn create_lineage_statement(&self, session: &mut SqlSession) -> Result<Option<String>> {
        let columns = format!(
            "run_id bigint NOT NULL PRIMARY KEY CLUSTERED, lineage nvarchar(max) {COLLATION} NOT NULL"
        );
        self.create_table_statement(session, LINEAGE, &columns)
    }

    /// Writes the lineage of a run, and replaces that of an earlier attempt. Called in the transaction that enters the
    /// run.
    pub fn enter_lineage(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
        lineage: &str,
    ) -> Result<()> {
        let create = self.create_lineage_statement(session)?;
        self.tables.enter_lineage(session, run_id, lineage, create)
    }

    /// The lineage of a run, if it was kept.
    pub fn lineage(&self, session: &mut SqlSession, run_id: RunId) -> Result<Option<String>> {
        match self.has_table(session, LINEAGE)? {
            true => self.tables.lineage(session, run_id),
            false => Ok(None),
        }
    }
}
