//! A table of the ledger records what a publish has done to each target, so that a run can be undone.
//!
//! It is made by the first publish that needs it, so a ledger of an earlier version has none, and its runs cannot be
//! undone.

use inrush_destination::changes::{self, Change};
use inrush_destination::{LedgerRow, Result};
use inrush_rows::ids::{RunId, RunKey};

use crate::catalog;
use crate::ledger::AdbcLedger;
use crate::quirks::Quirks;
use crate::session::AdbcSession;
use crate::sql;
use crate::staging;

impl AdbcLedger {
    /// True if the table exists.
    pub fn changes_exist(&self, session: &mut AdbcSession, quirks: &Quirks) -> Result<bool> {
        let (schema, name) = self.name_of("change");
        Ok(catalog::kind(session, quirks, schema, &name)?.is_some())
    }

    /// Records the change of a target, in the transaction of the publish.
    pub fn enter_change(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        target: &str,
        change: &Change,
    ) -> Result<()> {
        let doing = "cannot record a change of a target in the ledger";
        session.run(doing, &self.create_changes())?;
        let values = format!("{run_id}, {}", change.values(target, sql::text));
        session.run(doing, &self.enter_change_statement(&values))?;
        Ok(())
    }

    /// The statement that makes the table.
    pub fn create_changes(&self) -> String {
        format!(
            "CREATE TABLE IF NOT EXISTS {} (run_id BIGINT NOT NULL, target TEXT NOT NULL, what TEXT NOT NULL, \
             rows_before BIGINT NOT NULL, kept TEXT, until_next BIGINT NOT NULL, gone TEXT NOT NULL)",
            self.change
        )
    }

    /// The statement that records a change, with its values.
    pub fn enter_change_statement(&self, values: &str) -> String {
        format!(
            "INSERT INTO {} (run_id, {}) VALUES ({values})",
            self.change,
            Change::COLUMNS
        )
    }

    /// The changes of a run, each with its target.
    pub fn changes(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_id: RunId,
    ) -> Result<Vec<(String, Change)>> {
        if !self.changes_exist(session, quirks)? {
            return Ok(Vec::new());
        }
        let question = format!(
            "SELECT {} FROM {} WHERE run_id = {run_id}",
            Change::COLUMNS,
            self.change
        );
        let rows = session.rows("cannot read the ledger", &question)?;
        let rows = rows.into_iter();
        rows.map(|row| Change::read(&mut LedgerRow::new(&self.change, row)))
            .collect()
    }

    /// Drops the tables that keep rows of a target until the same package replaces it again.
    pub fn drop_kept(
        &self,
        session: &mut AdbcSession,
        quirks: &Quirks,
        run_key: &RunKey,
        target: &str,
    ) -> Result<()> {
        if !self.changes_exist(session, quirks)? {
            return Ok(());
        }
        let doing = "cannot drop the rows that an earlier run of this package kept";
        let condition = self.kept_condition(run_key, target);
        let question = format!("SELECT kept FROM {} WHERE {condition}", self.change);
        let tables = session.rows(doing, &question)?;
        for table in tables.into_iter().flatten().flatten() {
            session.run(doing, &staging::drop_statement(&table))?;
        }
        session.run(doing, &self.forget_kept_statement(run_key, target))?;
        Ok(())
    }

    fn kept_condition(&self, run_key: &RunKey, target: &str) -> String {
        format!(
            "kept IS NOT NULL AND until_next = 1 AND target = {} AND run_id IN (SELECT run_id FROM {} WHERE run_key = {})",
            sql::text(target),
            self.run,
            sql::text(run_key.as_str())
        )
    }

    /// The statement that forgets the tables that [`drop_kept`](AdbcLedger::drop_kept) drops.
    pub fn forget_kept_statement(&self, run_key: &RunKey, target: &str) -> String {
        let condition = self.kept_condition(run_key, target);
        format!("UPDATE {} SET kept = NULL WHERE {condition}", self.change)
    }

    /// Marks a run as undone: earlier runs have the rows again that it had replaced.
    pub fn mark_undone(
        &self,
        session: &mut AdbcSession,
        run_id: RunId,
        changes: &[(String, Change)],
    ) -> Result<()> {
        let doing = "cannot mark the run as undone";
        for (target, change) in changes {
            for (earlier, rows) in &change.gone {
                self.put_back(session, *earlier, target, *rows)?;
            }
        }
        for statement in [
            format!("DELETE FROM {} WHERE run_id = {run_id}", self.change),
            format!("DELETE FROM {} WHERE run_id = {run_id}", self.unit),
            format!(
                "UPDATE {} SET state = 'undone' WHERE run_id = {run_id}",
                self.run
            ),
        ] {
            session.run(doing, &statement)?;
        }
        Ok(())
    }

    /// Notes that a target has the rows of an earlier run again.
    fn put_back(
        &self,
        session: &mut AdbcSession,
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
