//! The work of earlier runs of the same package, and how much of it the plan can keep.

use std::collections::{BTreeMap, BTreeSet};

use inrush_destination::{Destination, PastRun, RunState};
use inrush_package::Mode;

use super::{ContractEarlier, ContractFlow, split_of};
use crate::ledger::{SplitRecord, SwitchedFile};
use crate::plan::changed::{self, PlannedFiles};
use crate::plan::loaded::{WantedFiles, loaded_by};
use crate::plan::{PlanError, PlanOptions, identity};

/// Looks the package up in the ledger; what a user should know is added to `notes`.
pub async fn find(
    destination: &dyn Destination,
    run_key: &str,
    flows: &[ContractFlow],
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<ContractEarlier, PlanError> {
    let mut runs = destination.runs(Some(run_key))?;
    let is_switched = |run: &PastRun| run.record.state == RunState::Switched;
    if options.is_replay
        && !options.again
        && runs.last().is_some_and(is_switched)
        && let Some(run) = runs.pop()
    {
        // What was fixed since has been loaded, or rejected again, all the same.
        return Ok(ContractEarlier::Loaded(Box::new(run)));
    }
    if !options.again && !options.is_replay {
        let switched: Vec<SwitchedFile> = runs
            .iter()
            .rev()
            .filter(|run| is_switched(run))
            .flat_map(switched_files)
            .collect();
        let wanted: Vec<WantedFiles<'_>> = flows.iter().map(wanted).collect();
        if let Some(run_id) = loaded_by(&wanted, &switched)?
            && let Some(at) = runs.iter().position(|run| run.record.run_id == run_id)
        {
            return Ok(ContractEarlier::Loaded(Box::new(runs.swap_remove(at))));
        }
    }
    let is_stopped = |run: &PastRun| run.record.state == RunState::Loading;
    let Some(at) = runs.iter().rposition(is_stopped) else {
        if !options.again && !options.is_replay {
            options.or_note(refuse_lost_ledger(destination, run_key, flows))?;
        }
        return Ok(ContractEarlier::None);
    };
    let run = runs.swap_remove(at);
    let splits: Vec<SplitRecord> = run
        .units
        .iter()
        .filter_map(|unit| split_of(&unit.detail))
        .collect();
    let planned: Vec<PlannedFiles<'_>> = flows.iter().map(planned).collect();
    let found = changed::look(&planned, &splits, options).await?;
    if !options.again && !options.is_replay {
        changed::refuse(&run.record.name, &found.changed)?;
    }
    let changed: BTreeSet<&str> = found.changed.iter().map(|file| file.key.as_str()).collect();
    let left: BTreeSet<&str> = run.units.iter().map(|unit| unit.key.as_str()).collect();
    let kept: BTreeSet<String> = flows
        .iter()
        .flat_map(|flow| &flow.units)
        .filter(|unit| left.contains(unit.key.as_str()))
        .filter(|unit| !changed.contains(identity::file_key(&unit.split.file).as_str()))
        .map(|unit| unit.key.clone())
        .collect();
    let dropped = run.units.iter().filter(|unit| !kept.contains(&unit.key));
    let dropped_keys = dropped.map(|unit| unit.key.as_str());
    notes.extend(identity::another_version(&run.record.name, dropped_keys));
    Ok(ContractEarlier::Stopped {
        run: Box::new(run),
        kept,
    })
}

/// Refuses to append files once more that a run has appended which the ledger does not know, where the destination's
/// tables tell of it.
fn refuse_lost_ledger(
    destination: &dyn Destination,
    run_key: &str,
    flows: &[ContractFlow],
) -> Result<(), PlanError> {
    for flow in flows.iter().filter(|flow| flow.mode == Mode::Append) {
        let keys: Vec<&str> = flow.units.iter().map(|unit| unit.key.as_str()).collect();
        if let Some(run) = destination.unknown_run(run_key, &flow.target.name, &keys)? {
            return Err(PlanError::Target {
                target: flow.reading.target.clone(),
                what: format!(
                    "has rows of these files from run {run} of this package, but the ledger does \
                     not know that run, because it was removed or restored since. This load would \
                     append the same rows again"
                ),
                hint: "restore the ledger; if the rows should be there twice, --again loads them"
                    .to_owned(),
            });
        }
    }
    Ok(())
}

/// The files that a run has switched in, all of them.
fn switched_files(run: &PastRun) -> Vec<SwitchedFile> {
    let mut found: BTreeMap<(String, String), SwitchedFile> = BTreeMap::new();
    for unit in run
        .units
        .iter()
        .filter(|unit| !run.gone.contains(&unit.target))
    {
        let Some(split) = split_of(&unit.detail) else {
            continue;
        };
        let file = found
            .entry((unit.target.clone(), split.file_key.clone()))
            .or_insert_with(|| SwitchedFile {
                run_id: run.record.run_id,
                target_oids: Vec::new(),
                target: unit.target.clone(),
                file_key: split.file_key.clone(),
                file_bytes: split.file_bytes,
                file_modified_ns: split.file_modified_ns,
                rows_loaded: 0,
            });
        file.rows_loaded += split.account.rows_loaded;
    }
    found.into_values().collect()
}

fn wanted(flow: &ContractFlow) -> WantedFiles<'_> {
    WantedFiles {
        target: flow.reading.target.clone(),
        replaces: flow.mode == Mode::Replace,
        files: flow.files(),
        holds: Box::new(|switched| {
            let facts = flow.facts.as_ref();
            facts.is_some_and(|facts| switched.rows_loaded == 0 || facts.has_rows)
        }),
    }
}

fn planned(flow: &ContractFlow) -> PlannedFiles<'_> {
    PlannedFiles {
        target: flow.reading.target.clone(),
        dialect: &flow.reading.dialect,
        files: flow.files(),
        unit_keys: flow.units.iter().map(|unit| unit.key.as_str()).collect(),
    }
}
