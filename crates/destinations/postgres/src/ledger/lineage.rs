//! The lineage of runs: where the columns of their targets come from, in the engine's own text.
//!
//! Its table is not part of the ledger's version: a program that does not know it ignores it, and a run without the
//! privilege to create it is loaded all the same. It has no reference to the table of runs, because that takes a privilege
//! on that table.

use inrush_rows::ids::RunId;

use super::error::LedgerError;
use super::{FoundLineage, Ledger};
use crate::Session;
use crate::quote::qualified;

/// The statement that creates the table.
pub fn lineage_statement(ledger_schema: &str) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (run_id bigint PRIMARY KEY, lineage text NOT NULL)",
        qualified(ledger_schema, "lineage")
    )
}

impl Ledger {
    /// Keeps the lineage of a run, in place of an earlier attempt's.
    pub async fn enter_lineage(
        &self,
        session: &Session,
        run_id: RunId,
        lineage: &str,
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "INSERT INTO {} AS kept (run_id, lineage) VALUES ($1, $2) \
             ON CONFLICT (run_id) DO UPDATE SET lineage = excluded.lineage",
            self.table("lineage")
        );
        session
            .query(
                &sql,
                &[&run_id.number(), &lineage],
                "entering the lineage of the run into the ledger",
            )
            .await?;
        Ok(())
    }

    /// The lineage of a run, if one was kept and the role may read it.
    pub async fn lineage(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Option<String>, LedgerError> {
        match super::find(session, &self.schema).await?.lineage {
            FoundLineage::Writable => {}
            FoundLineage::Missing | FoundLineage::Closed => return Ok(None),
        }
        let sql = format!(
            "SELECT lineage FROM {} WHERE run_id = $1",
            self.table("lineage")
        );
        let rows = session
            .query(
                &sql,
                &[&run_id.number()],
                "reading the lineage of a run in the ledger",
            )
            .await?;
        Ok(rows.first().map(|row| row.get(0)))
    }
}
