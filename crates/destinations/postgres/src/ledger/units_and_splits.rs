//! Units and splits in the ledger.

use inrush_destination::{SplitRecord, TouchedFile};
use inrush_plan::ledger::Account;
use inrush_rows::ids::{FileKey, RunId, SplitKey, UnitKey};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::error::LedgerError;
use super::run::Fence;
use super::totals::{BEFORE_VERSION_5, count};
use super::{Ledger, stored};
use crate::Session;

/// A load unit in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitRow {
    /// Identifies the unit's files in their state at that time, its table, and the way in which it reads the files.
    pub unit_key: UnitKey,
    /// The flow.
    pub flow: String,
    /// The target, `schema.table`, quoted.
    pub target: String,
    /// The schema of its staging table.
    pub staging_schema: String,
    /// Its staging table.
    pub staging_table: String,
    /// True if several streams fill it.
    pub shared: bool,
    /// True if its rows are written directly to the target: there is no staging table of that name.
    pub straight: bool,
    /// True if all of its splits are loaded and it is ready for the switch.
    pub finished: bool,
    /// True if the server refused a row of it, so one stream loaded it with a savepoint for each batch.
    pub careful: bool,
    /// The server's own count of its rows.
    pub rows_counted: Option<i64>,
    /// Its smallest key as text.
    pub key_smallest: Option<String>,
    /// Its largest key as text.
    pub key_largest: Option<String>,
    /// True if the table that holds its rows still has its name: the staging table or, for direct writes, the target.
    /// Always true for a unit that is being written.
    pub stands: bool,
    /// A digest of the server's files that the staging table has now.
    pub files: Option<String>,
    /// True if the table's files are not the files that it had at the unit's COMMIT: it was emptied or rewritten
    /// (TRUNCATE, VACUUM FULL).
    pub rewritten: bool,
}

fn split_of(row: &Row) -> SplitRecord {
    let text_start: Option<i64> = row.get(20);
    let text_end: Option<i64> = row.get(21);
    let refused: Option<Vec<i64>> = row.get(18);
    SplitRecord {
        unit_key: UnitKey::new(row.get::<_, &str>(0)),
        split_key: SplitKey::new(row.get::<_, &str>(1)),
        file_key: FileKey::new(row.get::<_, &str>(2)),
        file: row.get(3),
        byte_start: count(row, 4),
        byte_end: row.get::<_, Option<i64>>(5).map(|end| end as u64),
        file_bytes: count(row, 6),
        file_modified_ns: row.get(7),
        account: Account {
            rows_read: count(row, 8),
            rows_loaded: count(row, 9),
            rows_rejected: count(row, 10),
            rows_skipped: count(row, 11),
            rows_filtered: count(row, 12),
            rows_added: count(row, 13),
            bytes_read: count(row, 14),
        },
        content_hash: row.get(15),
        file_state: row.get(19),
        text_range: text_start
            .zip(text_end)
            .map(|(start, end)| start as u64..end as u64),
        tally: row.get(16),
        trailer: row.get(17),
        refused: refused
            .unwrap_or_default()
            .into_iter()
            .map(|offset| offset as u64)
            .collect(),
    }
}

impl UnitRow {
    /// True if a plan that has a unit with this key can keep the rows that the unit has committed: the table is still
    /// the one that the unit began with, and the plan uses the same table.
    pub fn is_kept(&self, staging_schema: &str) -> bool {
        self.stands && (self.straight || self.staging_schema == staging_schema)
    }
}

impl Ledger {
    /// The units of a run that were committed.
    pub async fn units(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Vec<UnitRow>, LedgerError> {
        let table = stored::table("straight", "target", "staging_schema", "staging_table");
        let filenodes = stored::filenodes("straight", "standing");
        let sql = format!(
            "SELECT unit_key, flow, target, staging_schema, staging_table, shared, finished, \
                    rows_counted, key_smallest, key_largest, careful, straight, \
                    coalesce(standing = table_oid, false), \
                    files, filenodes IS DISTINCT FROM files \
             FROM {} unit, LATERAL (SELECT {table} AS standing) t, \
                  LATERAL (SELECT {filenodes} AS files) f \
             WHERE run_id = $1 ORDER BY target, unit_key",
            self.table("unit")
        );
        let rows = session
            .query(&sql, &[&run_id.number()], "reading the ledger")
            .await?;
        Ok(rows
            .iter()
            .map(|row| UnitRow {
                unit_key: UnitKey::new(row.get::<_, &str>(0)),
                flow: row.get(1),
                target: row.get(2),
                staging_schema: row.get(3),
                staging_table: row.get(4),
                shared: row.get(5),
                finished: row.get(6),
                rows_counted: row.get(7),
                key_smallest: row.get(8),
                key_largest: row.get(9),
                careful: row.get(10),
                straight: row.get(11),
                stands: row.get(12),
                files: row.get(13),
                rewritten: row.get(14),
            })
            .collect())
    }

    /// The splits of a run that were committed.
    pub async fn splits(
        &self,
        session: &Session,
        run_id: RunId,
    ) -> Result<Vec<SplitRecord>, LedgerError> {
        let mut splits = Vec::new();
        self.each_split(session, run_id, None, |split| splits.push(split))
            .await?;
        Ok(splits)
    }

    /// Passes the committed splits of a run, or only those of a unit, to `see` one at a time, because there may be a
    /// million. They are grouped by unit, and within a unit by file.
    pub async fn each_split(
        &self,
        session: &Session,
        run_id: RunId,
        unit_key: Option<&UnitKey>,
        mut see: impl FnMut(SplitRecord),
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "SELECT split.* FROM {BEFORE_VERSION_5}, LATERAL ( \
                SELECT unit_key, shard_key, file_key, file, byte_start, byte_end, file_bytes, \
                       file_modified_ns, rows_read, rows_loaded, rows_rejected, rows_skipped, \
                       rows_filtered, rows_added, bytes_read, content_hash, tally, trailer, \
                       refused, file_state, text_start, text_end \
                FROM {} WHERE run_id = $1 AND unit_key = coalesce($2::text, unit_key)) split \
             ORDER BY unit_key, file_key, shard_key",
            self.table("shard")
        );
        let parameters: &[&(dyn ToSql + Sync)] =
            &[&run_id.number(), &unit_key.map(UnitKey::as_str)];
        session
            .query_each(&sql, parameters, "reading the ledger", |row| {
                see(split_of(row));
            })
            .await?;
        Ok(())
    }

