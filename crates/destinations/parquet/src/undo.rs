//! Takes the rows of a run out of its tables again.
//!
//! Each file of a table has the rows of one run. So a table's next generation is made without the files of the run, and
//! exchanged with the table as in a publish. A table that the run created is removed, unless it has got other rows
//! since. A run that replaced rows is refused, because the replaced rows are not kept.
//!
//! # After a crash
//!
//! Tables are exchanged one after the other. Before the first one, the run's file says that the run is being undone. The same
//! command then finds the tables that do not list the run any more, and changes the others.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Instant;

use inrush_destination::changes::{impossible, not_switched};
use inrush_destination::{
    ColumnPlan, Error, PublishStep, ReplacedRows, Result, RunRecord, RunState, TargetName,
    TargetPlan, UndoRequest, UndoneRun, UndoneTarget, WriteMode,
};
use inrush_rows::plural::counted;

use crate::files::{self, Swap};
use crate::layout::Layout;
use crate::ledger::{FORMAT, Generation, GenerationRun, Root, StoredRun, StoredTarget};
use crate::lock::Lock;
use crate::next_generation::{Building, exchange, retire};
use crate::options::Options;
use crate::run::remove_staging;
use crate::table::{Table, TableFile};
use crate::types;

/// A table from which the run's files are to be taken.
struct TakeOut<'a> {
    target: &'a StoredTarget,
    /// The target's name in messages.
    name: &'a str,
    table: Table,
    generation: Generation,
    /// The run's files, relative to the table's folder.
    own: BTreeSet<PathBuf>,
    /// True if the table is removed together with the files.
    removes_table: bool,
}

/// Undoes a run. Nothing is changed if one of its tables cannot be restored to its state before the run.
pub(super) fn undo(
    root: &Root,
    options: &Options,
    request: &UndoRequest<'_>,
    reached: &dyn Fn(PublishStep),
) -> Result<UndoneRun> {
    let record = request.run;
    let what = format!(
        "package {:?} in {}",
        record.package,
        root.folder().display()
    );
    let _lock = Lock::take(&root.run_lock(&record.run_key), &what, request.by)?;
    let stored = root.stored_run(record.run_id)?;
    let Some(mut stored) = stored.filter(|stored| stored.record.state == RunState::Switched) else {
        return Err(not_switched(&record.name));
    };
    let _tables = lock_tables(root, &stored, request)?;
    let mut steps = Vec::new();
    for (target, name) in stored.targets.iter().zip(&record.targets) {
        steps.extend(plan(root, &stored, target, name)?);
    }
    let mut undone = UndoneRun::default();
    let mut nexts = Vec::with_capacity(steps.len());
    for step in &steps {
        let kept = match request.keeps {
            true => Some(step.keep(root, record)?),
            false => None,
        };
        nexts.push(step.build(root, options, record)?);
        reached(PublishStep::Under);
        undone.targets.push(UndoneTarget {
            target: step.name.to_owned(),
            taken_out: vec![(step.name.to_owned(), kept)],
            put_back: Vec::new(),
        });
    }
    root.store_run(&StoredRun {
        is_being_undone: true,
        ..stored.clone()
    })?;
    for (step, next) in steps.iter().zip(&nexts) {
        reached(PublishStep::BeforeCommit);
        step.exchange(root, next)?;
        reached(PublishStep::Committed);
        retire(root, record.run_id, next)?;
    }
    let kept = root.undone(record.run_id);
    if kept.exists() {
        let path = kept.display().to_string().replace('\'', r"'\''");
        undone.removals.push(format!("rm -r '{path}'"));
    }
    stored.record.state = RunState::Undone;
    root.store_run(&stored)?;
    reached(PublishStep::Tidying);
    files::remove_file(&root.units_file(record.run_id))?;
    remove_staging(root, record.run_id)?;
    Ok(undone)
}

/// Locks all tables. Waits for locks that others hold, at most for the time in the request.
fn lock_tables(root: &Root, stored: &StoredRun, request: &UndoRequest<'_>) -> Result<Vec<Lock>> {
    let paths = stored.targets.iter().map(|target| Path::new(&target.path));
    let begun = Instant::now();
    let is_over = || begun.elapsed() >= request.lock_timeout;
    root.lock_tables(paths, |lock, what| {
        let lock = Lock::wait(lock, what, request.by, &is_over);
        lock.map_err(|error| match error {
            Error::Interrupted => Error::Held {
                what: format!(
                    "{what} was locked by another run for {} ms; nothing was changed",
                    request.lock_timeout.as_millis()
                ),
                hint: "the same command tries again; --lock-timeout-ms lets it wait longer"
                    .to_owned(),
            },
            error => error,
        })
    })
}

