//! Publishes a run: each table's folder is exchanged with its next generation.
//!
//! The run locks all its tables, and first makes all next generations beside them. Files are linked, not moved, so
//! after a crash everything is still there to begin again. Then each folder is exchanged. Last, the run is marked as
//! switched in its own file.
//!
//! This module and [`run`](crate::run) depend on each other: a run publishes with the functions here, and they use the
//! run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use inrush_destination::{Error, PublishStep, Published, Result, RunState, WriteMode};
use inrush_rows::calendar::now_microseconds;
use inrush_rows::ids::{RunId, RunKey, UnitKey};

use crate::ledger::{
    FORMAT, Generation, GenerationRun, RUN_FORMAT, StoredRun, digest, each_staged,
};
use crate::lock::Lock;
use crate::next_generation::{Building, exchange, join, retire};
use crate::run::{ParquetRun, refuse_rows, remove_staging};
use crate::run_target::RunTarget;
use crate::table::{Table, TableFile};
use crate::{data_file, names};

/// A next generation that is ready.
struct Next {
    folder: PathBuf,
    rows: u64,
    partitions: Vec<String>,
    notes: Vec<String>,
}

/// The task for a target.
enum Step {
    /// The run is in the table already.
    Done {
        rows: u64,
        partitions: Vec<String>,
    },
    Exchange(Next),
}

/// Publishes all targets of a run, or those that are not published yet.
pub(super) fn publish(run: &ParquetRun, reached: &dyn Fn(PublishStep)) -> Result<Published> {
    let published = publish_all(run, reached);
    let is_half = || {
        let is_begun = matches!(run.root.is_in_a_table(&run.stored), Ok(true));
        is_begun && matches!(run.root.switched_at(&run.stored), Ok(None))
    };
    match published {
        Err(error) if is_half() => Err(Error::Refused {
            doing: "publishing all tables of the load".to_owned(),
            message: format!(
                "some tables have their new rows already, the others do not yet: {error}"
            ),
            hint: Some(
                "fix the cause and run the same command again: the next command on this folder \
                 publishes the other tables"
                    .to_owned(),
            ),
        }),
        published => published,
    }
}

fn publish_all(run: &ParquetRun, reached: &dyn Fn(PublishStep)) -> Result<Published> {
    let paths = run.targets.iter().map(|target| target.path.as_path());
    let _locks = run.root.lock_tables(paths, |lock, what| {
        let holder = &run.stored.record.holder;
        Lock::wait(lock, what, holder, &|| run.is_interrupted())
    })?;
    let mut steps = Vec::with_capacity(run.targets.len());
    for target in &run.targets {
        steps.push(build(run, target)?);
        reached(PublishStep::Under);
    }
    if run.is_interrupted() {
        return Err(Error::Interrupted);
    }
    // From here on the run will be finished, by this process or by the next one.
    run.root.store_run(&StoredRun {
        publishing: Some(
            run.targets
                .iter()
                .map(|target| target.plan.clone())
                .collect(),
        ),
        ..run.stored.clone()
    })?;
    let mut published = Published::default();
    for (index, (step, target)) in steps.into_iter().zip(&run.targets).enumerate() {
        let (rows, partitions) = match step {
            Step::Done { rows, partitions } => (rows, partitions),
            Step::Exchange(next) => {
                reached(PublishStep::BeforeCommit);
                exchange(&run.root, &target.path, &target.plan.name.sql, &next.folder)?;
                reached(PublishStep::Committed);
                published.notes.extend(next.notes);
                (next.rows, next.partitions)
            }
        };
        published.rows.push(Some(rows));
        if !partitions.is_empty() {
            let partitions = partitions.into_iter().map(Into::into);
            published.partitions.insert(index, partitions.collect());
        }
    }
    finish(run, reached)?;
    Ok(published)
}

