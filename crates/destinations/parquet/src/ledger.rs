//! The ledger of a folder of tables: its files and their contents.
//!
//! ```text
//! FOLDER/
//!   _inrush/
//!     runs/7.json            the record of run 7 and its targets; after its switch, also its units
//!     staging/7/DIGEST/      files of one target, and a record for each committed unit
//!     staging/7/DIGEST.next/ the target's next generation while it is written; the old one after the switch
//!     retired/               old generations that readers may still be listing
//!     locks/                 one file for each run key, one for each table, one for run numbers
//!   [schema/]table/          a generation: the files that readers see
//!     _inrush.json           the columns, and the run that wrote each file
//!     [column=value/]part-DIGEST-N.parquet
//! ```
//!
//! `_inrush.json` comes and goes with its generation, so a run is in a table exactly if it says so.
//! The file below `runs/` follows; where a crash has come between, it is written anew from the former.

use std::path::{Path, PathBuf};

use inrush_destination::{
    Error, PastRun, Result, RunRecord, RunState, TargetName, TargetPlan, UnitRecord,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::files;

/// Where Inrush keeps its own things in a folder of tables.
pub(super) const HOME: &str = "_inrush";
/// What tells of a generation.
pub(super) const GENERATION: &str = "_inrush.json";
/// The form of all these files.
pub(super) const FORMAT: u32 = 1;
/// Runs whose rows are gone are remembered for a while, so that a run which stopped between two
/// tables finds that it was here.
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

    fn run_file(&self, run_id: i64) -> PathBuf {
        self.runs_folder().join(format!("{run_id}.json"))
    }

    pub(super) fn staging(&self, run_id: i64) -> PathBuf {
        self.home().join("staging").join(run_id.to_string())
    }

    pub(super) fn retired(&self) -> PathBuf {
        self.home().join("retired")
    }

    pub(super) fn run_lock(&self, run_key: &str) -> PathBuf {
        let name = format!("run-{}.lock", digest(&[run_key]));
        self.home().join("locks").join(name)
    }

    pub(super) fn table_lock(&self, table: &Path) -> PathBuf {
        let name = format!("table-{}.lock", digest(&[&table.to_string_lossy()]));
        self.home().join("locks").join(name)
    }

    pub(super) fn numbers_lock(&self) -> PathBuf {
        self.home().join("locks").join("numbers.lock")
    }

    /// The runs that are written down, the oldest first.
    pub(super) fn stored_runs(&self) -> Result<Vec<StoredRun>> {
        let mut runs = Vec::new();
        for path in files::list(&self.runs_folder())? {
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
                && let Some(run) = files::read_whole::<StoredRun>(&path)?
            {
                check_format(run.format, &path)?;
                runs.push(run);
            }
        }
        runs.sort_by_key(|run| run.record.run_id);
        Ok(runs)
    }

    pub(super) fn stored_run(&self, run_id: i64) -> Result<Option<StoredRun>> {
        let path = self.run_file(run_id);
        let run = files::read_whole::<StoredRun>(&path)?;
        if let Some(run) = &run {
            check_format(run.format, &path)?;
        }
        Ok(run)
    }

    pub(super) fn store_run(&self, run: &StoredRun) -> Result<()> {
        files::make_folder(&self.runs_folder())?;
        files::write_whole(&self.run_file(run.record.run_id), run)
    }

    /// What is told of a table's generation; none where there is none, or not one of ours.
    pub(super) fn generation(&self, table: &Path) -> Result<Option<Generation>> {
        let path = self.folder.join(table).join(GENERATION);
        let generation = files::read_whole::<Generation>(&path)?;
        if let Some(generation) = &generation {
            check_format(generation.format, &path)?;
        }
        Ok(generation)
    }

    /// The run as the contract tells it. Where a crash came between the tables and the run's own
    /// file, the tables are right.
    pub(super) fn past_run(&self, stored: &StoredRun) -> Result<PastRun> {
        let mut record = stored.record.clone();
        let mut units = stored.units.clone();
        if record.state == RunState::Loading {
            let switched_at = self.switched_at(stored)?;
            for target in &stored.targets {
                let folder = self.staging(record.run_id).join(&target.staging);
                units.extend(staged_units(&folder)?.into_iter().map(|unit| unit.record));
            }
            if switched_at.is_some() {
                record.state = RunState::Switched;
                record.switched_at_microseconds = switched_at;
            }
        }
        let mut gone = Vec::new();
        if record.state == RunState::Switched {
            for (target, name) in stored.targets.iter().zip(&record.targets) {
                if !self.holds(&record, Path::new(&target.path))? {
                    gone.push(name.clone());
                }
            }
        }
        Ok(PastRun {
            record,
            units,
            gone,
        })
    }

    /// When the run came into its last target, where it is in all of them.
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

    /// Whether the run is in any of its targets.
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
        // What somebody took out by hand does not come again beside the rest.
        let stands = |file: &String| folder.join(file).is_file();
        Ok(!run.gone && (run.files.is_empty() || run.files.iter().any(stands)))
    }
}