    /// Writes a unit, inside its transaction. A shared unit is written when it begins and again when it is finished.
    pub async fn record_unit(
        &self,
        session: &Session,
        fence: &Fence,
        unit: &UnitRow,
    ) -> Result<(), LedgerError> {
        let table = stored::table("$14::bool", "$5::text", "$6::text", "$7::text");
        let filenodes = stored::filenodes("$14::bool", &table);
        // For direct writes, the OID of the first split's target is kept: a table that got the target's name later is another table.
        let sql = format!(
            "INSERT INTO {} AS unit (run_id, epoch, unit_key, flow, target, staging_schema, \
                             staging_table, shared, finished, rows_counted, key_smallest, \
                             key_largest, careful, straight, table_oid, filenodes) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, {table}, \
                     {filenodes}) \
             ON CONFLICT (run_id, unit_key) DO UPDATE SET epoch = excluded.epoch, \
             finished = excluded.finished, rows_counted = excluded.rows_counted, \
             key_smallest = excluded.key_smallest, key_largest = excluded.key_largest, \
             careful = excluded.careful, committed_at = now(), \
             table_oid = CASE WHEN unit.straight THEN unit.table_oid ELSE excluded.table_oid END, \
             filenodes = excluded.filenodes",
            self.table("unit")
        );
        session
            .query(
                &sql,
                &[
                    &fence.run_id.number(),
                    &fence.epoch,
                    &unit.unit_key.as_str(),
                    &unit.flow,
                    &unit.target,
                    &unit.staging_schema,
                    &unit.staging_table,
                    &unit.shared,
                    &unit.finished,
                    &unit.rows_counted,
                    &unit.key_smallest,
                    &unit.key_largest,
                    &unit.careful,
                    &unit.straight,
                ],
                "writing the unit into the ledger",
            )
            .await?;
        Ok(())
    }

    /// True if the table for a unit's rows is still the table that the unit began with. Call this inside the
    /// transaction that has written to the table, because its lock keeps the table from being dropped.
    pub async fn stands(
        &self,
        session: &Session,
        fence: &Fence,
        unit_key: &UnitKey,
    ) -> Result<bool, LedgerError> {
        let table = stored::table("straight", "target", "staging_schema", "staging_table");
        let sql = format!(
            "SELECT coalesce({table} = table_oid, false) FROM {} unit \
             WHERE run_id = $1 AND unit_key = $2",
            self.table("unit")
        );
        let rows = session
            .query(
                &sql,
                &[&fence.run_id.number(), &unit_key.as_str()],
                "looking for the target",
            )
            .await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Writes a split, inside the transaction that loaded it.
    pub async fn record_split(
        &self,
        session: &Session,
        fence: &Fence,
        split: &SplitRecord,
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "INSERT INTO {} (run_id, epoch, unit_key, shard_key, file_key, file, byte_start, \
                             byte_end, file_bytes, file_modified_ns, rows_read, rows_loaded, \
                             rows_rejected, rows_skipped, rows_filtered, rows_added, bytes_read, \
                             content_hash, tally, trailer, refused, file_state, text_start, \
                             text_end) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, \
                     $18, $19, $20, $21, $22, $23, $24)",
            self.table("shard")
        );
        let account = &split.account;
        let refused = split.refused.iter().map(|offset| *offset as i64);
        let refused: Option<Vec<i64>> = (!split.refused.is_empty()).then(|| refused.collect());
        session
            .query(
                &sql,
                &[
                    &fence.run_id.number(),
                    &fence.epoch,
                    &split.unit_key.as_str(),
                    &split.split_key.as_str(),
                    &split.file_key.as_str(),
                    &split.file,
                    &(split.byte_start as i64),
                    &split.byte_end.map(|end| end as i64),
                    &(split.file_bytes as i64),
                    &split.file_modified_ns,
                    &(account.rows_read as i64),
                    &(account.rows_loaded as i64),
                    &(account.rows_rejected as i64),
                    &(account.rows_skipped as i64),
                    &(account.rows_filtered as i64),
                    &(account.rows_added as i64),
                    &(account.bytes_read as i64),
                    &split.content_hash,
                    &split.tally,
                    &split.trailer,
                    &refused,
                    &split.file_state,
                    &split.text_range.as_ref().map(|range| range.start as i64),
                    &split.text_range.as_ref().map(|range| range.end as i64),
                ],
                "writing the split into the ledger",
            )
            .await?;
        Ok(())
    }

