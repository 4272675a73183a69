//! A run that holds its lock.
//!
//! This module and [`publish`](crate::publish) depend on each other: a run publishes with the functions there, and they
//! use the run.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use inrush_destination::{
    CancelRun, ColumnForm, CommittedRecord, Error, NewRun, OpenRun, PublishStep, Published, Result,
    RowsInSource, RunRecord, RunState, StagedRows, StagedSums, StreamSetup, TargetPlan, UnitStream,
    WriteMode,
};
use inrush_rows::ids::{RunId, UnitKey};

use crate::cancel::Cancelled;
use crate::data_file;
use crate::files;
use crate::joined::{self, refuse_joined};
use crate::layout::Layout;
use crate::ledger::{
    RUN_FORMAT, Root, StagedUnit, StoredRun, StoredTarget, digest, each_staged, unit_file,
};
use crate::lock::Lock;
use crate::names;
use crate::options::Options;
use crate::publish;
use crate::run_target::RunTarget;
use crate::stream::Stream;
use crate::sums;
use crate::table::Table;

/// A run that holds its lock.
pub(super) struct ParquetRun {
    pub(super) root: Root,
    pub(super) options: Options,
    pub(super) targets: Vec<RunTarget>,
    pub(super) stored: StoredRun,
    counter: AtomicU64,
    /// Streams that were opened.
    streams: AtomicUsize,
    pub(super) cancelled: Arc<Cancelled>,
    /// True if its own file says that it is switched.
    pub(super) is_finished: Mutex<bool>,
    /// Its right to commit and to publish.
    pub(super) hold: Hold,
}

/// The right of a process to load into a run.
#[derive(Debug)]
pub(super) enum Hold {
    /// This process began the run or resumed it.
    Lock { _lock: Lock },
    /// Another process holds the lock. `by` is this process, in words.
    Joined { by: String },
}

impl ParquetRun {
    /// Takes the lock, records the run, and creates its staging.
    pub(super) fn begin(
        root: &Root,
        options: &Options,
        new: &NewRun,
        plans: &[TargetPlan],
    ) -> Result<ParquetRun> {
        files::make_folder(root.folder())?;
        let lock = Lock::take(
            &root.run_lock(&new.run_key),
            &format!("package {:?} in {}", new.package, root.folder().display()),
            &new.holder,
        )?;
        let earlier = new
            .takes_over
            .map(|run_id| stopped(root, new, run_id))
            .transpose()?;
        files::check_file_system(&root.trial(&new.run_key))?;
        check_targets(plans)?;
        check_bloom_filters(options, plans)?;
        let mut prepared = Vec::with_capacity(plans.len());
        for plan in plans {
            let path = names::path(&plan.name)?;
            let layout = layout(root, plan, &path, earlier.as_ref().map(|run| &run.record))?;
            prepared.push((plan.clone(), path, layout));
        }
        // Numbers are given one after the other, even if several runs begin at once.
        let numbers = Lock::wait(
            &root.numbers_lock(),
            &format!("the list of runs in {}", root.folder().display()),
            &new.holder,
            &|| false,
        )?;
        let mut record = match earlier {
            Some(earlier) => RunRecord {
                holder: new.holder.clone(),
                epoch: earlier.record.epoch + 1,
                package_hash: new.package_hash.clone(),
                ..earlier.record
            },
            None => RunRecord {
                run_id: root
                    .stored_runs()?
                    .last()
                    .map_or(RunId::FIRST, |run| run.record.run_id.next()),
                name: new.name.clone(),
                run_key: new.run_key.clone(),
                package: new.package.clone(),
                package_hash: new.package_hash.clone(),
                holder: new.holder.clone(),
                epoch: 1,
                state: RunState::Loading,
                started_at_microseconds: new.started_at_microseconds,
                switched_at_microseconds: None,
                targets: Vec::new(),
            },
        };
        record.targets = plans.iter().map(|plan| plan.name.sql.clone()).collect();
        let staged = prepared
            .into_iter()
            .map(|(plan, path, layout)| staged_target(root, record.run_id, plan, path, layout));
        let (stored_targets, targets): (Vec<_>, Vec<_>) = staged.unzip();
        let stored = StoredRun {
            format: RUN_FORMAT,
            record,
            targets: stored_targets,
            is_closed: false,
            is_being_undone: false,
            publishing: None,
            lineage: Some(new.lineage.clone()),
        };
        // A process that joined the stopped attempt has committed before this, or does not commit any more.
        joined::close(root, &stored, &|| false)?;
        drop(numbers);
        clear_staging(root, stored.record.run_id, &targets)?;
        let hold = Hold::Lock { _lock: lock };
        Ok(ParquetRun::open(root, options, stored, targets, hold))
    }