fn check_format(format: u32, path: &Path) -> Result<()> {
    if format == FORMAT {
        return Ok(());
    }
    Err(Error::Ledger {
        what: format!(
            "{} has format {format}, but this version of Inrush knows format {FORMAT}",
            path.display()
        ),
        hint: "use the version of Inrush that wrote it, or a newer version".to_owned(),
    })
}

/// A name for what these texts name together.
pub(super) fn digest(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize()[..12]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// A run in its own file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StoredRun {
    pub(super) format: u32,
    pub(super) record: RunRecord,
    /// In the order of `record.targets`.
    pub(super) targets: Vec<StoredTarget>,
    /// Its units, once it is switched.
    pub(super) units: Vec<UnitRecord>,
    /// Its targets as they were planned, from when the first of them is about to be exchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) publishing: Option<Vec<TargetPlan>>,
}

/// A target of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredTarget {
    pub(super) schema: Option<String>,
    pub(super) name: String,
    /// Its folder, below that of all tables.
    pub(super) path: String,
    /// The folder of its staging, below the run's.
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

/// What is told of a generation, in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Generation {
    pub(super) format: u32,
    /// The table's columns, those of partitions among them.
    pub(super) columns: Vec<StoredColumn>,
    pub(super) partitioned_by: Vec<String>,
    /// The runs whose rows are in it, or were.
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
    pub(super) run_id: i64,
    pub(super) run_key: String,
    pub(super) package: String,
    pub(super) started_at_microseconds: i64,
    pub(super) switched_at_microseconds: i64,
    /// Its files that are still there, below the table's folder.
    pub(super) files: Vec<String>,
    /// Whether its rows have given way to others.
    pub(super) gone: bool,
}

impl Generation {
    /// The run in it.
    pub(super) fn run(&self, record: &RunRecord) -> Option<&GenerationRun> {
        // A table's folder may have come from elsewhere, where numbers mean other runs.
        self.runs.iter().find(|run| {
            run.run_id == record.run_id
                && run.run_key == record.run_key
                && run.started_at_microseconds == record.started_at_microseconds
        })
    }

    /// The runs as they are when only files stay that `stays` says.
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

/// A unit that is committed: its presence is the commit.
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
    /// The folder of its partition; empty where there are none.
    pub(super) partition: String,
    pub(super) rows: u64,
    pub(super) bytes: u64,
}

/// The ending of files in staging, which no glob pattern of Parquet files takes.
pub(super) const STAGED: &str = "staged";

/// The record's file of a unit.
pub(super) fn unit_file(staging: &Path, key: &str) -> PathBuf {
    staging.join(format!("{}.json", digest(&[key])))
}

/// The units that are committed in a target's staging, by their keys.
pub(super) fn staged_units(staging: &Path) -> Result<Vec<StagedUnit>> {
    let mut units = Vec::new();
    for path in files::list(staging)? {
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && let Some(unit) = files::read_whole::<StagedUnit>(&path)?
        {
            check_format(unit.format, &path)?;
            units.push(unit);
        }
    }
    units.sort_by(|left, right| left.record.key.cmp(&right.record.key));
    Ok(units)
}
