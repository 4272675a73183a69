//! The lineage of runs: a table beside that of runs, which ledgers of older versions lack.

use std::fmt::Display;

use inrush_destination::Result;
use inrush_rows::ids::RunId;

use crate::catalog;
use crate::ledger::AdbcLedger;
use crate::quirks::Quirks;
use crate::session::AdbcSession;
use crate::sql;

impl AdbcLedger {
    /// True if the table exists.
    pub fn lineage_exists(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
        let (schema, name) = self.name_of("lineage");
        Ok(catalog::kind(session, quirks, schema, &name)?.is_some())
    }

    /// Keeps the lineage of a run in place of an earlier attempt's, in the transaction that enters the run.
    pub fn enter_lineage(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_id: RunId,
        lineage: &str,
    ) -> Result<()> {
        let doing = "cannot enter the lineage of the run into the ledger";
        if !self.lineage_exists(session, quirks)? {
            session.run(doing, &self.create_lineage())?;
        }
        for statement in self.lineage_statements(run_id, &sql::text(lineage)) {
            session.run(doing, &statement)?;
        }
        Ok(())
    }

    /// The statement that makes the table.
    pub fn create_lineage(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, lineage TEXT NOT NULL)",
            self.table("lineage")
        )
    }

    /// The statements that keep a lineage, which is an SQL text here.
    pub fn lineage_statements(&self, run_id: impl Display, lineage: &str) -> [String; 2] {
        let table = self.table("lineage");
        [
            format!("DELETE FROM {table} WHERE run_id = {run_id}"),
            format!("INSERT INTO {table} (run_id, lineage) VALUES ({run_id}, {lineage})"),
        ]
    }

    /// The lineage of a run, if it was kept.
    pub fn lineage(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_id: RunId,
    ) -> Result<Option<String>> {
        if !self.lineage_exists(session, quirks)? {
            return Ok(None);
        }
        let question = format!(
            "SELECT lineage FROM {} WHERE run_id = {run_id}",
            self.table("lineage")
        );
        let rows = session.rows("cannot read the ledger", &question)?;
        Ok(rows.into_iter().flatten().next().flatten())
    }
}
