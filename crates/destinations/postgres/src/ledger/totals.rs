//! Sums over the splits of a run's units. The server adds them up, because a run may have a hundred thousand splits.

use std::collections::BTreeMap;

use inrush_destination::UnitTotal;
use inrush_plan::ledger::Account;
use inrush_rows::ids::{RunId, UnitKey};
use tokio_postgres::Row;

use super::Ledger;
use super::error::LedgerError;
use crate::Session;
use crate::quote::qualified;

/// The sums over the splits of a run's units.
#[derive(Clone, Debug, Default)]
pub struct UnitAccounts {
    /// The accounts by the units' keys.
    pub units: BTreeMap<UnitKey, Account>,
}

impl UnitAccounts {
    /// The account of a unit; zero if none of its splits was committed.
    pub fn of_unit(&self, unit_key: &UnitKey) -> Account {
        self.units.get(unit_key).copied().unwrap_or_default()
    }
}

/// A subquery that is written before a LATERAL query of `shard`. The table has these columns from version 5 on. If the
/// table is older, the LATERAL query finds the columns here.
pub(super) const BEFORE_VERSION_5: &str =
    "(SELECT 0::int8 AS rows_filtered, 0::int8 AS rows_added) older";

/// A number of rows or bytes.
pub(super) fn count(row: &Row, index: usize) -> u64 {
    row.get::<_, i64>(index) as u64
}

/// The account in seven columns of a row; `first` is the index of the first of them.
fn account(row: &Row, first: usize) -> Account {
    Account {
        rows_read: count(row, first),
        rows_loaded: count(row, first + 1),
        rows_rejected: count(row, first + 2),
        rows_skipped: count(row, first + 3),
        rows_filtered: count(row, first + 4),
        rows_added: count(row, first + 5),
        bytes_read: count(row, first + 6),
    }
}

impl Ledger {
    /// The query for the key and the account of each unit of the run `$1` that has splits.
    fn sums(&self) -> String {
        format!(
            "SELECT unit_key, sum(rows_read)::int8 AS rows_read, \
                    sum(rows_loaded)::int8 AS rows_loaded, sum(rows_rejected)::int8 AS rows_rejected, \
                    sum(rows_skipped)::int8 AS rows_skipped, sum(filtered)::int8 AS rows_filtered, \
                    sum(added)::int8 AS rows_added, sum(bytes_read)::int8 AS bytes_read \
             FROM {BEFORE_VERSION_5}, LATERAL ( \
                SELECT unit_key, rows_read, rows_loaded, rows_rejected, rows_skipped, \
                       rows_filtered AS filtered, rows_added AS added, bytes_read \
                FROM {} WHERE run_id = $1) split \
             GROUP BY unit_key",
            self.table("shard")
        )
    }

    /// The account of each unit of a run, summed up over its splits.
    pub async fn accounts(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<UnitAccounts, LedgerError> {
        let sql = self.sums();
        let mut accounts = UnitAccounts::default();
        session
            .query_each(&sql, &[&run_id.number()], "reading the ledger", |row| {
                let key = UnitKey::new(row.get::<_, &str>(0));
                accounts.units.insert(key, account(row, 1));
            })
            .await?;
        Ok(accounts)
    }

    /// Passes each unit of a run to `see`, with the sums over its splits.
    pub async fn unit_totals(
        &self,
        session: &Session,
        run_id: RunId,
        mut see: impl FnMut(UnitTotal),
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT u.unit_key, u.target, u.finished, u.straight, coalesce(s.rows_read, 0), \
                    coalesce(s.rows_loaded, 0), coalesce(s.rows_rejected, 0), \
                    coalesce(s.rows_skipped, 0), coalesce(s.rows_filtered, 0), \
                    coalesce(s.rows_added, 0), coalesce(s.bytes_read, 0) \
             FROM {} u LEFT JOIN ({}) s USING (unit_key) WHERE u.run_id = $1",
            self.table("unit"),
            self.sums()
        );
        let doing = "adding up the units of a run";
        session
            .query_each(&sql, &[&run_id.number()], doing, |row| {
                let key = UnitKey::new(row.get::<_, &str>(0));
                see(UnitTotal {
                    key,
                    target: row.get(1),
                    is_finished: row.get(2),
                    is_direct: row.get(3),
                    account: account(row, 4),
                });
            })
            .await?;
        Ok(())
    }

    /// Passes the target and the state of each input of a run to `see`, if the state begins with this text.
    pub async fn input_states(
        &self,
        session: &Session,
        run_id: RunId,
        beginning: &str,
        mut see: impl FnMut(&str, &str),
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT DISTINCT u.target, s.file_state FROM {} u JOIN {} s USING (run_id, unit_key) \
             WHERE run_id = $1 AND starts_with(s.file_state, $2) ORDER BY 1, 2",
            self.table("unit"),
            self.table("shard")
        );
        let doing = "reading the marks";
        session
            .query_each(&sql, &[&run_id.number(), &beginning], doing, |row| {
                see(row.get(0), row.get(1));
            })
            .await?;
        Ok(())
    }

    /// The target of each unit of a run, as SQL names it.
    pub async fn targets_of_units(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<BTreeMap<UnitKey, String>, LedgerError> {
        let sql = format!(
            "SELECT unit_key, target FROM {} WHERE run_id = $1",
            self.table("unit")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "reading the ledger")
            .await?;
        let unit = |row: &Row| (UnitKey::new(row.get::<_, &str>(0)), row.get(1));
        Ok(rows.iter().map(unit).collect())
    }

    /// The staging tables of a run's units, as SQL names them.
    pub async fn staging_tables(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Vec<String>, LedgerError> {
        let sql = format!(
            "SELECT staging_schema, staging_table FROM {} WHERE run_id = $1 AND NOT straight \
             ORDER BY target, unit_key",
            self.table("unit")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "reading the ledger")
            .await?;
        let tables = rows.iter();
        Ok(tables
            .map(|row| qualified(row.get(0), row.get(1)))
            .collect())
    }
}
