//! The tables of the ledger in this database: their names, and the statements that make them. Their contents are the same for
//! all databases ([`SqlLedger`]).

use std::fmt::Display;
use std::ops::Deref;

use inrush_destination::Result;
use inrush_destination::changes::Change;
use inrush_destination::sql_ledger::{self, LedgerDialect, LedgerSession, SqlLedger};
use inrush_rows::ids::{RunId, RunKey};

use crate::catalog;
use crate::quirks::Quirks;
use crate::session::AdbcSession;
use crate::sql;

/// A row of the table of runs. Staging tables have a schema and a name.
pub type StoredRun = sql_ledger::StoredRun<<AdbcSession as LedgerSession>::StagingName>;

/// The ledger.
#[derive(Clone, Debug)]
pub struct AdbcLedger {
    schema: Option<String>,
    prefix: &'static str,
    tables: SqlLedger,
}

impl Deref for AdbcLedger {
    type Target = SqlLedger;

    fn deref(&self) -> &SqlLedger {
        &self.tables
    }
}

impl LedgerSession for AdbcSession {
    type StagingName = (Option<String>, String);

    fn run(&mut self, doing: &str, statement: &str) -> Result<()> {
        AdbcSession::run(self, doing, statement).map(|_| ())
    }

    fn rows(&mut self, doing: &str, query: &str) -> Result<Vec<Vec<Option<String>>>> {
        AdbcSession::rows(self, doing, query)
    }
}

impl AdbcLedger {
    /// The ledger in this schema, if the database has schemas.
    pub fn new(quirks: &Quirks, schema: &str) -> AdbcLedger {
        let prefix = quirks.ledger_prefix;
        let schema = quirks.has_schemas().then(|| schema.to_owned());
        let table = |name: &str| quoted(schema.as_deref(), prefix, name);
        AdbcLedger {
            tables: SqlLedger {
                run: table("run"),
                unit: table("unit"),
                change: table("change"),
                lineage: table("lineage"),
                dialect: LedgerDialect {
                    text: sql::text,
                    passes_locked: "",
                    reads_uncommitted: "",
                    holds_row: "",
                    holds_row_at_end: quirks.hold_row,
                    has_top: false,
                    switch_ends_staging: false,
                    own_change_columns: "",
                },
            },
            prefix,
            schema,
        }
    }

    /// The quoted name of a table in the ledger's schema.
    pub fn table(&self, name: &str) -> String {
        quoted(self.schema.as_deref(), self.prefix, name)
    }

    /// Schema and name of a table in the ledger's schema.
    pub(crate) fn name_of(&self, name: &str) -> (Option<&str>, String) {
        (self.schema.as_deref(), format!("{}{name}", self.prefix))
    }

    fn has_table(&self, session: &mut AdbcSession, quirks: &Quirks, name: &str) -> Result<bool> {
        let (schema, name) = self.name_of(name);
        Ok(catalog::kind(session, quirks, schema, &name)?.is_some())
    }

    /// True if it exists.
    pub fn exists(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
        self.has_table(session, quirks, "run")
    }

