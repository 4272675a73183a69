//! The ledger: a file for each run, and one for each of its committed units.

use inrush_destination::{
    Error, NewRun, PastRun, Result, RunRecord, RunState, TargetPlan, UnitRecord,
};
use inrush_rows::ids::{RunId, RunKey, UnitKey};
use serde::{Deserialize, Serialize};

use crate::catalog::Catalog;
use crate::files::{self, Layout};

/// `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunFile {
    /// The run. A switched run is still recorded here as loading; the catalog has its real state.
    pub record: RunRecord,
    /// The staging of its targets.
    pub staging: Vec<Staging>,
    /// The number of the next staging.
    pub next_staging: u64,
    /// Where its columns come from, in the engine's own text.
    #[serde(default)]
    pub lineage: Option<String>,
}

/// The staging of one target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staging {
    /// Names its folder.
    pub number: u64,
    /// The target's name.
    pub target: String,
    /// The plan's text for the settings that determine its rows.
    pub shape: String,
}

impl RunFile {
    /// The run with this number; `None` if there is none.
    pub fn read(layout: &Layout, run: RunId) -> Result<Option<RunFile>> {
        files::read_json(&layout.run_file(run))
    }

    pub fn write(&self, layout: &Layout) -> Result<()> {
        files::write_json(&layout.run_file(self.record.run_id), self)
    }

    /// A run that begins now, or that is resumed. Its staging must still be made.
    pub fn begin(layout: &Layout, new: &NewRun, targets: &[TargetPlan]) -> Result<RunFile> {
        let names = targets
            .iter()
            .map(|target| target.name.sql.clone())
            .collect();
        let Some(run) = new.takes_over else {
            return Ok(RunFile {
                record: RunRecord {
                    run_id: next_id(layout)?,
                    name: new.name.clone(),
                    run_key: new.run_key.clone(),
                    package: new.package.clone(),
                    package_hash: new.package_hash.clone(),
                    holder: new.holder.clone(),
                    epoch: 1,
                    state: RunState::Loading,
                    started_at_microseconds: new.started_at_microseconds,
                    switched_at_microseconds: None,
                    targets: names,
                },
                staging: Vec::new(),
                next_staging: 0,
                lineage: Some(new.lineage.clone()),
            });
        };
        let old = RunFile::read(layout, run)?;
        let is_switched = Catalog::read(layout)?.switched.contains_key(&run);
        match old {
            Some(mut old) if old.record.state == RunState::Loading && !is_switched => {
                old.record.package_hash = new.package_hash.clone();
                old.record.holder = new.holder.clone();
                old.record.epoch += 1;
                old.record.targets = names;
                old.lineage = Some(new.lineage.clone());
                Ok(old)
            }
            _ => Err(Error::Ledger {
                what: format!(
                    "run {run} cannot be resumed: it is not in the ledger as a stopped run"
                ),
                hint: "another process has ended it meanwhile: run the same command again"
                    .to_owned(),
            }),
        }
    }

    /// Gives each target its staging, removes staging of other settings, and makes rows and records agree.
    pub fn make_staging(&mut self, layout: &Layout, targets: &[TargetPlan]) -> Result<Vec<u64>> {
        let run = self.record.run_id;
        let old = std::mem::take(&mut self.staging);
        for target in targets {
            let is_its = |staging: &&Staging| {
                staging.target == target.name.sql && staging.shape == target.shape
            };
            let staging = old.iter().find(is_its).cloned().unwrap_or_else(|| {
                self.next_staging += 1;
                Staging {
                    number: self.next_staging,
                    target: target.name.sql.clone(),
                    shape: target.shape.clone(),
                }
            });
            self.staging.push(staging);
        }
        self.write(layout)?;
        let numbers: Vec<u64> = self.staging.iter().map(|staging| staging.number).collect();
        for number in old
            .iter()
            .map(|old| old.number)
            .filter(|old| !numbers.contains(old))
        {
            files::remove_folder(&layout.units(run, number))?;
            files::remove_folder(&layout.rows(run, number))?;
        }
        for number in &numbers {
            files::make_folder(&layout.units(run, *number))?;
            files::make_folder(&layout.rows(run, *number))?;
            reconcile(layout, run, *number)?;
        }
        Ok(numbers)
    }
}

