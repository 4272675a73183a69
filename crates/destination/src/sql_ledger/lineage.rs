//! The table of lineage. Ledgers of older versions lack it.

use std::fmt::Display;

use inrush_rows::ids::RunId;

use super::{LedgerSession, READING, SqlLedger};
use crate::error::Result;

impl SqlLedger {
    /// Stores the lineage of a run, in the transaction that enters the run. It replaces the lineage of an earlier
    /// attempt. `create` makes the table, if it is missing.
    pub fn enter_lineage(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        lineage: &str,
        create: Option<String>,
    ) -> Result<()> {
        let keep = self.lineage_statements(run_id, &self.text(lineage));
        for statement in create.into_iter().chain(keep) {
            session.run(
                "cannot enter the lineage of the run into the ledger",
                &statement,
            )?;
        }
        Ok(())
    }

    /// The statements that keep the lineage of a run. `lineage` is a literal.
    pub fn lineage_statements(&self, run_id: impl Display, lineage: &str) -> [String; 2] {
        let table = &self.lineage;
        [
            format!("DELETE FROM {table} WHERE run_id = {run_id}"),
            format!("INSERT INTO {table} (run_id, lineage) VALUES ({run_id}, {lineage})"),
        ]
    }

    /// The lineage of a run, if it was kept. The table exists.
    pub fn lineage(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
    ) -> Result<Option<String>> {
        let query = format!(
            "SELECT lineage FROM {} WHERE run_id = {run_id}",
            self.lineage
        );
        let rows = session.rows(READING, &query)?;
        Ok(rows.into_iter().flatten().next().flatten())
    }
}
