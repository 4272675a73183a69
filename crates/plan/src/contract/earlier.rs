//! Finds the work of an unpublished run that the plan can keep, and refuses targets that have rows of a run which the ledger does
//! not know.

use std::collections::BTreeSet;

use inrush_destination::{Destination, RunRecord};
use inrush_package::Mode;
use inrush_rows::ids::{RunKey, UnitKey};
use inrush_rows::plural::counted;

use super::unplanned::UnplannedUnits;
use super::{ContractFlow, ContractWork};
use crate::earlier::changed::{self, FilesBefore, PlannedFiles};
use crate::ledger::each_record;
use crate::{PlanError, PlanOptions, UnitAccounts, UnitIndex, identity};

/// The part of an unpublished run's work that the plan can keep.
pub fn kept_work(
    destination: &dyn Destination,
    run: &RunRecord,
    flows: &[ContractFlow],
    options: &PlanOptions<'_>,
    notes: &mut Vec<String>,
) -> Result<ContractWork, PlanError> {
    let planned: Vec<PlannedFiles<'_>> = flows.iter().map(|flow| PlannedFiles::of(flow)).collect();
    let index = UnitIndex::new(flows);
    let mut before = FilesBefore::new(&planned);
    let mut kept = UnitAccounts::none(flows);
    let mut in_parts = BTreeSet::new();
    let mut dropped_keys = BTreeSet::new();
    // Targets that do not keep all rows of the run.
    let mut losing: BTreeSet<String> = BTreeSet::new();
    let mut unplanned = UnplannedUnits::new(flows);
    each_record(destination, run, &mut |record| {
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
    let found = before.look(options)?;
    if !options.again && !options.is_replay {
        let removes_alone = destination.abilities().removes_units_alone;
        changed::refuse(&run.name, &found.changed, removes_alone)?;
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
    Ok(ContractWork {
        kept,
        in_parts,
        dropped: dropped_keys.len(),
    })
}

/// Refuses to append files that a run has already appended, if the ledger does not know that run but the destination's
/// tables do.
pub fn refuse_lost_ledger(
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
