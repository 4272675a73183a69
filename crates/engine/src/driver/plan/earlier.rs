//! The work of earlier runs of the same package, and how much of it the plan can keep.

use std::collections::BTreeSet;

use inrush_destination::{Destination, PastRun, RunRecord, RunState};
use inrush_package::Mode;
use inrush_rows::ids::{FileKey, RunId, RunKey, RunName, UnitKey};
use inrush_rows::plural::counted;

use inrush_source::SinceRange;

use super::unplanned::UnplannedUnits;
use super::{ContractEarlier, ContractFlow, UnitAccounts, UnitIndex, each_record};
use crate::ledger::{Account, SplitRecord, SwitchedFile};
use crate::plan::changed::{self, FilesBefore, PlannedFiles};
use crate::plan::earlier::{self, EarlierRun, PackageRuns, leave_out};
use crate::plan::loaded::{LoadedFiles, WantedFiles};
use crate::plan::range_marks::RunRanges;
use crate::plan::since::{self, SinceMark};
use crate::plan::{PlanError, PlanOptions, identity};

/// Looks the package up in the ledger. Notes for the user are added to `notes`. Flows that are loaded already, beside others
/// that are not, are removed; their indices are returned.
pub async fn find(
    destination: &dyn Destination,
    run_key: &RunKey,
    package_hash: &str,
    flows: &mut Vec<ContractFlow>,
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<(ContractEarlier, Vec<usize>), PlanError> {
    let mut runs = RunsOfDestination {
        destination,
        runs: destination.runs(Some(run_key))?,
    };
    if let Some(run) = runs.of_marks(flows) {
        return Ok((loaded(destination, run, flows)?, Vec::new()));
    }
    let wanted = flows.iter().map(|flow| wanted(flow, package_hash));
    let work = earlier::find(&mut runs, wanted, options, notes).await?;
    leave_out(flows, &work.left_out);
    let flows = &flows[..];
    let found = match (work.run, runs.of_marks(flows)) {
        (EarlierRun::Loaded(run), _) => loaded(destination, run.record, flows)?,
        (_, Some(run)) => loaded(destination, run, flows)?,
        (EarlierRun::Stopped(run), None) => {
            stopped(destination, run.record, flows, options, notes).await?
        }
        (EarlierRun::None, None) => {
            if !options.again && !options.is_replay {
                options.or_note(refuse_lost_ledger(destination, run_key, flows))?;
            }
            ContractEarlier::None
        }
    };
    Ok((found, work.left_out))
}

/// The work of a run that was stopped, as much of it as the plan can keep.
async fn stopped(
    destination: &dyn Destination,
    run: RunRecord,
    flows: &[ContractFlow],
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<ContractEarlier, PlanError> {
    let planned: Vec<PlannedFiles<'_>> = flows.iter().map(planned).collect();
    let index = UnitIndex::new(flows);
    let mut before = FilesBefore::new(&planned);
    let mut kept = UnitAccounts::none(flows);
    let mut in_parts = BTreeSet::new();
    let mut dropped_keys = BTreeSet::new();
    // Targets of which rows of the stopped run are loaded again.
    let mut losing: BTreeSet<String> = BTreeSet::new();
    let mut unplanned = UnplannedUnits::new(flows);
    each_record(destination, &run, &mut |record| {
        record.splits.iter().for_each(|split| before.see(split));
        match index.place_of(&record) {
            Some(place) => {
                kept.add(place, &record.account());
                in_parts.extend((!record.is_whole()).then_some(place));
            }
            None => {
                unplanned.see(&record);
                losing.insert(record.target.clone());
                dropped_keys.insert(record.unit_key());
            }
        }
    })?;
    let found = before.look(options).await?;
    if !options.again && !options.is_replay {
        changed::refuse(&run.name, &found.changed)?;
    }
    if !found.changed.is_empty() {
        let changed: BTreeSet<&str> = found.changed.iter().map(|file| file.key.as_str()).collect();
        for (flow_at, flow) in flows.iter().enumerate() {
            for (unit_at, unit) in flow.units.iter().enumerate() {
                let place = (flow_at, unit_at);
                if kept.get(place).is_none() {
                    continue;
                }
                let mut keys = unit
                    .splits
                    .iter()
                    .map(|split| identity::file_key(&*split.input));
                if keys.any(|key| changed.contains(key.as_str())) {
                    kept.set(place, None);
                    dropped_keys.insert(unit.key.clone());
                    losing.insert(flow.reading.target.clone());
                }
            }
        }
    }
    if !destination.abilities().removes_units_alone {
        for (flow_at, flow) in flows.iter().enumerate() {
            if !losing.contains(&flow.reading.target) {
                continue;
            }
            let mut together = 0;
            for (unit_at, unit) in flow.units.iter().enumerate() {
                let place = (flow_at, unit_at);
                if kept.get(place).is_some() {
                    kept.set(place, None);
                    dropped_keys.insert(unit.key.clone());
                    together += 1;
                }
            }
            if together > 0 {
                notes.push(format!(
                    "{}: rows of single units cannot be removed from its staging table, so {} of the stopped run that had not \
                     changed must be loaded again, too",
                    flow.reading.target,
                    counted(together, "unit")
                ));
            }
        }
    }
    notes.extend(changed::note(&found.changed));
    notes.extend(identity::another_version(&run.name, &dropped_keys));
    notes.extend(unplanned.notes(&run.name));
    Ok(ContractEarlier::Stopped {
        run: Box::new(run),
        kept,
        in_parts,
        dropped: dropped_keys.len(),
    })
}

/// The numbers of a package's runs that are switched.
pub fn switched(
    destination: &dyn Destination,
    run_key: &RunKey,
) -> inrush_destination::Result<Vec<RunId>> {
    let runs = destination.runs(Some(run_key))?;
    let switched = runs.iter().filter(|run| is_switched(run));
    Ok(switched.map(|run| run.record.run_id).collect())
}

/// The marks in a target: those of the newest switched run that has some.
pub fn since_marks(
    destination: &dyn Destination,
    run_key: &RunKey,
    target: &str,
) -> inrush_destination::Result<Vec<SinceMark>> {
    let runs = destination.runs(Some(run_key))?;
    for run in runs.iter().rev().filter(|run| is_switched(run)) {
        let found = since_marks_in(destination, run, target)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The ranges of which the latest run of a package has loaded rows into a target, if it was stopped.
pub fn since_stopped(
    destination: &dyn Destination,
    run_key: &RunKey,
    target: &str,
) -> inrush_destination::Result<Vec<SinceRange>> {
    let runs = destination.runs(Some(run_key))?;
    let stopped = runs
        .iter()
        .rfind(|run| run.record.state == RunState::Loading);
    let Some(run) = stopped else {
        return Ok(Vec::new());
    };
    let marks = since_marks_in(destination, run, target)?;
    Ok(marks.into_iter().map(|mark| mark.range).collect())
}

/// The ranges of a key that the newest stopped run of a package has loaded into a target, and those of the newest switched run.
pub fn ranges_of(
    destination: &dyn Destination,
    run_key: &RunKey,
    target: &str,
) -> inrush_destination::Result<Vec<RunRanges>> {
    let runs = destination.runs(Some(run_key))?;
    let mut found = Vec::new();
    for state in [RunState::Loading, RunState::Switched] {
        let Some(run) = runs.iter().rfind(|run| run.record.state == state) else {
            continue;
        };
        let mut states = BTreeSet::new();
        each_record(destination, &run.record, &mut |record| {
            if record.target == target {
                states.extend(record.splits.into_iter().map(|split| split.file_state));
            }
        })?;
        let is_stopped = state == RunState::Loading;
        let states = states.iter().map(String::as_str);
        found.extend(RunRanges::of_states(&run.record.name, is_stopped, states));
    }
    Ok(found)
}

/// The marks of the rows that a run has loaded into a target.
fn since_marks_in(
    destination: &dyn Destination,
    run: &PastRun,
    target: &str,
) -> inrush_destination::Result<Vec<SinceMark>> {
    let marks = since_marks_of(destination, run, &[target])?;
    Ok(marks.into_iter().map(|(_, mark)| mark).collect())
}

/// The marks of the rows that a run has loaded into some targets, each with its target. The records of the run are read once.
pub fn since_marks_of(
    destination: &dyn Destination,
    run: &PastRun,
    targets: &[&str],
) -> inrush_destination::Result<Vec<(String, SinceMark)>> {
    let mut marks: Vec<since::Marks> = targets.iter().map(|_| since::Marks::default()).collect();
    each_record(destination, &run.record, &mut |record| {
        if let Some(at) = targets.iter().position(|target| record.target == *target) {
            let states = record.splits.iter().map(|split| &split.file_state);
            states.for_each(|state| marks[at].see(state));
        }
    })?;
    let of_targets = targets.iter().zip(marks).flat_map(|(target, marks)| {
        let is_gone = run.gone.iter().any(|gone| gone == target);
        let marks = marks.of(&run.record.name, is_gone).into_iter();
        marks.map(|mark| ((*target).to_owned(), mark))
    });
    Ok(of_targets.collect())
}

/// The runs of the package, the oldest first.
struct RunsOfDestination<'a> {
    destination: &'a dyn Destination,
    runs: Vec<PastRun>,
}

fn is_switched(run: &PastRun) -> bool {
    run.record.state == RunState::Switched
}

impl RunsOfDestination<'_> {
    /// The run of the marks of all flows, if none of them has new rows.
    fn of_marks(&self, flows: &[ContractFlow]) -> Option<RunRecord> {
        let name = since::run_if_all(super::nothing_new(flows))?;
        let mut runs = self.runs.iter().map(|run| &run.record);
        runs.find(|run| run.name == *name).cloned()
    }
}

impl PackageRuns for RunsOfDestination<'_> {
    type Run = PastRun;
    type Error = PlanError;

    async fn latest_if_switched(&mut self) -> Result<Option<PastRun>, PlanError> {
        Ok(self.runs.last().filter(|run| is_switched(run)).cloned())
    }

    async fn see_switched(&mut self, files: &mut LoadedFiles<'_>) -> Result<(), PlanError> {
        for run in self.runs.iter().rev().filter(|run| is_switched(run)) {
            see_switched(self.destination, run, files)?;
        }
        Ok(())
    }

    async fn see_switched_by(
        &mut self,
        run: &PastRun,
        files: &mut LoadedFiles<'_>,
    ) -> Result<(), PlanError> {
        Ok(see_switched(self.destination, run, files)?)
    }

    fn name<'r>(&self, run: &'r PastRun) -> &'r RunName {
        &run.record.name
    }

    async fn with_id(&mut self, run_id: RunId) -> Result<Option<PastRun>, PlanError> {
        let at = self.runs.iter().position(|run| run.record.run_id == run_id);
        Ok(at.map(|at| self.runs.swap_remove(at)))
    }

    async fn splits_of(
        &mut self,
        run_id: RunId,
        file: &FileKey,
    ) -> Result<Vec<SplitRecord>, PlanError> {
        let mut found = Vec::new();
        let run = self.runs.iter().find(|run| run.record.run_id == run_id);
        if let Some(run) = run {
            each_record(self.destination, &run.record, &mut |record| {
                let own = record.splits.into_iter();
                found.extend(own.filter(|split| split.file_key == *file));
            })?;
        }
        Ok(found)
    }

    async fn latest_stopped(&mut self) -> Result<Option<PastRun>, PlanError> {
        let is_stopped = |run: &PastRun| run.record.state == RunState::Loading;
        let at = self.runs.iter().rposition(is_stopped);
        Ok(at.map(|at| self.runs.swap_remove(at)))
    }
}

