//! A table of the ledger records what the switch did to each target, so that a run can be undone. Ledgers of older versions lack it
//! until a run begins, and their runs cannot be undone.

use inrush_destination::changes::{self, Change};
use inrush_destination::{LedgerRow, Result};
use inrush_rows::ids::{RunId, RunKey};
use serde::{Deserialize, Serialize};

use crate::connection::SqlSession;
use crate::ledger::{COLLATION, Ledger, READING, json};
use crate::sql;

/// The name of the table.
pub const CHANGE: &str = "change";
const ENTERING: &str = "cannot record a change of a target in the ledger";

/// The change of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetChange {
    /// What all destinations record.
    pub change: Change,
    /// The partitions that were changed; `None` if the whole table was.
    pub partitions: Option<ChangedPartitions>,
}

/// The partitions of a target that got rows of a run, and had none before or lost them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPartitions {
    /// Their numbers, and the rows that each got.
    pub rows: Vec<(u64, u64)>,
    /// [`Partitioning::changed_at`](crate::partitions::Partitioning::changed_at): a later change of the function may have given the
    /// partitions other numbers.
    pub function_changed_at: String,
}

impl ChangedPartitions {
    /// True if one of the partitions is among the others.
    pub fn overlaps(&self, other: &ChangedPartitions) -> bool {
        let is_other = |number: &u64| other.rows.iter().any(|(own, _)| own == number);
        self.rows.iter().any(|(number, _)| is_other(number))
    }
}

impl Ledger {
    /// The statement that creates the table, if it does not exist.
    pub fn create_changes_statement(&self, session: &mut SqlSession) -> Result<Option<String>> {
        let columns = format!(
            "run_id bigint NOT NULL, target nvarchar(max) {COLLATION} NOT NULL, what nvarchar(20) {COLLATION} NOT NULL, \
             rows_before bigint NOT NULL, kept nvarchar(max) {COLLATION} NULL, until_next bigint NOT NULL, gone nvarchar(max) \
             {COLLATION} NOT NULL, partitions nvarchar(max) {COLLATION} NOT NULL"
        );
        self.create_table_statement(session, CHANGE, &columns)
    }

    /// Records the change of a target, in the transaction of the switch.
    pub fn enter_change(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
        target: &str,
        change: &TargetChange,
    ) -> Result<()> {
        let TargetChange { change, partitions } = change;
        let values = change.values(target, sql::text);
        let values = format!("{run_id}, {values}, {}", sql::text(&json(partitions)));
        session.run(ENTERING, &self.enter_change_statement(&values))?;
        Ok(())
    }

    /// The statement that records a change, with its values.
    pub fn enter_change_statement(&self, values: &str) -> String {
        format!(
            "INSERT INTO {} (run_id, {}, partitions) VALUES ({values})",
            self.change,
            Change::COLUMNS
        )
    }

    /// The changes of a run, each with its target.
    pub fn changes(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
    ) -> Result<Vec<(String, TargetChange)>> {
        if !self.has_table(session, CHANGE)? {
            return Ok(Vec::new());
        }
        let question = format!(
            "SELECT {}, partitions FROM {} WHERE run_id = {run_id}",
            Change::COLUMNS,
            self.change
        );
        let rows = session.rows(READING, &question)?;
        let parse = |row| {
            let mut row = LedgerRow::new(&self.change, row);
            let (target, change) = Change::read(&mut row)?;
            let partitions = row.json("partitions")?;
            Ok((target, TargetChange { change, partitions }))
        };
        rows.into_iter().map(parse).collect()
    }

    /// Drops the tables that keep rows of a target until the same package replaces it again.
    pub fn drop_kept(
        &self,
        session: &mut SqlSession,
        run_key: &RunKey,
        target: &str,
    ) -> Result<()> {
        let doing = "cannot drop the rows that an earlier run of this package kept";
        let condition = self.kept_condition(run_key, target);
        let question = format!("SELECT kept FROM {} WHERE {condition}", self.change);
        let tables = session.rows(doing, &question)?;
        let tables: Vec<String> = tables.into_iter().flatten().flatten().collect();
        if tables.is_empty() {
            return Ok(());
        }
        for table in tables {
            session.run(doing, &drop_kept_statement(&table))?;
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

    /// The statement that forgets the tables that [`drop_kept`](Ledger::drop_kept) drops.
    pub fn forget_kept_statement(&self, run_key: &RunKey, target: &str) -> String {
        let condition = self.kept_condition(run_key, target);
        format!("UPDATE {} SET kept = NULL WHERE {condition}", self.change)
    }

    /// Marks a run as undone: earlier runs have the rows again that it had replaced.
    pub fn mark_undone(
        &self,
        session: &mut SqlSession,
        run_id: RunId,
        changes: &[(String, TargetChange)],
    ) -> Result<()> {
        for (target, TargetChange { change, .. }) in changes {
            for (earlier, rows) in &change.gone {
                self.mark_back(session, *earlier, target, *rows)?;
            }
        }
        for statement in [
            format!("DELETE FROM {} WHERE run_id = {run_id}", self.change),
            format!("DELETE FROM {} WHERE run_id = {run_id}", self.unit),
            format!(
                "UPDATE {} SET state = N'undone' WHERE run_id = {run_id}",
                self.run
            ),
        ] {
            session.run("cannot mark the run as undone", &statement)?;
        }
        Ok(())
    }

    /// Notes that a target has the rows of an earlier run again.
    fn mark_back(
        &self,
        session: &mut SqlSession,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_overlap_by_their_numbers() {
        let of = |numbers: &[u64]| ChangedPartitions {
            rows: numbers.iter().map(|number| (*number, 1)).collect(),
            function_changed_at: String::new(),
        };
        for (one, other, overlaps) in [
            (&[1, 2][..], &[3][..], false),
            (&[1, 2], &[2, 3], true),
            (&[], &[1], false),
        ] {
            assert_eq!(of(one).overlaps(&of(other)), overlaps);
        }
    }
}