    /// A run whose publishing was interrupted by a crash, so that it can be finished.
    pub(super) fn half_published(
        root: &Root,
        options: &Options,
        stored: StoredRun,
        plans: Vec<TargetPlan>,
        lock: Lock,
    ) -> Result<ParquetRun> {
        let mut targets = Vec::with_capacity(plans.len());
        for (plan, target) in plans.into_iter().zip(&stored.targets) {
            let path = PathBuf::from(&target.path);
            targets.push(RunTarget {
                layout: Layout::new(&plan, Table::read(root, &path)?.as_ref())?,
                staging: root.staging(stored.record.run_id).join(&target.staging),
                plan,
                path,
            });
        }
        let hold = Hold::Lock { _lock: lock };
        Ok(ParquetRun::open(root, options, stored, targets, hold))
    }

    /// A run with its targets, of which this process has staged no file yet.
    pub(super) fn open(
        root: &Root,
        options: &Options,
        stored: StoredRun,
        targets: Vec<RunTarget>,
        hold: Hold,
    ) -> ParquetRun {
        ParquetRun {
            root: root.clone(),
            options: options.clone(),
            targets,
            stored,
            counter: AtomicU64::new(0),
            streams: AtomicUsize::new(0),
            cancelled: Arc::default(),
            is_finished: Mutex::new(false),
            hold,
        }
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.cancelled.is_asked()
    }

    /// The prefix of the names of all files that this process stages. No other process has the same prefix.
    fn attempt(&self) -> String {
        let epoch = self.stored.record.epoch;
        match &self.hold {
            Hold::Lock { .. } => epoch.to_string(),
            Hold::Joined { by } => format!("{epoch}-{}", digest(&[by])),
        }
    }
}

/// A target with its staging folder, and the same target as recorded in the run's file.
pub(super) fn staged_target(
    root: &Root,
    run_id: impl Display,
    plan: TargetPlan,
    path: PathBuf,
    layout: Layout,
) -> (StoredTarget, RunTarget) {
    let name = layout.digest(&plan);
    let stored = StoredTarget::new(&plan.name, &path, &name);
    let target = RunTarget {
        staging: root.staging(run_id).join(name),
        plan,
        path,
        layout,
    };
    (stored, target)
}

/// The stopped run that is resumed.
fn stopped(root: &Root, new: &NewRun, run_id: RunId) -> Result<StoredRun> {
    let unsuitable = |what: &str| Error::Unsuitable {
        what: format!("run {run_id} in {} {what}", root.folder().display()),
        hint: "run the command again: it makes a new plan".to_owned(),
    };
    let Some(stored) = root.stored_run(run_id)? else {
        return Err(unsuitable("does not exist any more"));
    };
    if stored.record.run_key != new.run_key {
        return Err(unsuitable("is of another package"));
    }
    match stored.record.state {
        RunState::Loading => Ok(stored),
        RunState::Switched => Err(unsuitable("is switched meanwhile")),
        RunState::Discarded => Err(unsuitable("was given up meanwhile")),
        RunState::Undone => Err(unsuitable("was undone meanwhile")),
    }
}

