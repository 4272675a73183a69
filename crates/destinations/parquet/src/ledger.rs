//! The ledger of a folder of tables: its files and their contents.
//!
//! ```text
//! FOLDER/
//!   _inrush/
//!     runs/7.json            the run: its record and targets
//!     runs/7.units.jsonl     its units, one on each line, once it is switched
//!     staging/7/DIGEST/      files of one target, and a record for each unit that is committed
//!     staging/7/DIGEST.next/ its next generation while it is made; right after the exchange, the old one
//!     retired/               generations that readers may still be listing
//!     undone/7/[SCHEMA/]TABLE/   files that an undo has taken out
//!     locks/                 two for each run key (the run's, and its fence), one for each table, one for the
//!                            numbers of runs
//!   [schema/]table/          a generation: the files that readers see
//!     _inrush.json           the columns, and the run that wrote each file
//!     [column=value/]part-DIGEST-N.parquet
//! ```
//!
//! `_inrush.json` is replaced together with its generation, so a run is in a table if and only if that file lists it.
//! The run's file in `runs/` is written afterwards; if a crash happens in between, it is restored from `_inrush.json`.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use inrush_destination::{
    Error, PastRun, Result, RunRecord, RunState, TargetName, TargetPlan, UnitRecord,
};
use inrush_rows::hexadecimal::hexadecimal;
use inrush_rows::ids::{RunId, RunKey, UnitKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files;
use crate::lock::Lock;

/// The folder for Inrush's own files in a folder of tables.
pub(super) const HOME: &str = "_inrush";
/// The file that describes a generation.
pub(super) const GENERATION: &str = "_inrush.json";
/// The format version of all these files except those of runs.
pub(super) const FORMAT: u32 = 1;
/// The format version of a run's file. In version 1 it contained the units of a switched run.
pub(super) const RUN_FORMAT: u32 = 2;
/// The most runs without rows that a generation lists. They are listed so that a run that stopped between two tables
/// finds out that its rows had been in this table.
const GONE_RUNS_MAX: usize = 100;

/// A folder of tables.
#[derive(Clone, Debug)]
pub(super) struct Root {
    folder: PathBuf,
}

impl Root {
    pub(super) fn new(folder: &Path) -> Root {
        Root {
            folder: folder.to_owned(),
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.join(HOME)
    }

    fn runs_folder(&self) -> PathBuf {
        self.home().join("runs")
    }

    pub(super) fn run_file(&self, run_id: impl Display) -> PathBuf {
        self.runs_folder().join(format!("{run_id}.json"))
    }

    pub(super) fn units_file(&self, run_id: impl Display) -> PathBuf {
        self.runs_folder().join(format!("{run_id}.units.jsonl"))
    }

    pub(super) fn staging(&self, run_id: impl Display) -> PathBuf {
        self.home().join("staging").join(run_id.to_string())
    }

    pub(super) fn retired(&self) -> PathBuf {
        self.home().join("retired")
    }

    /// The folder that keeps the files which an undo takes out of the tables of a run.
    pub(super) fn undone(&self, run_id: RunId) -> PathBuf {
        self.home().join("undone").join(run_id.to_string())
    }

    pub(super) fn run_lock(&self, run_key: &RunKey) -> PathBuf {
        let name = format!("run-{}.lock", digest(&[run_key.as_str()]));
        self.home().join("locks").join(name)
    }

    /// The lock file of a run's fence. The lock is held for a moment while a process that joined the run commits a
    /// unit, and while the run is taken over or closed.
    pub(super) fn fence_lock(&self, run_key: &RunKey) -> PathBuf {
        let name = format!("fence-{}.lock", digest(&[run_key.as_str()]));
        self.home().join("locks").join(name)
    }

    pub(super) fn table_lock(&self, table: &Path) -> PathBuf {
        let name = format!("table-{}.lock", digest(&[&table.to_string_lossy()]));
        self.home().join("locks").join(name)
    }

    /// The folder in which a run with this key tries out what the file system can do.
    pub(super) fn trial(&self, run_key: &RunKey) -> PathBuf {
        let name = format!("trial-{}", digest(&[run_key.as_str()]));
        self.home().join(name)
    }

    /// Locks tables: calls `lock` with the path of each lock and a text that names the table. All callers lock in the
    /// same order, so two processes that need the same tables cannot wait for each other.
    pub(super) fn lock_tables<'a>(
        &self,
        tables: impl Iterator<Item = &'a Path>,
        lock: impl Fn(&Path, &str) -> Result<Lock>,
    ) -> Result<Vec<Lock>> {
        let mut tables: Vec<&Path> = tables.collect();
        tables.sort_unstable();
        let locks = tables.into_iter().map(|table| {
            let what = format!("table {}", table.display());
            lock(&self.table_lock(table), &what)
        });
        locks.collect()
    }

    pub(super) fn numbers_lock(&self) -> PathBuf {
        self.home().join("locks").join("numbers.lock")
    }

    /// The recorded runs, the oldest first.
    pub(super) fn stored_runs(&self) -> Result<Vec<StoredRun>> {
        let mut runs = Vec::new();
        for path in files::list(&self.runs_folder())? {
            if files::is_json(&path) {
                runs.extend(read_run(&path)?);
            }
        }
        runs.sort_by_key(|run| run.record.run_id);
        Ok(runs)
    }

    pub(super) fn stored_run(&self, run_id: RunId) -> Result<Option<StoredRun>> {
        read_run(&self.run_file(run_id))
    }

    pub(super) fn store_run(&self, run: &StoredRun) -> Result<()> {
        files::make_folder(&self.runs_folder())?;
        files::write_whole(&self.run_file(run.record.run_id), run)
    }

    /// The description of a table's generation; `None` if there is none, or if the table is not ours.
    pub(super) fn generation(&self, table: &Path) -> Result<Option<Generation>> {
        let path = self.folder.join(table).join(GENERATION);
        let generation = files::read_whole::<Generation>(&path)?;
        if let Some(generation) = &generation {
            check_format(generation.format, &path)?;
        }
        Ok(generation)
    }

    /// The run as the contract has it. If a crash happened after the tables were exchanged and before the run's own
    /// file was written, the state comes from the tables.
    pub(super) fn past_run(&self, stored: &StoredRun) -> Result<PastRun> {
        let mut record = stored.record.clone();
        if record.state == RunState::Loading
            && let Some(switched_at) = self.switched_at(stored)?
        {
            record.state = RunState::Switched;
            record.switched_at_microseconds = Some(switched_at);
        }
        let mut gone = Vec::new();
        if record.state == RunState::Switched {
            for (target, name) in stored.targets.iter().zip(&record.targets) {
                if !self.holds(&record, Path::new(&target.path))? {
                    gone.push(name.clone());
                }
            }
        }
        Ok(PastRun { record, gone })
    }

    /// Passes each unit of a run to `see`: from staging until the run's own file says that it is switched, then from
    /// its list.
    pub(super) fn units(&self, run_id: RunId, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
        let Some(stored) = self.stored_run(run_id)? else {
            return Ok(());
        };
        match stored.record.state {
            RunState::Loading => stored.targets.iter().try_for_each(|target| {
                let folder = self.staging(run_id).join(&target.staging);
                each_staged(&folder, &mut |unit| {
                    see(unit.record);
                    Ok(())
                })
            }),
            RunState::Switched if stored.format == 1 => {
                let old: Option<UnitsOfFormat1> = files::read_whole(&self.run_file(run_id))?;
                old.into_iter().flat_map(|old| old.units).for_each(see);
                Ok(())
            }
            RunState::Switched => files::each_line(&self.units_file(run_id), see),
            RunState::Discarded | RunState::Undone => Ok(()),
        }
    }

    /// Writes the list of the units in a run's staging, before staging is removed.
    pub(super) fn store_units(&self, stored: &StoredRun) -> Result<()> {
        let staging = self.staging(stored.record.run_id);
        let path = self.units_file(stored.record.run_id);
        files::write_whole_by(&path, |out| {
            stored.targets.iter().try_for_each(|target| {
                each_staged(&staging.join(&target.staging), &mut |unit| {
                    files::write_line(out, &path, &unit.record)
                })
            })
        })
    }

    /// The time when the run was published to its last target; `None` if it is not in all of them.
    pub(super) fn switched_at(&self, stored: &StoredRun) -> Result<Option<i64>> {
        let mut last = None;
        for target in &stored.targets {
            let generation = self.generation(Path::new(&target.path))?;
            match generation.as_ref().and_then(|it| it.run(&stored.record)) {
                Some(run) => last = last.max(Some(run.switched_at_microseconds)),
                None => return Ok(None),
            }
        }
        Ok(last)
    }

    /// True if the run is in any of its targets.
    pub(super) fn is_in_a_table(&self, stored: &StoredRun) -> Result<bool> {
        for target in &stored.targets {
            let generation = self.generation(Path::new(&target.path))?;
            if generation.is_some_and(|it| it.run(&stored.record).is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn holds(&self, record: &RunRecord, table: &Path) -> Result<bool> {
        let generation = self.generation(table)?;
        let Some(run) = generation.as_ref().and_then(|it| it.run(record)) else {
            return Ok(false);
        };
        let folder = self.folder.join(table);
        // Rows that somebody has removed by hand are not added again.
        let stands = |file: &String| folder.join(file).is_file();
        Ok(!run.gone && (run.files.is_empty() || run.files.iter().any(stands)))
    }
}

fn read_run(path: &Path) -> Result<Option<StoredRun>> {
    let run = files::read_whole::<StoredRun>(path)?;
    match &run {
        Some(run) if !(1..=RUN_FORMAT).contains(&run.format) => {
            Err(of_another_form(run.format, RUN_FORMAT, path))
        }
        _ => Ok(run),
    }
}

fn check_format(format: u32, path: &Path) -> Result<()> {
    match format {
        FORMAT => Ok(()),
        _ => Err(of_another_form(format, FORMAT, path)),
    }
}

fn of_another_form(format: u32, known: u32, path: &Path) -> Error {
    Error::Ledger {
        what: format!(
            "{} has format {format}, but this version of Inrush knows format {known}",
            path.display()
        ),
        hint: "use the version of Inrush that wrote it, or a newer one".to_owned(),
    }
}

/// A name for this combination of texts.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hexadecimal(&hash.finalize()[..12])
}

/// The contents of a run's file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredRun {
    pub(super) format: u32,
    pub(super) record: RunRecord,
    /// The targets, in the order of `record.targets`.
    pub(super) targets: Vec<StoredTarget>,
    /// True if processes that joined it may not commit any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_closed: bool,
    /// True if an undo is taking its rows out of its tables; some may be out already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) is_being_undone: bool,
    /// The plans of its targets, written before the first exchange.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) publishing: Option<Vec<TargetPlan>>,
    /// Where its columns come from, in the engine's own text. Older versions kept none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) lineage: Option<String>,
}

/// The units in a run's file of version 1.
#[derive(Deserialize)]
struct UnitsOfFormat1 {
    units: Vec<UnitRecord>,
}

/// A target of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredTarget {
    pub(super) schema: Option<String>,
    pub(super) name: String,
    /// The path of its folder, inside the folder of all tables.
    pub(super) path: String,
    /// The path of its staging folder, inside the run's.
    pub(super) staging: String,
}

impl StoredTarget {
    pub(super) fn new(name: &TargetName, path: &Path, staging: &str) -> StoredTarget {
        StoredTarget {
            schema: name.schema.clone(),
            name: name.name.clone(),
            path: path.to_string_lossy().into_owned(),
            staging: staging.to_owned(),
        }
    }
}

/// The description of a generation, stored in its folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Generation {
    pub(super) format: u32,
    /// The table's columns, including partition columns.
    pub(super) columns: Vec<StoredColumn>,
    pub(super) partitioned_by: Vec<String>,
    /// The runs that have, or had, rows in it.
    pub(super) runs: Vec<GenerationRun>,
}