/// The step for a table; `None` if an undo that was killed has changed the table already.
fn plan<'a>(
    root: &Root,
    stored: &StoredRun,
    target: &'a StoredTarget,
    name: &'a str,
) -> Result<Option<TakeOut<'a>>> {
    let record = &stored.record;
    let table = Table::read(root, Path::new(&target.path))?;
    let found = table.and_then(|mut table| Some((table.generation.take()?, table)));
    let Some((generation, table)) = found.filter(|(it, _)| it.run(record).is_some()) else {
        return match stored.is_being_undone {
            true => Ok(None),
            false => Err(impossible(
                &record.name,
                format!(
                    "table {name} was removed or made again since, or is not one of Inrush's any more"
                ),
                "its rows are gone already",
            )),
        };
    };
    if let Some((what, hint)) = &table.obstacle {
        return Err(impossible(&record.name, what.clone(), hint));
    }
    let run = generation.run(record).expect("it was found above");
    refuse(record, run, name)?;
    let own: BTreeSet<PathBuf> = run.files.iter().map(PathBuf::from).collect();
    let is_there = |file: &&PathBuf| table.files.iter().any(|other| other.path == **file);
    if let Some(gone) = own.iter().find(|file| !is_there(file)) {
        return Err(impossible(
            &record.name,
            format!(
                "its file {} is not in table {name} any more, so something else has rewritten the table",
                gone.display()
            ),
            "delete the rows with the program that wrote the table since",
        ));
    }
    let has_others = table
        .files
        .iter()
        .any(|file| file.rows > 0 && !own.contains(&file.path));
    let removes_table = run.made_table && !has_others && table.others.is_empty();
    Ok(Some(TakeOut {
        target,
        name,
        table,
        generation,
        own,
        removes_table,
    }))
}

/// Refuses a run whose table cannot be restored to its state before the run.
fn refuse(record: &RunRecord, run: &GenerationRun, name: &str) -> Result<()> {
    if run.gone {
        return Err(impossible(
            &record.name,
            format!("its rows in table {name} were replaced or removed since"),
            "nothing of it is left there",
        ));
    }
    match run.rows_replaced {
        Some(0) => Ok(()),
        Some(rows) => Err(impossible(
            &record.name,
            format!(
                "it replaced {} of table {name}, and replaced rows are not kept",
                counted(rows, "row")
            ),
            "load the rows that the table should have with mode = \"replace\"",
        )),
        None => Err(impossible(
            &record.name,
            format!(
                "an earlier version of Inrush published it, and did not record whether it replaced rows of table {name}"
            ),
            "load the rows that the table should have with mode = \"replace\"",
        )),
    }
}

impl TakeOut<'_> {
    fn folder(&self, root: &Root) -> PathBuf {
        root.folder().join(&self.target.path)
    }

    /// Gives the run's files a second name in a folder of their own, and returns its path.
    fn keep(&self, root: &Root, record: &RunRecord) -> Result<String> {
        let place = self.folder(root);
        let mut kept = Building::new(root.undone(record.run_id).join(&self.target.path))?;
        for file in &self.own {
            kept.link(&place.join(file), file)?;
        }
        kept.flush()?;
        Ok(kept.folder.display().to_string())
    }

    /// Makes the next generation, and returns its folder; nothing is made if the table is removed.
    fn build(&self, root: &Root, options: &Options, record: &RunRecord) -> Result<PathBuf> {
        let staging = root.staging(record.run_id);
        let folder = staging.join(&self.target.staging).with_extension("next");
        if self.removes_table {
            files::make_folder(&staging)?;
            files::remove_folder(&folder)?;
            return Ok(folder);
        }
        let place = self.folder(root);
        let mut next = Building::new(folder)?;
        let stays = |file: &&TableFile| file.rows > 0 && !self.own.contains(&file.path);
        let mut is_empty = true;
        for file in self.table.files.iter().filter(stays) {
            next.link(&place.join(&file.path), &file.path)?;
            is_empty = false;
        }
        for path in &self.table.others {
            next.link(&place.join(path), path)?;
        }
        if is_empty {
            let name = format!("part-undone-{}.parquet", record.run_id);
            next.add_empty(&self.layout()?, options, &name)?;
        }
        let mut runs = self.generation.runs.clone();
        runs.retain(|run| {
            run.run_id != record.run_id
                || run.run_key != record.run_key
                || run.started_at_microseconds != record.started_at_microseconds
        });
        next.finish(&Generation {
            format: FORMAT,
            runs,
            ..self.generation.clone()
        })?;
        Ok(next.folder)
    }

    /// The layout of the table's columns.
    fn layout(&self) -> Result<Layout> {
        let mut columns = Vec::with_capacity(self.generation.columns.len());
        for column in &self.generation.columns {
            let resolved = types::resolve(&column.type_name)?;
            columns.push(ColumnPlan {
                name: column.name.clone(),
                sql: resolved.sql,
                column_type: resolved.column_type,
                nullable: !column.not_null,
            });
        }
        let plan = TargetPlan {
            name: TargetName {
                sql: self.name.to_owned(),
                schema: self.target.schema.clone(),
                name: self.target.name.clone(),
            },
            columns,
            mode: WriteMode::Append,
            replaced: ReplacedRows::Removed,
            partition_by: self.generation.partitioned_by.clone(),
            bounds: Vec::new(),
            merge: None,
            members: Vec::new(),
            shape: String::new(),
            pre_sql: Vec::new(),
            post_sql: Vec::new(),
        };
        Layout::new(&plan, None)
    }

    /// Puts the next generation in the table's place, or removes the table, in one step for readers.
    fn exchange(&self, root: &Root, next: &Path) -> Result<()> {
        if !self.removes_table {
            return exchange(root, Path::new(&self.target.path), self.name, next);
        }
        let place = self.folder(root);
        files::swap(&place, next, Swap::New)
            .map_err(Error::file("cannot remove the table", &place))?;
        files::sync_folder(place.parent().unwrap_or(Path::new(".")))
    }
}