/// The layout of the target's rows in files; refused if its table does not match.
fn layout(
    root: &Root,
    plan: &TargetPlan,
    path: &Path,
    earlier: Option<&RunRecord>,
) -> Result<Layout> {
    if plan.mode == WriteMode::ReplacePartitions && plan.partition_by.is_empty() {
        return Err(Error::Unsuitable {
            what: format!(
                "table {}: its partitions should be replaced, but it has none",
                plan.name.sql
            ),
            hint: "set partition_by, or replace the whole table".to_owned(),
        });
    }
    if let Some(schema) = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
    {
        let is_table = files::list(&root.folder().join(schema))?
            .iter()
            .any(|path| {
                !path.is_dir()
                    && path.file_name().is_some_and(|name| {
                        let name = name.to_string_lossy();
                        name == crate::ledger::GENERATION || !name.starts_with(['.', '_'])
                    })
            });
        if is_table {
            return Err(Error::Unsuitable {
                what: format!(
                    "table {}: {} is itself a table, so it cannot be a schema",
                    plan.name.sql,
                    root.folder().join(schema).display()
                ),
                hint: "give the schema another name".to_owned(),
            });
        }
    }
    let table = Table::read(root, path)?;
    if let Some((what, hint)) = table.as_ref().and_then(|table| table.obstacle.clone()) {
        return Err(Error::Unsuitable { what, hint });
    }
    let holds_run = table
        .as_ref()
        .and_then(|table| table.generation.as_ref())
        .zip(earlier)
        .is_some_and(|(generation, record)| generation.run(record).is_some());
    if !holds_run {
        refuse_rows(plan, table.as_ref())?;
    }
    Layout::new(plan, table.as_ref())
}