/// Removes records without rows, rows without a record, and files that were not finished.
fn reconcile(layout: &Layout, run: RunId, staging: u64) -> Result<()> {
    let (units, rows) = (layout.units(run, staging), layout.rows(run, staging));
    for (these, others) in [(&units, &rows), (&rows, &units)] {
        for path in files::entries(these)? {
            let path = path?;
            let is_whole = path
                .extension()
                .is_some_and(|extension| extension == "json");
            let has_other = path
                .file_name()
                .is_some_and(|name| others.join(name).exists());
            if !is_whole || !has_other {
                files::remove_file(&path)?;
            }
        }
    }
    Ok(())
}

/// Takes the next number of a run. It belongs to the process that makes its folder.
fn next_id(layout: &Layout) -> Result<RunId> {
    files::make_folder(&layout.runs())?;
    let mut next = RunId::FIRST;
    for path in files::entries(&layout.runs())? {
        if let Some(id) = run_id(&path?) {
            next = next.max(id.next());
        }
    }
    while !files::make_folder(&layout.run(next))? {
        next = next.next();
    }
    Ok(next)
}

fn run_id(folder: &std::path::Path) -> Option<RunId> {
    folder.file_name()?.to_str()?.parse().ok()
}

/// The runs of a package, or of all, the oldest first.
pub fn runs(layout: &Layout, key: Option<&RunKey>) -> Result<Vec<PastRun>> {
    let catalog = Catalog::read(layout)?;
    let mut runs = Vec::new();
    for path in files::entries(&layout.runs())? {
        let Some(id) = run_id(&path?) else { continue };
        // A process that was killed before it wrote the file has left an empty folder.
        let Some(RunFile { mut record, .. }) = RunFile::read(layout, id)? else {
            continue;
        };
        if key.is_some_and(|key| *key != record.run_key) {
            continue;
        }
        let mut gone = Vec::new();
        if let Some(switched_at) = catalog.switched.get(&id) {
            record.state = RunState::Switched;
            record.switched_at_microseconds = Some(*switched_at);
            let is_gone = |target: &&String| {
                let entry = catalog.tables.get(*target);
                let part = entry.and_then(|entry| entry.part_of(id));
                !part.is_some_and(|part| layout.folder().join(&part.folder).is_dir())
            };
            gone = record.targets.iter().filter(is_gone).cloned().collect();
        }
        runs.push(PastRun { record, gone });
    }
    runs.sort_by_key(|run| run.record.run_id);
    Ok(runs)
}

/// Passes the units of a run to the caller, one after the other.
pub fn units(layout: &Layout, run: RunId, see: &mut dyn FnMut(UnitRecord)) -> Result<()> {
    for staging in files::entries(&layout.all_units(run))? {
        for path in files::entries(&staging?)? {
            let path = path?;
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
                && let Some(unit) = files::read_json(&path)?
            {
                see(unit);
            }
        }
    }
    Ok(())
}

/// Removes units of a run: the record first, because rows without a record count as not written.
pub fn forget(layout: &Layout, run: RunId, stagings: &[u64], keys: &[UnitKey]) -> Result<()> {
    for key in keys {
        let name = files::unit_file(key);
        for staging in stagings {
            files::remove_file(&layout.units(run, *staging).join(&name))?;
            files::remove_file(&layout.rows(run, *staging).join(&name))?;
        }
    }
    Ok(())
}

/// Gives up a stopped run.
pub fn discard(layout: &Layout, run: RunId) -> Result<()> {
    let Some(mut file) = RunFile::read(layout, run)? else {
        return Ok(());
    };
    if Catalog::read(layout)?.switched.contains_key(&run) {
        return Err(Error::Unsuitable {
            what: format!("run {run} cannot be given up: its rows are in their tables"),
            hint: "another process has ended it meanwhile: there is nothing to give up".to_owned(),
        });
    }
    files::remove_folder(&layout.all_units(run))?;
    files::remove_folder(&layout.all_rows(run))?;
    file.record.state = RunState::Discarded;
    file.staging.clear();
    file.write(layout)
}
