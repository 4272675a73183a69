//! The remains of stopped runs in a PostgreSQL server, shown and removed; and the undoing of finished runs.

use std::collections::HashSet;

use inrush_engine::driver_trait::PastRuns;
use inrush_engine::error::Error;
use inrush_engine::ledger::Account;
use inrush_engine::native::ledger::{LedgerRun, LedgerRunState};
use inrush_engine::native::plan::identity;
use inrush_engine::native::run::runtime;
use inrush_engine::undo::{UndoOptions, Undone};
use inrush_engine::upkeep::{MarkOfTarget, RemovedRuns, RunOfTarget, StoppedRun, Which};
use inrush_rows::ids::UnitKey;

use super::ledger::{self, Ledger, LedgerError, RunWithLineage};
use super::{DatabaseAddress, Session, undo};
use crate::quote::qualified;
use crate::transaction::Transaction;

/// The longest wait for another session's lock on a staging table or the ledger: a session that reads it, or holds it in the
/// middle of a switch, may hang.
const PATIENCE: &str = "SET lock_timeout = '5s'";

/// A server with a ledger.
pub struct LedgerOfServer {
    /// Its address.
    pub address: DatabaseAddress,
}

impl PastRuns for LedgerOfServer {
    fn stopped(&self, which: &Which) -> Result<Vec<StoppedRun>, Error> {
        runtime()?.block_on(async {
            let session = Session::open(&self.address, "inrush status").await?;
            session
                .execute(PATIENCE, "looking for stopped runs")
                .await?;
            let found = find(&session, which).await?;
            session.close().await;
            Ok(found)
        })
    }

    fn marks(&self, which: &Which) -> Result<Vec<MarkOfTarget>, Error> {
        runtime()?.block_on(async {
            let session = Session::open(&self.address, "inrush status").await?;
            session.execute(PATIENCE, "looking for marks").await?;
            let found = match ledger::exists(&session, &which.ledger_schema).await? {
                true => {
                    let book = Ledger::new(&which.ledger_schema);
                    book.marks_of_targets(&session, which).await?
                }
                false => Vec::new(),
            };
            session.close().await;
            Ok(found)
        })
    }

    fn runs_of_targets(
        &self,
        which: &Which,
        is_asked: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<RunOfTarget>, Error> {
        runtime()?.block_on(async {
            let session = Session::open(&self.address, "inrush lineage").await?;
            let is_wanted = |run: &LedgerRun| {
                run.state != LedgerRunState::Discarded
                    && which.is_asked(&run.package, &run.name)
                    && run.targets.iter().any(|target| is_asked(target))
            };
            let runs = match ledger::exists(&session, &which.ledger_schema).await? {
                true => {
                    let book = Ledger::new(&which.ledger_schema);
                    book.runs_with_lineage(&session, is_wanted).await?
                }
                false => Vec::new(),
            };
            session.close().await;
            let mut found = Vec::new();
            for RunWithLineage { run, rows, lineage } in runs {
                for target in run.targets.iter().filter(|target| is_asked(target)) {
                    let own = rows.iter().find(|(name, _)| name == target);
                    let rows_loaded = own.map_or(0, |(_, rows)| *rows);
                    let run = run.clone();
                    found.push(RunOfTarget::new(
                        run,
                        target,
                        rows_loaded,
                        lineage.as_deref(),
                    ));
                }
            }
            Ok(found)
        })
    }

    fn discard(&self, which: &Which) -> Result<Vec<StoppedRun>, Error> {
        runtime()?.block_on(async {
            let session = Session::open(&self.address, "inrush cleanup").await?;
            session
                .execute(PATIENCE, "looking for stopped runs")
                .await?;
            let mut removed = RemovedRuns::default();
            for stopped in find(&session, which).await? {
                // If a cleanup removed such a run, its rows would be loaded twice. So it is removed only if it is
                // named.
                if stopped.held == Some(true) || (stopped.rows_straight > 0 && which.run.is_none())
                {
                    continue;
                }
                let done = remove(&session, which, &stopped).await;
                removed.note(done.map(|()| Some(stopped)).map_err(Error::from));
            }
            session.close().await;
            removed.end()
        })
    }

    fn undo(&self, options: &UndoOptions<'_>) -> Result<Option<Undone>, Error> {
        undo::undo(&self.address, options).map(Some)
    }
}

async fn find(session: &Session, which: &Which) -> Result<Vec<StoppedRun>, LedgerError> {
    if !ledger::exists(session, &which.ledger_schema).await? {
        return Ok(Vec::new());
    }
    let book = Ledger::new(&which.ledger_schema);
    let mut found = Vec::new();
    for run in book.stopped_runs(session, None).await? {
        if !which.is_asked(&run.package, &run.name) {
            continue;
        }
        let units = book.units(session, run.run_id).await?;
        let mut account = Account::default();
        let mut rows_straight = 0;
        let straight: HashSet<&UnitKey> = units
            .iter()
            .filter(|unit| unit.straight)
            .map(|unit| &unit.unit_key)
            .collect();
        // The server adds up the splits of each unit: there may be a hundred thousand.
        for (unit_key, of_unit) in &book.accounts(session, run.run_id).await?.units {
            account.add(of_unit);
            if straight.contains(unit_key) {
                rows_straight += of_unit.rows_loaded;
            }
        }
        let staging_tables: Vec<String> = units
            .iter()
            .filter(|unit| !unit.straight)
            .map(|unit| qualified(&unit.staging_schema, &unit.staging_table))
            .collect();
        let rows = session
            .query(
                // A routed unit's rows are in its partitions.
                "SELECT coalesce(sum(pg_total_relation_size(t))::int8, 0) \
                 FROM unnest($1::text[]) n, \
                      LATERAL (SELECT to_regclass(n)::oid AS t UNION \
                               SELECT relid::oid FROM pg_partition_tree(to_regclass(n))) parts",
                &[&staging_tables],
                "measuring staging tables",
            )
            .await?;
        found.push(StoppedRun {
            held: Some(book.is_held(session, run.run_id).await?),
            units_finished: units.iter().filter(|unit| unit.finished).count(),
            units_begun: units.iter().filter(|unit| !unit.finished).count(),
            account,
            rows_straight,
            is_of_another_version: units
                .iter()
                .any(|unit| identity::is_of_another_version(&unit.unit_key)),
            staging_tables,
            staging_bytes: Some(rows[0].get::<_, i64>(0) as u64),
            run,
        });
    }
    Ok(found)
}

/// In one transaction, fenced like any other: a loader that is still alive, although all signs say otherwise, cannot
/// commit afterwards.
async fn remove(session: &Session, which: &Which, stopped: &StoppedRun) -> Result<(), LedgerError> {
    let book = Ledger::new(&which.ledger_schema);
    book.lock_run(session, stopped.run.run_id).await?;
    let taken = book
        .take_over(session, &stopped.run, &stopped.run.holder)
        .await?;
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
    transaction.commit(doing).await?;
    Ok(())
}
