//! The ledger in a server, through the contract of destinations.

mod sessions;

use inrush_destination::{
    LoadedInput, PastRun, PublishStep, Replaced, Result, RunLedger, RunRecord, UndoRequest,
    UndoneRun, UnitRecord, UnitTotal,
};
use inrush_plan::identity;
use inrush_plan::ledger::unit_detail;
use inrush_rows::ids::{RunKey, UnitKey};

use self::sessions::PATIENCE;
pub use self::sessions::ServerLedger;
use crate::ledger::{self, LedgerError};
use crate::quote::qualified;
use crate::transaction::Transaction;
use crate::undo;

impl RunLedger for ServerLedger<'_> {
    fn runs(&self, run_key: Option<&RunKey>) -> Result<Vec<PastRun>> {
        self.ask(
            async |session, book| match ledger::exists(session, &self.schema).await? {
                true => book.runs(session, run_key).await,
                false => Ok(Vec::new()),
            },
        )
    }

    /// One record for each split. The key of the record has the number of the split, counted among the splits of its
    /// unit in the ledger.
    fn units(&self, run: &RunRecord, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        self.ask(async |session, book| {
            let targets = book.targets_of_units(session, run.run_id).await?;
            let mut last: Option<(UnitKey, usize)> = None;
            book.each_split(session, run.run_id, None, |split| {
                let number = match &last {
                    Some((unit_key, number)) if *unit_key == split.unit_key => number + 1,
                    _ => 1,
                };
                see(UnitRecord {
                    key: identity::part_key(&split.unit_key, number),
                    target: targets.get(&split.unit_key).cloned().unwrap_or_default(),
                    rows_loaded: split.account.rows_loaded,
                    detail: unit_detail::of_split(split.clone()),
                });
                last = Some((split.unit_key, number));
            })
            .await
        })
    }

    fn loaded_inputs(&self, run_key: &RunKey, see: &mut dyn FnMut(LoadedInput)) -> Result<bool> {
        self.ask(async |session, book| book.loaded_inputs(session, run_key, see).await)?;
        Ok(true)
    }

    fn unit_totals(&self, run: &RunRecord, see: &mut dyn FnMut(UnitTotal)) -> Result<bool> {
        self.ask(async |session, book| book.unit_totals(session, run.run_id, see).await)?;
        Ok(true)
    }

    fn input_states(
        &self,
        run: &RunRecord,
        beginning: &str,
        see: &mut dyn FnMut(&str, &str),
    ) -> Result<bool> {
        self.ask(async |session, book| {
            book.input_states(session, run.run_id, beginning, see).await
        })?;
        Ok(true)
    }

    fn replaced(&self, run: &RunRecord, target: &str) -> Result<Option<Replaced>> {
        self.ask(
            async |session, book| match book.run_by_name(session, &run.name).await? {
                Some(run) => book.replaced(session, &run, target).await,
                None => Ok(None),
            },
        )
    }

    fn is_held(&self, run: &RunRecord) -> Result<Option<bool>> {
        self.ask(async |session, book| book.is_held(session, run.run_id).await)
            .map(Some)
    }

    fn lineage(&self, run: &RunRecord) -> Result<Option<String>> {
        self.ask(async |session, book| book.lineage(session, run.run_id).await)
    }

    fn staged_bytes(&self, run: &RunRecord) -> Result<Option<u64>> {
        self.ask(async |session, book| {
            let tables = book.staging_tables(session, run.run_id).await?;
            let rows = session
                .query(
                    // A routed unit's rows are in its partitions.
                    "SELECT coalesce(sum(pg_total_relation_size(t))::int8, 0) \
                     FROM unnest($1::text[]) n, \
                          LATERAL (SELECT to_regclass(n)::oid AS t UNION \
                                   SELECT relid::oid FROM pg_partition_tree(to_regclass(n))) parts",
                    &[&tables],
                    "measuring staging tables",
                )
                .await?;
            Ok(Some(rows[0].get::<_, i64>(0) as u64))
        })
    }

    fn staging_tables(&self, run: &RunRecord) -> Result<Vec<String>> {
        self.ask(async |session, book| book.staging_tables(session, run.run_id).await)
    }

    /// Takes the run over first, so a loader that is still alive, although all signs say otherwise, cannot commit
    /// afterwards. The staging tables are dropped and the run is marked as discarded in one transaction.
    fn discard(&self, run: &PastRun) -> Result<()> {
        let record = &run.record;
        self.change("inrush cleanup", async |session, book| {
            book.lock_run(session, record.run_id).await?;
            let (holder, hash) = (&record.holder, &record.package_hash);
            let taken = book.take_over(session, record, holder, hash).await?;
            let doing = "removing what a stopped run left";
            let transaction = Transaction::begin(session, doing).await?;
            session.execute(PATIENCE, doing).await?;
            // Read again: a backend of the run may have committed before it ended.
            for unit in book.units(session, taken.run_id).await? {
                if unit.straight || !unit.stands {
                    continue;
                }
                let table = qualified(&unit.staging_schema, &unit.staging_table);
                session
                    .execute(&format!("DROP TABLE IF EXISTS {table}"), doing)
                    .await?;
            }
            book.discard(session, taken.run_id).await?;
            Ok::<(), LedgerError>(transaction.commit(doing).await?)
        })
    }

    fn undo(
        &self,
        request: &UndoRequest<'_>,
        reached: &dyn Fn(PublishStep),
    ) -> Result<Option<UndoneRun>> {
        self.change("inrush undo", async |session, book| {
            undo::undo(session, book, request, reached).await
        })
        .map(Some)
    }
}