    /// Creates it if it does not exist.
    pub fn create(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<()> {
        if self.exists(session, quirks)? {
            return Ok(());
        }
        let doing = "cannot create the ledger";
        let has_schema = self.schema_exists(session)?;
        let schema = self.create_schema().filter(|_| !has_schema);
        for statement in schema.into_iter().chain(self.create_tables()) {
            session.run(doing, &statement)?;
        }
        Ok(())
    }

    /// The statement that makes its schema, if the database has schemas.
    pub fn create_schema(&self) -> Option<String> {
        let schema = self.schema.as_deref()?;
        Some(format!("CREATE SCHEMA {}", sql::identifier(schema)))
    }

    /// The statements that make its tables. The table of runs is created last: if it exists, both tables exist.
    pub fn create_tables(&self) -> [String; 2] {
        let unit = format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, unit_key TEXT NOT NULL, \
             target TEXT NOT NULL, rows_loaded BIGINT NOT NULL, detail TEXT NOT NULL)",
            self.unit
        );
        let run = format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, version BIGINT NOT NULL, \
             name TEXT NOT NULL, run_key TEXT NOT NULL, package TEXT NOT NULL, \
             package_hash TEXT NOT NULL, holder TEXT NOT NULL, epoch BIGINT NOT NULL, \
             state TEXT NOT NULL, started_at BIGINT NOT NULL, switched_at BIGINT, \
             targets TEXT NOT NULL, staging TEXT NOT NULL, loaded TEXT NOT NULL)",
            self.run
        );
        [unit, run]
    }

    /// True if its schema exists, or the database has no schemas.
    pub fn schema_exists(&self, session: &mut AdbcSession) -> Result<bool> {
        match &self.schema {
            Some(schema) => catalog::schema_exists(session, schema),
            None => Ok(true),
        }
    }

    /// The statement with which transactions that take the next run number wait for each other, if the database has one.
    pub fn lock_statement(&self, quirks: &Quirks) -> Option<String> {
        let lock = quirks.lock_table?;
        Some(format!("LOCK TABLE {} {lock}", self.run))
    }

    /// The table that keeps the replaced rows of the target with the index `place`, until the package replaces its rows
    /// again.
    pub fn kept_table(&self, run_id: impl Display, place: usize) -> String {
        self.table(&format!("kept_{run_id}_{}", place + 1))
    }

    /// The statement that makes the table of changes. The first publish that needs it makes it.
    pub fn create_changes(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, target TEXT NOT NULL, what TEXT NOT NULL, \
             rows_before BIGINT NOT NULL, kept TEXT, until_next BIGINT NOT NULL, gone TEXT NOT NULL)",
            self.change
        )
    }

    /// Records the change of a target, in the transaction of the publish.
    pub fn enter_change(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        target: &str,
        change: &Change,
    ) -> Result<()> {
        session.run(sql_ledger::changes::ENTERING, &self.create_changes())?;
        self.tables
            .enter_change(session, run_id, target, change, "")
    }

    /// The changes of a run, each with its target.
    pub fn changes(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_id: RunId,
    ) -> Result<Vec<(String, Change)>> {
        match self.has_table(session, quirks, "change")? {
            true => self.tables.changes(session, run_id, Change::read),
            false => Ok(Vec::new()),
        }
    }

    /// Drops the tables that keep rows of a target until the same package replaces it again.
    pub fn drop_kept(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_key: &RunKey,
        target: &str,
    ) -> Result<()> {
        match self.has_table(session, quirks, "change")? {
            true => self.tables.drop_kept(session, run_key, target),
            false => Ok(()),
        }
    }

    /// True if the table of lineage exists.
    pub fn lineage_exists(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
        self.has_table(session, quirks, "lineage")
    }

    /// The statement that makes the table of lineage.
    pub fn create_lineage(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, lineage TEXT NOT NULL)",
            self.lineage
        )
    }

    /// Keeps the lineage of a run in place of an earlier attempt's, in the transaction that enters the run.
    pub fn enter_lineage(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_id: RunId,
        lineage: &str,
    ) -> Result<()> {
        let is_missing = !self.lineage_exists(session, quirks)?;
        let create = is_missing.then(|| self.create_lineage());
        self.tables.enter_lineage(session, run_id, lineage, create)
    }

    /// The lineage of a run, if it was kept.
    pub fn lineage(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_id: RunId,
    ) -> Result<Option<String>> {
        match self.lineage_exists(session, quirks)? {
            true => self.tables.lineage(session, run_id),
            false => Ok(None),
        }
    }
}

fn quoted(schema: Option<&str>, prefix: &str, name: &str) -> String {
    let name = sql::identifier(&format!("{prefix}{name}"));
    match schema {
        Some(schema) => format!("{}.{name}", sql::identifier(schema)),
        None => name,
    }
}
