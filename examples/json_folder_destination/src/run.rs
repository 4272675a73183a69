//! A run that holds its lock: its staging, and the switch.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use inrush_destination::{
    CancelRun, CommittedRecord, Error, OpenRun, PublishStep, Published, Result, RowsInSource,
    RunRecord, StagedRows, StreamSetup, TargetPlan, UnitStream, WriteMode,
};
use inrush_rows::ids::UnitKey;

use crate::catalog::{self, Catalog, Column, Entry, Part, Table};
use crate::files::{self, Layout};
use crate::ledger;
use crate::stream::Stream;

/// A run that holds its lock.
pub struct Run {
    pub layout: Layout,
    pub record: RunRecord,
    pub targets: Vec<TargetPlan>,
    /// The number of each target's staging.
    pub stagings: Vec<u64>,
    cancelled: Arc<Cancelled>,
    /// Locked until it is dropped.
    _lock: File,
}

/// True once the calls in progress should end.
#[derive(Default)]
struct Cancelled(AtomicBool);

impl CancelRun for Cancelled {
    fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Run {
    pub fn new(
        layout: Layout,
        record: RunRecord,
        targets: Vec<TargetPlan>,
        stagings: Vec<u64>,
        lock: File,
    ) -> Run {
        Run {
            layout,
            record,
            targets,
            stagings,
            cancelled: Arc::default(),
            _lock: lock,
        }
    }

    /// Fails if the run was cancelled. Calls wait only for the disk, so it is enough that each call checks this before
    /// it begins.
    pub fn go_on(&self) -> Result<()> {
        match self.cancelled.0.load(Ordering::Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// The rows of each staging, counted in its files.
    fn count_rows(&self) -> Result<Vec<u64>> {
        let count = |staging: &u64| {
            self.go_on()?;
            files::count_all_rows(&self.layout.rows(self.record.run_id, *staging))
        };
        self.stagings.iter().map(count).collect()
    }

    /// The catalog after the switch.
    fn switch(&self, catalog: &mut Catalog, staged: &[u64]) -> Result<Published> {
        let mut published = Published::default();
        for ((target, staging), rows) in self.targets.iter().zip(&self.stagings).zip(staged) {
            let name = &target.name.sql;
            let mut table = match (catalog.tables.remove(name), target.mode) {
                (None, WriteMode::Append) => {
                    return Err(refused(
                        name,
                        "the table does not exist any more",
                        "make the table again, or use mode = \"create\"",
                    ));
                }
                (Some(Entry::Table(table)), WriteMode::Create) if table.rows() > 0 => {
                    return Err(refused(
                        name,
                        "the table has rows, which were written while this run loaded",
                        "use mode = \"append\" or \"replace\", or empty the table",
                    ));
                }
                (Some(Entry::Other(_)), _) => {
                    return Err(refused(name, catalog::NO_TABLE, catalog::REMOVE_IT));
                }
                (Some(Entry::Table(table)), _) => table,
                (None, _) => Table::of(target),
            };
            check_columns(name, &table, target)?;
            if target.mode == WriteMode::Replace {
                let old = table.parts.drain(..).map(|part| part.folder);
                catalog.replaced.extend(old);
            }
            table.parts.push(Part {
                folder: Layout::rows_name(self.record.run_id, *staging),
                run: self.record.run_id,
                rows: *rows,
            });
            published.rows.push(Some(table.rows()));
            catalog.tables.insert(name.clone(), Entry::Table(table));
        }
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let now = i64::try_from(now.as_micros()).unwrap_or(i64::MAX);
        catalog.switched.insert(self.record.run_id, now);
        Ok(published)
    }
}

/// Checks that the table still has the columns for which the rows were written.
fn check_columns(name: &str, table: &Table, target: &TargetPlan) -> Result<()> {
    for column in &target.columns {
        let same = |other: &&Column| other.name == column.name && other.type_name == column.sql;
        if !table.columns.iter().any(|other| same(&other)) {
            let what = format!(
                "it has no column {:?} of type {} any more",
                column.name, column.sql
            );
            return Err(refused(
                name,
                &what,
                "run the same command again: it makes a plan for the new columns",
            ));
        }
    }
    Ok(())
}

fn refused(table: &str, message: &str, hint: &str) -> Error {
    Error::Refused {
        doing: format!("publishing {table}"),
        message: message.to_owned(),
        hint: Some(hint.to_owned()),
    }
}

impl OpenRun for Run {
    fn record(&self) -> &RunRecord {
        &self.record
    }

    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>> {
        ledger::forget(&self.layout, self.record.run_id, &self.stagings, keys)?;
        Ok(keys.to_vec())
    }

    fn open_stream(&self, _: &StreamSetup<'_>) -> Result<Box<dyn UnitStream + '_>> {
        Ok(Box::new(Stream::new(self)))
    }

    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
        let see = &mut |unit| see(CommittedRecord::Unit(unit));
        ledger::units(&self.layout, self.record.run_id, see)
    }

    fn staged_rows(&self) -> Result<StagedRows> {
        self.count_rows().map(StagedRows::OfTargets)
    }

    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        _: &mut dyn RowsInSource,
    ) -> Result<Published> {
        let staged = self.count_rows()?;
        reached(PublishStep::Under);
        let before_rename = || {
            reached(PublishStep::BeforeCommit);
            self.go_on()
        };
        let switch = |catalog: &mut Catalog| self.switch(catalog, &staged);
        let published = Catalog::change(&self.layout, switch, before_rename)?;
        reached(PublishStep::Committed);
        Ok(published)
    }

    fn is_switched(&self) -> Result<bool> {
        let catalog = Catalog::read(&self.layout)?;
        Ok(catalog.switched.contains_key(&self.record.run_id))
    }

    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        self.cancelled.clone()
    }
}
