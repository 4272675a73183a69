//! The units of a run as the ledger has them: for the check before the switch, and for the report.

use std::time::Duration;

use inrush_engine::error::Error;
use inrush_engine::native::plan::UnitPlace;
use inrush_engine::native::run::{CommittedUnits, CountedUnit, Gathering, KeptUnit};
use inrush_rows::ids::UnitKey;

use super::context::Context;
use super::prepared::PostgresRun;
use crate::ledger::{LedgerError, UnitAccounts, UnitRow};

/// The longest wait for the ledger at the end.
const LEDGER_TIMEOUT: Duration = Duration::from_secs(5);

/// Units, with the sums over their splits.
pub struct LedgerUnits {
    /// The units, in the order of their keys.
    units: Vec<UnitRow>,
    /// The accounts of their splits.
    pub accounts: UnitAccounts,
}

impl LedgerUnits {
    async fn read(run: &PostgresRun) -> Result<LedgerUnits, LedgerError> {
        let run_id = run.fence.run_id;
        let units = run.ledger.units(&run.control, run_id).await?;
        let accounts = run.ledger.accounts(&run.control, run_id).await?;
        Ok(LedgerUnits::new(units, accounts))
    }

    /// The ledger at the end of a run: as it is; or if it cannot be read, as it was before the switch; or else units kept
    /// from earlier attempts.
    pub async fn at_end(
        context: &Context<'_>,
        verified: Option<CommittedUnits>,
        gathering: &mut Gathering,
        error: Option<&Error>,
    ) -> CommittedUnits {
        let run = context.run;
        // A stopped run does not wait for a server that does not answer.
        let read = tokio::time::timeout(LEDGER_TIMEOUT, LedgerUnits::read(run)).await;
        // Verifications in a transaction that was not committed are not in the ledger.
        let is_undone = run.plan.is_one_transaction() && error.is_some();
        match (read, verified.filter(|_| !is_undone)) {
            (Ok(Ok(read)), _) => read.committed(run),
            // The server went away after the switch; the switched units were read before.
            (_, Some(verified)) => verified,
            _ => {
                gathering.note(
                    "the ledger could not be read at the end; the report has only the rows of \
                     units kept from earlier attempts"
                        .to_owned(),
                );
                let row = |(place, _): (UnitPlace, &KeptUnit)| {
                    run.units_kept.get(&run.unit(place).1.key).cloned()
                };
                let kept = run.kept.iter().filter_map(row).collect();
                let of_unit = |(place, unit): (UnitPlace, &KeptUnit)| {
                    (run.unit(place).1.key.clone(), unit.account)
                };
                let accounts = UnitAccounts {
                    units: run.kept.iter().map(of_unit).collect(),
                };
                LedgerUnits::new(kept, accounts).committed(run)
            }
        }
    }

    /// Units, and the accounts of all their splits.
    pub fn new(mut units: Vec<UnitRow>, accounts: UnitAccounts) -> LedgerUnits {
        units.sort_unstable_by(|first, second| first.unit_key.cmp(&second.unit_key));
        LedgerUnits { units, accounts }
    }

    /// The units of the run's plan.
    pub fn committed(&self, run: &PostgresRun) -> CommittedUnits {
        let units = self.units.iter().map(|record| {
            let unit = CountedUnit {
                is_finished: record.finished,
                is_careful: record.careful,
                rows: record.rows_counted.map(|count| count as u64),
            };
            (record.unit_key.clone(), unit)
        });
        let accounts = self.accounts.units.iter();
        let accounts = accounts.map(|(key, account)| (key.clone(), *account));
        CommittedUnits::of_units(run, units, accounts)
    }

    /// All units.
    pub fn units(&self) -> &[UnitRow] {
        &self.units
    }

    /// The unit with this key.
    pub fn get(&self, key: &UnitKey) -> Option<&UnitRow> {
        let found = self.units.binary_search_by(|unit| unit.unit_key.cmp(key));
        Some(&self.units[found.ok()?])
    }
}