    /// Records, inside the switch's transaction, that staged rows of a split became rejects.
    pub async fn reject_staged(
        &self,
        session: &Session,
        fence: &Fence,
        unit_key: &UnitKey,
        split_key: &SplitKey,
        count: u64,
    ) -> Result<(), LedgerError> {
        let doing = "writing rejects of the switch into the ledger";
        let count = count as i64;
        let sql = format!(
            "UPDATE {} SET rows_loaded = rows_loaded - $4, rows_rejected = rows_rejected + $4 \
             WHERE run_id = $1 AND unit_key = $2 AND shard_key = $3",
            self.table("shard")
        );
        let parameters: &[&(dyn ToSql + Sync)] = &[
            &fence.run_id.number(),
            &unit_key.as_str(),
            &split_key.as_str(),
            &count,
        ];
        session.query(&sql, parameters, doing).await?;
        let sql = format!(
            "UPDATE {} SET rows_counted = rows_counted - $3, careful = true \
             WHERE run_id = $1 AND unit_key = $2",
            self.table("unit")
        );
        session
            .query(
                &sql,
                &[&fence.run_id.number(), &unit_key.as_str(), &count],
                doing,
            )
            .await?;
        Ok(())
    }

    /// Records the new modification time or inode of a file whose text is unchanged, so that later runs recognise it.
    pub async fn touch_file(
        &self,
        session: &Session,
        run_id: RunId,
        touched: &TouchedFile,
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "UPDATE {} SET file_modified_ns = $3, file_state = $4 \
             WHERE run_id = $1 AND file_key = $2",
            self.table("shard")
        );
        let TouchedFile {
            file_key,
            modified_ns,
            state,
        } = touched;
        session
            .query(
                &sql,
                &[&run_id.number(), &file_key.as_str(), &modified_ns, &state],
                "writing a file's time into the ledger",
            )
            .await?;
        Ok(())
    }

    /// Removes the splits of these files from the ledger, and removes the rows that were committed with them from the
    /// unit's table. Returns true if the number of removed rows is the number that the splits have loaded.
    pub async fn take_out(
        &self,
        session: &Session,
        run_id: RunId,
        unit_key: &UnitKey,
        file_keys: &[&str],
        table: &str,
    ) -> Result<bool, LedgerError> {
        let shard = self.table("shard");
        let sql = format!(
            "WITH gone AS ( \
               DELETE FROM {table} AS s USING {shard} AS d \
               WHERE d.run_id = $1 AND d.unit_key = $2 AND d.file_key = ANY($3) AND s.xmin = d.xmin \
               RETURNING 1), \
             forgotten AS ( \
               DELETE FROM {shard} WHERE run_id = $1 AND unit_key = $2 AND file_key = ANY($3) \
               RETURNING rows_loaded) \
             SELECT (SELECT count(*) FROM gone) = (SELECT coalesce(sum(rows_loaded), 0) FROM forgotten)"
        );
        let rows = session
            .query(
                &sql,
                &[&run_id.number(), &unit_key.as_str(), &file_keys],
                "removing changed rows from a staging table",
            )
            .await?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    /// Removes the splits of a unit, inside the transaction that empties its table.
    pub async fn forget_splits(
        &self,
        session: &Session,
        fence: &Fence,
        unit_key: &UnitKey,
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "DELETE FROM {} WHERE run_id = $1 AND unit_key = $2",
            self.table("shard")
        );
        session
            .query(
                &sql,
                &[&fence.run_id.number(), &unit_key.as_str()],
                "forgetting splits",
            )
            .await?;
        Ok(())
    }

    /// Removes units and their splits from the ledger, so that they are loaded again.
    pub async fn forget_units(
        &self,
        session: &Session,
        run_id: RunId,
        unit_keys: &[UnitKey],
    ) -> Result<(), LedgerError> {
        let sql = format!(
            "DELETE FROM {} WHERE run_id = $1 AND unit_key = ANY($2)",
            self.table("unit")
        );
        let keys: Vec<&str> = unit_keys.iter().map(UnitKey::as_str).collect();
        session
            .query(&sql, &[&run_id.number(), &keys], "forgetting units")
            .await?;
        Ok(())
    }
}