/// A column of a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredColumn {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) type_name: String,
    pub(super) not_null: bool,
}

/// A run in a generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GenerationRun {
    pub(super) run_id: RunId,
    pub(super) run_key: RunKey,
    pub(super) package: String,
    pub(super) started_at_microseconds: i64,
    pub(super) switched_at_microseconds: i64,
    /// Its files that still exist, relative to the table's folder.
    pub(super) files: Vec<String>,
    /// True if other rows have replaced its rows.
    pub(super) gone: bool,
    /// The number of rows that it took out of the table; `None` if an older version of Inrush published it without this
    /// number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rows_replaced: Option<u64>,
    /// True if the run created the table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) made_table: bool,
}

impl Generation {
    /// The entry of this run.
    pub(super) fn run(&self, record: &RunRecord) -> Option<&GenerationRun> {
        // A table's folder may have been copied from elsewhere, where the number belongs to another run.
        self.runs.iter().find(|run| {
            run.run_id == record.run_id
                && run.run_key == record.run_key
                && run.started_at_microseconds == record.started_at_microseconds
        })
    }

    /// The entries of runs, without the files for which `stays` is false.
    pub(super) fn runs_after(&self, stays: impl Fn(&str) -> bool) -> Vec<GenerationRun> {
        let mut runs = self.runs.clone();
        for run in &mut runs {
            let had_files = !run.files.is_empty();
            run.files.retain(|file| stays(file));
            run.gone |= had_files && run.files.is_empty();
        }
        let mut excess = runs
            .iter()
            .filter(|run| run.gone)
            .count()
            .saturating_sub(GONE_RUNS_MAX);
        runs.retain(|run| {
            let drop = run.gone && excess > 0;
            excess -= usize::from(drop);
            !drop
        });
        runs
    }
}

/// A committed unit: the presence of this record is the commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StagedUnit {
    pub(super) format: u32,
    pub(super) record: UnitRecord,
    pub(super) files: Vec<StagedFile>,
}

/// A file of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StagedFile {
    /// Its name in staging.
    pub(super) name: String,
    /// The folder of its partition; empty without partitions.
    pub(super) partition: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// The ending of files in staging; no glob pattern for Parquet files matches it.
pub(super) const STAGED: &str = "staged";

/// The path of a unit's record.
pub(super) fn unit_file(staging: &Path, key: &UnitKey) -> PathBuf {
    staging.join(format!("{}.json", digest(&[key.as_str()])))
}

/// Passes each committed unit in a target's staging to `see`, in no order.
pub(super) fn each_staged(
    staging: &Path,
    see: &mut dyn FnMut(StagedUnit) -> Result<()>,
) -> Result<()> {
    files::each(staging, &mut |path| {
        if !files::is_json(&path) {
            return Ok(());
        }
        match files::read_whole::<StagedUnit>(&path)? {
            Some(unit) => {
                check_format(unit.format, &path)?;
                see(unit)
            }
            None => Ok(()),
        }
    })
}