/// A run that has loaded all files of the plan, and its rows by flow.
fn loaded(
    destination: &dyn Destination,
    run: RunRecord,
    flows: &[ContractFlow],
) -> inrush_destination::Result<ContractEarlier> {
    let mut accounts = vec![Account::default(); flows.len()];
    each_record(destination, &run, &mut |record| {
        // Counted by target and not by unit, because the plan may cut the files into other units today.
        for (flow, account) in flows.iter().zip(&mut accounts) {
            if flow.reading.target == record.target {
                account.add(&record.account());
            }
        }
    })?;
    Ok(ContractEarlier::Loaded {
        run: Box::new(run),
        accounts,
    })
}

/// Refuses to append files that a run has already appended, if the ledger does not know that run but the destination's
/// tables do.
fn refuse_lost_ledger(
    destination: &dyn Destination,
    run_key: &RunKey,
    flows: &[ContractFlow],
) -> Result<(), PlanError> {
    for flow in flows.iter().filter(|flow| flow.mode == Mode::Append) {
        let mut keys: Vec<UnitKey> = Vec::with_capacity(flow.units.len());
        for unit in &flow.units {
            keys.extend(unit.first_record_keys());
        }
        let keys: Vec<&UnitKey> = keys.iter().collect();
        if let Some(run) = destination.unknown_run(run_key, &flow.target.name, &keys)? {
            return Err(PlanError::Target {
                target: flow.reading.target.clone(),
                what: format!(
                    "has rows of these files from run {run} of this package, but the ledger does not know that run: the \
                     ledger was removed or restored since. This load would append the same rows again"
                ),
                hint: "restore the ledger; if the rows should be there twice, --again loads them"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// Reports to `files` each range of each file that a run has switched in.
fn see_switched(
    destination: &dyn Destination,
    run: &PastRun,
    files: &mut LoadedFiles<'_>,
) -> inrush_destination::Result<()> {
    each_record(destination, &run.record, &mut |record| {
        let is_gone = run.gone.contains(&record.target);
        for split in record.splits {
            let switched = SwitchedFile {
                run_id: run.record.run_id,
                package_hash: run.record.package_hash.clone(),
                target_oids: Vec::new(),
                target: record.target.clone(),
                file_key: split.file_key,
                file_bytes: split.file_bytes,
                file_modified_ns: split.file_modified_ns,
                file_state: split.file_state,
                rows_loaded: split.account.rows_loaded,
            };
            match is_gone {
                true => files.see_gone(&switched),
                false => files.see(&switched),
            }
        }
    })
}

fn wanted<'a>(flow: &'a ContractFlow, package_hash: &'a str) -> WantedFiles<'a> {
    WantedFiles {
        target: flow.reading.target.clone(),
        source: &*flow.reading.source,
        package_hash,
        replaces: flow.mode == Mode::Replace,
        merges: flow.mode == Mode::Upsert,
        files: flow.files(),
        holds: Box::new(|switched| {
            let facts = flow.facts.as_ref();
            facts.is_some_and(|facts| switched.rows_loaded == 0 || facts.has_rows)
        }),
    }
}

fn planned(flow: &ContractFlow) -> PlannedFiles<'_> {
    PlannedFiles::of(flow, flow.files())
}
