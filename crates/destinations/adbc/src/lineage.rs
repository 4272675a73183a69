//! The lineage of runs: a table beside that of runs, which ledgers of older versions lack.

use inrush_destination::Result;
use inrush_rows::ids::RunId;

use crate::catalog;
use crate::ledger::AdbcLedger;
use crate::quirks::Quirks;
use crate::session::AdbcSession;
use crate::sql;

impl AdbcLedger {
    fn lineage_exists(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
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
        let table = self.table("lineage");
        if !self.lineage_exists(session, quirks)? {
            let made = format!(
                "CREATE TABLE IF NOT EXISTS {table} (run_id BIGINT NOT NULL, lineage TEXT NOT NULL)"
            );
            session.run(doing, &made)?;
        }
        session.run(
            doing,
            &format!("DELETE FROM {table} WHERE run_id = {run_id}"),
        )?;
        let statement = format!(
            "INSERT INTO {table} (run_id, lineage) VALUES ({run_id}, {})",
            sql::text(lineage)
        );
        session.run(doing, &statement)?;
        Ok(())
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