/// Refuses to create a table that has rows.
pub(super) fn refuse_rows(plan: &TargetPlan, table: Option<&Table>) -> Result<()> {
    match table.map(Table::rows) {
        Some(rows) if rows > 0 && plan.mode == WriteMode::Create => Err(Error::Unsuitable {
            what: format!("table {} has {rows} rows already", plan.name.sql),
            hint: "use mode append or replace, or load into another table".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn check_targets(plans: &[TargetPlan]) -> Result<()> {
    let mut paths = BTreeSet::new();
    for plan in plans {
        let path = names::path(&plan.name)?;
        let within = paths
            .iter()
            .find(|other: &&PathBuf| path.starts_with(other.as_path()) || other.starts_with(&path));
        if let Some(other) = within {
            return Err(Error::Unsuitable {
                what: format!(
                    "tables {} and {} would be one folder, or one in the other",
                    other.display(),
                    path.display()
                ),
                hint: "give one of them another name".to_owned(),
            });
        }
        if plan.pre_sql.iter().chain(&plan.post_sql).next().is_some() {
            return Err(Error::Unsuitable {
                what: format!("table {}: files run no SQL", plan.name.sql),
                hint: "leave pre_sql and post_sql out".to_owned(),
            });
        }
        paths.insert(path);
    }
    Ok(())
}

fn check_bloom_filters(options: &Options, plans: &[TargetPlan]) -> Result<()> {
    let is_known = |name: &&String| {
        !plans
            .iter()
            .any(|plan| plan.columns.iter().any(|column| column.name == **name))
    };
    match options.bloom_filters.iter().find(is_known) {
        None => Ok(()),
        Some(name) => Err(Error::Unsuitable {
            what: format!("option bloom_filters: no table of the load has a column {name:?}"),
            hint: "name columns of the tables, with commas between them".to_owned(),
        }),
    }
}

/// Creates the staging folders, and removes files of uncommitted or incomplete units.
fn clear_staging(root: &Root, run_id: RunId, targets: &[RunTarget]) -> Result<()> {
    let staging = root.staging(run_id);
    files::make_folder(&staging)?;
    for path in files::list(&staging)? {
        if !targets.iter().any(|target| target.staging == path) {
            files::remove_folder(&path)?;
        }
    }
    for target in targets {
        files::make_folder(&target.staging)?;
        let mut used: HashSet<OsString> = HashSet::new();
        each_staged(&target.staging, &mut |unit| {
            if is_whole(&unit, &target.staging) {
                let record = unit_file(&target.staging, &unit.record.key);
                used.extend(record.file_name().map(OsString::from));
                used.extend(unit.files.into_iter().map(|file| OsString::from(file.name)));
            }
            Ok(())
        })?;
        // Records first: a record must not outlive its files.
        let (mut records, mut others) = (Vec::new(), Vec::new());
        files::each(&target.staging, &mut |path| {
            let is_used = path.file_name().is_some_and(|name| used.contains(name));
            match files::is_json(&path) {
                _ if is_used => {}
                true => records.push(path),
                false => others.push(path),
            }
            Ok(())
        })?;
        remove_in_turn(&target.staging, &records, &others)?;
    }
    // Readers that were listing retired generations of earlier runs have finished.
    for path in files::list(&root.retired())? {
        files::remove_folder(&path)?;
    }
    Ok(())
}

/// Removes records before the files that they name. The removal of the records is flushed to the disk first.
fn remove_in_turn(staging: &Path, records: &[PathBuf], others: &[PathBuf]) -> Result<()> {
    for path in records {
        files::remove_file(path)?;
    }
    if !records.is_empty() {
        files::sync_folder(staging)?;
    }
    for path in others {
        match path.is_dir() {
            true => files::remove_folder(path)?,
            false => files::remove_file(path)?,
        }
    }
    Ok(())
}

fn is_whole(unit: &StagedUnit, staging: &Path) -> bool {
    unit.files.iter().all(|file| {
        data_file::measure(&staging.join(&file.name))
            .is_ok_and(|measured| measured == (file.rows, file.bytes))
    })
}

impl OpenRun for ParquetRun {
    fn record(&self) -> &RunRecord {
        &self.stored.record
    }

    fn forget(&self, keys: &[UnitKey]) -> Result<Vec<UnitKey>> {
        refuse_joined(self, "removes no units")?;
        let mut gone = Vec::new();
        for key in keys {
            for target in &self.targets {
                let record = unit_file(&target.staging, key);
                let Some(unit) = files::read_whole::<StagedUnit>(&record)? else {
                    continue;
                };
                let named: Vec<PathBuf> = unit
                    .files
                    .iter()
                    .map(|file| target.staging.join(&file.name))
                    .collect();
                remove_in_turn(&target.staging, &[record], &named)?;
                if gone.last() != Some(key) {
                    gone.push(key.clone());
                }
            }
        }
        Ok(gone)
    }

    fn open_stream(&self, _: &StreamSetup<'_>) -> Result<Box<dyn UnitStream + '_>> {
        self.streams.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Stream {
            run: self,
            targets: &self.targets,
            options: &self.options,
            attempt: self.attempt(),
            counter: &self.counter,
            cancelled: &self.cancelled,
            unit: None,
        }))
    }

    fn units(&self, see: &mut dyn FnMut(CommittedRecord)) -> Result<()> {
        let see = &mut |unit| see(CommittedRecord::Unit(unit));
        self.root.units(self.stored.record.run_id, see)
    }

    fn staged_rows(&self) -> Result<StagedRows> {
        let rows = self.targets.iter().map(|target| {
            let mut rows = 0;
            each_staged(&target.staging, &mut |unit| {
                for file in &unit.files {
                    rows += data_file::measure(&target.staging.join(&file.name))?.0;
                }
                Ok(())
            })?;
            Ok(rows)
        });
        rows.collect::<Result<_>>().map(StagedRows::OfTargets)
    }

    fn staged_sums(&self, target: usize, forms: &[ColumnForm]) -> Result<StagedSums> {
        let streams = self.streams.load(Ordering::Relaxed);
        sums::staged(&self.targets[target], forms, streams, &self.cancelled)
    }

    fn shut_out(&self) -> Result<()> {
        refuse_joined(self, "shuts nobody out")?;
        let closed = StoredRun {
            is_closed: true,
            ..self.stored.clone()
        };
        joined::close(&self.root, &closed, &|| self.is_interrupted())
    }

    fn publish(
        &self,
        reached: &dyn Fn(PublishStep),
        _: &mut dyn RowsInSource,
    ) -> Result<Published> {
        refuse_joined(self, "publishes nothing")?;
        publish::publish(self, reached)
    }

    fn is_switched(&self) -> Result<bool> {
        Ok(self.root.switched_at(&self.stored)?.is_some())
    }

    fn cancel_handle(&self) -> Arc<dyn CancelRun> {
        self.cancelled.clone()
    }
}

/// Removes the staging of a run.
pub(super) fn remove_staging(root: &Root, run_id: RunId) -> Result<()> {
    let staging = root.staging(run_id);
    // Records go first, so that a crash leaves no unit without its files.
    for target in files::list(&staging)? {
        let mut is_removed = true;
        // Listing a folder while names are removed may miss some.
        while std::mem::take(&mut is_removed) {
            files::each(&target, &mut |path| {
                if !files::is_json(&path) {
                    return Ok(());
                }
                is_removed = true;
                files::remove_file(&path)
            })?;
        }
    }
    let gone = fs::metadata(&staging).is_err();
    files::remove_folder(&staging)?;
    match gone {
        true => Ok(()),
        false => files::sync_folder(staging.parent().unwrap_or(Path::new("."))),
    }
}
