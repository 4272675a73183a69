//! The table of units.

use std::fmt::Display;

use inrush_rows::ids::{RunId, UnitKey};

use super::{LedgerSession, READING, SqlLedger};
use crate::error::Result;
use crate::ledger_records::UnitRecord;
use crate::ledger_row::LedgerRow;

/// Units that are read at a time: all units of a run may not fit into memory.
const UNITS_AT_A_TIME: usize = 2_000;

impl SqlLedger {
    /// Passes each unit of a run to `see`, in the order of their keys.
    pub fn units(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        see: &mut dyn FnMut(UnitRecord),
    ) -> Result<()> {
        let (select, limit) = self.first_rows(UNITS_AT_A_TIME);
        let mut after = String::new();
        loop {
            let query = format!(
                "{select} unit_key, target, rows_loaded, detail FROM {} WHERE run_id = {run_id} AND unit_key > {} \
                 ORDER BY unit_key{limit}",
                self.unit,
                self.text(&after)
            );
            let rows = session.rows(READING, &query)?;
            let is_last = rows.len() < UNITS_AT_A_TIME;
            for row in rows {
                let mut row = LedgerRow::new(&self.unit, row);
                let unit = UnitRecord {
                    key: UnitKey::new(row.text("unit_key")?),
                    target: row.text("target")?,
                    rows_loaded: row.number("rows_loaded")?,
                    detail: row.text("detail")?,
                };
                unit.key.as_str().clone_into(&mut after);
                see(unit);
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Enters a unit.
    pub fn enter_unit(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        unit: &UnitRecord,
    ) -> Result<()> {
        let statement = self.unit_statement(run_id, unit);
        session.run("cannot enter a unit into the ledger", &statement)
    }

    /// The statement that enters a unit.
    pub fn unit_statement(&self, run_id: RunId, unit: &UnitRecord) -> String {
        self.enter_unit_statement(&format!(
            "{run_id}, {}, {}, {}, {}",
            self.text(unit.key.as_str()),
            self.text(&unit.target),
            unit.rows_loaded,
            self.text(&unit.detail),
        ))
    }

    /// The statement that enters a unit, with its values.
    pub fn enter_unit_statement(&self, values: &str) -> String {
        format!(
            "INSERT INTO {} (run_id, unit_key, target, rows_loaded, detail) VALUES ({values})",
            self.unit
        )
    }

    /// Deletes the units of a target.
    pub fn forget_target(
        &self,
        session: &mut impl LedgerSession,
        run_id: RunId,
        target: &str,
    ) -> Result<()> {
        let statement = self.forget_statement(run_id, target);
        session.run("cannot remove units from the ledger", &statement)
    }

    /// The statement that deletes the units of a target.
    pub fn forget_statement(&self, run_id: impl Display, target: &str) -> String {
        format!(
            "DELETE FROM {} WHERE run_id = {run_id} AND target = {}",
            self.unit,
            self.text(target)
        )
    }
}
