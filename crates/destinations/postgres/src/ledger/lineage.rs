//! The lineage of runs: where the columns of their targets come from, in the engine's own text.
//!
//! Its table is not part of the ledger's version: a program that does not know it ignores it, and a run without the
//! privilege to create it is loaded all the same. It has no reference to the table of runs, because that takes a privilege
//! on it.

use inrush_engine::native::ledger::LedgerRun;
use inrush_rows::ids::RunId;

use super::error::LedgerError;
use super::{FoundLineage, Ledger};
use crate::Session;
use crate::quote::qualified;

/// A run, the rows that it loaded into each target, and its lineage.
#[derive(Debug)]
pub struct RunWithLineage {
    /// The run.
    pub run: LedgerRun,
    /// The rows that its units have loaded, by target.
    pub rows: Vec<(String, u64)>,
    /// The text that it was begun with, if one was kept.
    pub lineage: Option<String>,
}

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

    /// The runs that have loaded into these targets or begun to, the newest first.
    pub async fn runs_with_lineage(
        &self,
        session: &Session,
        is_asked: impl Fn(&LedgerRun) -> bool,
    ) -> Result<Vec<RunWithLineage>, LedgerError> {
        let tables = super::find(session, &self.schema).await?;
        let mut found = Vec::new();
        for run in self.all_runs(session).await? {
            if !is_asked(&run) {
                continue;
            }
            let number = run.run_id.number();
            let sql = format!(
                "SELECT u.target, sum(s.rows_loaded)::int8 FROM {} u JOIN {} s USING (run_id, unit_key) \
                 WHERE run_id = $1 GROUP BY u.target",
                self.table("unit"),
                self.table("shard")
            );
            let rows = session
                .query(&sql, &[&number], "counting the rows of a run")
                .await?;
            let rows = rows
                .iter()
                .map(|row| (row.get(0), u64::try_from(row.get::<_, i64>(1)).unwrap_or(0)));
            found.push(RunWithLineage {
                rows: rows.collect(),
                lineage: match tables.lineage {
                    FoundLineage::Writable => self.lineage(session, run.run_id).await?,
                    FoundLineage::Missing | FoundLineage::Closed => None,
                },
                run,
            });
        }
        Ok(found)
    }

    async fn lineage(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Option<String>, LedgerError> {
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