/// Makes the next generation of a target, from the table as it is under its lock.
fn build(run: &ParquetRun, target: &RunTarget) -> Result<Step> {
    let mut partitions: BTreeSet<String> = BTreeSet::new();
    if !target.layout.partitions.is_empty() {
        each_staged(&target.staging, &mut |unit| {
            for file in unit.files {
                if !partitions.contains(&file.partition) {
                    partitions.insert(file.partition);
                }
            }
            Ok(())
        })?;
        partitions.remove("");
    }
    let written: Vec<String> = partitions.iter().cloned().collect();
    let table = Table::read(&run.root, &target.path)?;
    if let Some(table) = &table
        && let Some(generation) = &table.generation
        && generation.run(&run.stored.record).is_some()
    {
        return Ok(Step::Done {
            rows: table.rows(),
            partitions: written,
        });
    }
    if let Some((what, hint)) = table.as_ref().and_then(|table| table.obstacle.clone()) {
        return Err(Error::Unsuitable { what, hint });
    }
    refuse_rows(&target.plan, table.as_ref())?;
    check_columns(target, table.as_ref())?;
    refuse_other_spellings(target, table.as_ref())?;
    let stays = |file: &TableFile| match target.plan.mode {
        // A file without rows only described the columns.
        _ if file.rows == 0 => false,
        WriteMode::Append | WriteMode::Upsert => true,
        WriteMode::Create | WriteMode::Replace => false,
        WriteMode::ReplacePartitions => !partitions.contains(&file.partition),
    };
    let kept: Vec<&TableFile> = table
        .iter()
        .flat_map(|table| &table.files)
        .filter(|file| stays(file))
        .collect();
    let place = run.root.folder().join(&target.path);
    let mut next = Building::new(target.next())?;
    for file in &kept {
        next.link(&place.join(&file.path), &file.path)?;
    }
    for path in table.iter().flat_map(|table| &table.others) {
        next.link(&place.join(path), path)?;
    }
    let mut rows: u64 = kept.iter().map(|file| file.rows).sum();
    let rows_before = table.as_ref().map(Table::rows);
    let rows_replaced = rows_before.unwrap_or(0) - rows;
    let (added, rows_added) = take_staged(&mut next, run, target)?;
    rows += rows_added;
    if kept.is_empty() && added.is_empty() {
        let name = file_name(run, &UnitKey::new(""), 0);
        next.add_empty(&target.layout, &run.options, &name)?;
    }
    let runs = table
        .as_ref()
        .and_then(|table| table.generation.as_ref())
        .map(|generation| {
            let kept: BTreeSet<&Path> = kept.iter().map(|file| file.path.as_path()).collect();
            let mut runs = generation.runs_after(|file| kept.contains(Path::new(file)));
            if target.plan.mode != WriteMode::Append {
                // Runs that wrote no files are marked, too: their descriptions of the table are outdated.
                let replaces = matches!(target.plan.mode, WriteMode::Replace | WriteMode::Create);
                runs.iter_mut().for_each(|run| run.gone |= replaces);
            }
            runs
        });
    let mut runs = runs.unwrap_or_default();
    let record = &run.stored.record;
    runs.push(GenerationRun {
        run_id: record.run_id,
        run_key: record.run_key.clone(),
        package: record.package.clone(),
        started_at_microseconds: record.started_at_microseconds,
        switched_at_microseconds: now_microseconds(),
        files: added,
        gone: false,
        rows_replaced: Some(rows_replaced),
        made_table: rows_before.is_none(),
    });
    next.finish(&Generation {
        format: FORMAT,
        columns: target.layout.stored.clone(),
        partitioned_by: target.plan.partition_by.clone(),
        runs,
    })?;
    Ok(Step::Exchange(Next {
        folder: next.folder,
        rows,
        partitions: written,
        notes: table.map(|table| table.notes).unwrap_or_default(),
    }))
}

