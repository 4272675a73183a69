//! The records of a run's units in the ledger of its destination.

use inrush_destination::{Result, RunLedger, RunRecord, UnitRecord, UnitTotal};
use inrush_rows::ids::UnitKey;

use super::unit_detail::splits_of;
use super::{Account, SplitRecord};
use crate::identity;

/// A record of a run, as the engine wrote it. It covers a whole unit, or a part of a unit that several streams fill.
pub struct LedgerRecord {
    /// Its key.
    pub key: UnitKey,
    /// The target.
    pub target: String,
    /// The splits whose rows were committed with it; empty if another program wrote it.
    pub splits: Vec<SplitRecord>,
}

impl From<UnitRecord> for LedgerRecord {
    fn from(unit: UnitRecord) -> LedgerRecord {
        LedgerRecord {
            splits: splits_of(&unit.detail),
            key: unit.key,
            target: unit.target,
        }
    }
}

impl LedgerRecord {
    /// The key of its unit.
    pub fn unit_key(&self) -> UnitKey {
        identity::unit_of(&self.key)
    }

    /// True if it covers its whole unit.
    pub fn is_whole(&self) -> bool {
        self.unit_key() == self.key
    }

    /// Its rows.
    pub fn account(&self) -> Account {
        Account::of_splits(&self.splits)
    }
}

/// Passes each record of a run to `see`.
pub fn each_record(
    ledger: &dyn RunLedger,
    run: &RunRecord,
    see: &mut dyn FnMut(LedgerRecord),
) -> Result<()> {
    ledger.units(run, &mut |unit| see(unit.into()))
}

/// Passes each unit of a run to `see`, with the sums of the destination. If the destination has no sums, each record is
/// passed, with the key of its unit.
pub fn each_unit_total(
    ledger: &dyn RunLedger,
    run: &RunRecord,
    see: &mut dyn FnMut(UnitTotal),
) -> Result<()> {
    if ledger.unit_totals(run, see)? {
        return Ok(());
    }
    each_record(ledger, run, &mut |record| see(record.total()))
}

/// The rows that a run has loaded into each target. They are counted by target and not by unit, because another plan may cut the
/// same files into other units.
pub fn accounts_of_targets(
    ledger: &dyn RunLedger,
    run: &RunRecord,
    targets: &[&str],
) -> Result<Vec<Account>> {
    let mut accounts = vec![Account::default(); targets.len()];
    each_unit_total(ledger, run, &mut |unit| {
        for (target, account) in targets.iter().zip(&mut accounts) {
            if **target == unit.target {
                account.add(&unit.account);
            }
        }
    })?;
    Ok(accounts)
}

impl LedgerRecord {
    /// Converts the record to a total with the key of its unit.
    pub fn total(self) -> UnitTotal {
        // Only the process that reads a fed file knows whether it was read to its end.
        let is_finished = self.is_whole();
        UnitTotal {
            key: self.unit_key(),
            account: self.account(),
            target: self.target,
            is_finished,
            is_direct: false,
        }
    }
}
