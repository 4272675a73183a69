//! The table of changes records what a publish has done to each target, so that a run can be undone. Ledgers of older
//! versions lack it, and their runs cannot be undone.

use inrush_rows::ids::{RunId, RunKey};

use super::{LedgerSession, READING, SqlLedger};
use crate::changes::{self, Change};
use crate::error::Result;
use crate::ledger_row::LedgerRow;

/// The failed step, in the errors of recording a change.
pub const ENTERING: &str = "cannot record a change of a target in the ledger";

impl SqlLedger {
    /// Records the change of a target, in the transaction of the publish. `own` are the values of the columns that only
    /// this database has, with a comma before each.
    pub fn enter_change(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        target: &str,
        change: &Change,
        own: &str,
    ) -> Result<()> {
        let values = change.values(target, self.dialect.text);
        let statement = self.enter_change_statement(&format!("{run_id}, {values}{own}"));
        session.run(ENTERING, &statement)
    }

    /// The statement that records a change, with its values.
    pub fn enter_change_statement(&self, values: &str) -> String {
        format!(
            "INSERT INTO {} (run_id, {}{}) VALUES ({values})",
            self.change,
            Change::COLUMNS,
            self.dialect.own_change_columns
        )
    }

    /// The changes of a run, each with its target. `read` reads the change from a row; the columns that only this
    /// database has come last. The table exists.
    pub fn changes<C>(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        read: impl Fn(&mut LedgerRow<'_>) -> Result<(String, C)>,
    ) -> Result<Vec<(String, C)>> {
        let query = format!(
            "SELECT {}{} FROM {} WHERE run_id = {run_id}",
            Change::COLUMNS,
            self.dialect.own_change_columns,
            self.change
        );
        let rows = session.rows(READING, &query)?.into_iter();
        rows.map(|row| read(&mut LedgerRow::new(&self.change, row)))
            .collect()
    }

    /// Drops the tables that keep rows of a target until the same package replaces it again. The table of changes
    /// exists.
    pub fn drop_kept(
        &self,
        session: &mut impl LedgerSession,
        run_key: &RunKey,
        target: &str,
    ) -> Result<()> {
        let doing = "cannot drop the rows that an earlier run of this package kept";
        let condition = self.kept_condition(run_key, target);
        let query = format!("SELECT kept FROM {} WHERE {condition}", self.change);
        let tables = session.rows(doing, &query)?;
        let tables: Vec<String> = tables.into_iter().flatten().flatten().collect();
        if tables.is_empty() {
            return Ok(());
        }
        for table in tables {
            session.run(doing, &drop_kept_statement(&table))?;
        }
        session.run(doing, &self.forget_kept_statement(run_key, target))
    }

    fn kept_condition(&self, run_key: &RunKey, target: &str) -> String {
        format!(
            "kept IS NOT NULL AND until_next = 1 AND target = {} AND run_id IN (SELECT run_id FROM {} WHERE run_key = {})",
            self.text(target),
            self.run,
            self.text(run_key.as_str())
        )
    }

    /// The statement that forgets the tables that [`drop_kept`](SqlLedger::drop_kept) drops.
    pub fn forget_kept_statement(&self, run_key: &RunKey, target: &str) -> String {
        let condition = self.kept_condition(run_key, target);
        format!("UPDATE {} SET kept = NULL WHERE {condition}", self.change)
    }

    /// Marks a run as undone. Earlier runs get back the rows that it had replaced.
    pub fn mark_undone<'a>(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        changes: impl IntoIterator<Item = (&'a str, &'a Change)>,
    ) -> Result<()> {
        for (target, change) in changes {
            for (earlier, rows) in &change.gone {
                self.put_back(session, *earlier, target, *rows)?;
            }
        }
        for statement in [
            format!("DELETE FROM {} WHERE run_id = {run_id}", self.change),
            format!("DELETE FROM {} WHERE run_id = {run_id}", self.unit),
            format!(
                "UPDATE {} SET state = {} WHERE run_id = {run_id}",
                self.run,
                self.text("undone")
            ),
        ] {
            session.run("cannot mark the run as undone", &statement)?;
        }
        Ok(())
    }

    /// Notes that a target has the rows of an earlier run again.
    fn put_back(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        target: &str,
        rows: u64,
    ) -> Result<()> {
        let Some(stored) = self.run(session, run_id)? else {
            return Ok(());
        };
        let mut loaded = stored.loaded;
        changes::put_back(&mut loaded, &stored.record.targets, target, rows);
        self.set_loaded(session, run_id, &loaded)
    }
}

/// The statement that drops a table with kept rows.
pub fn drop_kept_statement(kept: &str) -> String {
    format!("DROP TABLE IF EXISTS {kept}")
}