/// Refuses partitions whose folder names are spelled differently from Inrush's. Otherwise the old partition would stay
/// beside the partition that should replace it.
fn refuse_other_spellings(target: &RunTarget, table: Option<&Table>) -> Result<()> {
    if target.plan.mode != WriteMode::ReplacePartitions {
        return Ok(());
    }
    let is_integer = |folder: &str| {
        let column = names::partition_column(folder);
        let plans = target.plan.columns.iter();
        let mut own = plans.filter(|plan| Some(plan.name.as_str()) == column);
        own.any(|plan| {
            use inrush_rows::column_type::ColumnType::{Int16, Int32, Int64};
            matches!(plan.column_type, Int16 | Int32 | Int64)
        })
    };
    for file in table.iter().flat_map(|table| &table.files) {
        for folder in file
            .partition
            .split('/')
            .filter(|folder| !folder.is_empty())
        {
            if let Some(here) = names::written_here(folder, is_integer(folder)) {
                return Err(Error::Unsuitable {
                    what: format!(
                        "table {} has the partition folder {folder:?}, but Inrush would name it \
                         {here:?}: old and new rows of one value would be in two folders",
                        target.plan.name.sql
                    ),
                    hint: "rename the folder, or replace the whole table".to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// Fails if the table has got other columns while the run was loading.
fn check_columns(target: &RunTarget, table: Option<&Table>) -> Result<()> {
    let now = crate::layout::Layout::new(&target.plan, table)?;
    if now.stored == target.layout.stored {
        return Ok(());
    }
    Err(Error::Unsuitable {
        what: format!(
            "the columns of table {} have changed since the load began",
            target.plan.name.sql
        ),
        hint:
            "run the same command again: it loads again the units that do not fit the new columns"
                .to_owned(),
    })
}

/// Links the files of staging. Returns their sorted names, and the number of rows.
fn take_staged(
    next: &mut Building,
    run: &ParquetRun,
    target: &RunTarget,
) -> Result<(Vec<String>, u64)> {
    let mut names = Vec::new();
    let mut rows = 0;
    each_staged(&target.staging, &mut |unit| {
        for (number, file) in unit.files.iter().enumerate() {
            let name = join(&file.partition, &file_name(run, &unit.record.key, number));
            let path = target.staging.join(&file.name);
            rows += data_file::measure(&path)?.0;
            next.link(&path, Path::new(&name))?;
            names.push(name);
        }
        Ok(())
    })?;
    names.sort_unstable();
    Ok((names, rows))
}

/// A file name also contains the run, so a reader that has listed an older generation opens no file of the new one.
fn file_name(run: &ParquetRun, key: &UnitKey, number: usize) -> String {
    let record = &run.stored.record;
    let first = first_file(
        &record.run_key,
        record.run_id,
        record.started_at_microseconds,
        key,
    );
    match number {
        0 => format!("{first}.parquet"),
        number => format!("{first}-{number}.parquet"),
    }
}

/// The name of a unit's first file, without its ending.
pub(super) fn first_file(
    run_key: &RunKey,
    run_id: RunId,
    started_at: i64,
    unit_key: &UnitKey,
) -> String {
    let texts = [
        run_key.as_str(),
        &run_id.to_string(),
        &started_at.to_string(),
        unit_key.as_str(),
    ];
    format!("part-{}", digest(&texts))
}

/// Records that the run is switched, and removes what it does not need any more.
fn finish(run: &ParquetRun, reached: &dyn Fn(PublishStep)) -> Result<()> {
    let mut finished = run
        .is_finished
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner());
    if *finished {
        return Ok(());
    }
    for target in &run.targets {
        retire(&run.root, run.stored.record.run_id, &target.next())?;
    }
    let mut stored = run.stored.clone();
    stored.publishing = None;
    stored.record.state = RunState::Switched;
    stored.record.switched_at_microseconds = run
        .root
        .switched_at(&run.stored)?
        .or_else(|| Some(now_microseconds()));
    stored.format = RUN_FORMAT;
    run.root.store_units(&stored)?;
    run.root.store_run(&stored)?;
    *finished = true;
    reached(PublishStep::Tidying);
    remove_staging(&run.root, stored.record.run_id)
}
