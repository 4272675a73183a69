//! A table of the ledger records what the switch did to each target, so that a run can be undone. Ledgers of older versions lack it
//! until a run begins, and their runs cannot be undone.

use inrush_destination::Result;
use inrush_destination::changes::Change;
use inrush_destination::sql_ledger::{SqlLedger, json};
use inrush_rows::ids::RunId;
use serde::{Deserialize, Serialize};

use crate::connection::SqlSession;
use crate::ledger::{COLLATION, Ledger};
use crate::sql;

/// The name of the table.
pub const CHANGE: &str = "change";

/// The change of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetChange {
    /// The part that all destinations record.
    pub change: Change,
    /// The partitions that were changed; `None` if the whole table was.
    pub partitions: Option<ChangedPartitions>,
}

/// The partitions of a target that got rows of a run. Each was empty before, or has lost its earlier rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPartitions {
    /// Their numbers, and the rows that each got.
    pub rows: Vec<(u64, u64)>,
    /// The value of [`Partitioning::changed_at`](crate::partitions::Partitioning::changed_at) at that time. If it is
    /// different later, the function was changed, and the partitions may have got other numbers.
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
        let own = format!(", {}", sql::text(&json(partitions)));
        SqlLedger::enter_change(self, session, run_id, target, change, &own)
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
        SqlLedger::changes(self, session, run_id, |row| {
            let (target, change) = Change::read(row)?;
            let partitions = row.json("partitions")?;
            Ok((target, TargetChange { change, partitions }))
        })
    }
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
