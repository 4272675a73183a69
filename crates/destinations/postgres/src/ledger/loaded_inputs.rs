//! The inputs that the switched runs of a package have loaded, to find those that need not be loaded again.

use inrush_destination::LoadedInput;
use inrush_rows::ids::{FileKey, RunId, RunKey};

use super::Ledger;
use super::error::LedgerError;
use super::totals::count;
use crate::Session;

impl Ledger {
    /// Passes every input that runs with this key have switched in to `see`, the inputs of the newest run first. A run
    /// that is switched has all rows of each of its inputs, unless a later run took them out again.
    pub async fn loaded_inputs(
        &self,
        session: &Session,
        run_key: &RunKey,
        mut see: impl FnMut(LoadedInput),
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT r.run_id, u.target, s.file_key, s.file_bytes, s.file_modified_ns, \
                    sum(s.rows_loaded)::int8, s.file_state \
             FROM {run} r JOIN {unit} u USING (run_id) JOIN {shard} s USING (run_id, unit_key) \
             WHERE r.run_key = $1 AND r.state = 'switched' \
               AND NOT EXISTS ( \
                 SELECT FROM {switched} n JOIN {switched} o \
                        ON o.table_oid = n.table_oid AND o.run_id > n.run_id \
                           AND o.what IN ('kept', 'dropped') \
                      JOIN {run} later ON later.run_id = o.run_id AND later.state = 'switched' \
                 WHERE n.run_id = r.run_id AND n.unit_key = u.unit_key \
                   AND n.what NOT IN ('kept', 'dropped')) \
             GROUP BY r.run_id, u.target, s.file_key, s.file_bytes, s.file_modified_ns, \
                      s.file_state \
             ORDER BY r.run_id DESC",
            run = self.table("run"),
            unit = self.table("unit"),
            shard = self.table("shard"),
            switched = self.table("switched_table"),
        );
        session
            .query_each(&sql, &[&run_key.as_str()], "reading the ledger", |row| {
                see(LoadedInput {
                    run_id: RunId::new(row.get(0)),
                    target: row.get(1),
                    input_key: FileKey::new(row.get::<_, &str>(2)),
                    bytes: count(row, 3),
                    modified_ns: row.get(4),
                    rows_loaded: count(row, 5),
                    state: row.get(6),
                });
            })
            .await?;
        Ok(())
    }
}
