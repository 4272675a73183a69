//! A plan reads the states of inputs in the ledger here: the marks of incremental loads, and the ranges of a key.

use std::collections::BTreeSet;

use inrush_destination::{PastRun, Result, RunLedger, RunRecord, RunState};
use inrush_rows::ids::RunKey;
use inrush_source::{RangesMark, SinceRange};

use super::records::each_record;
use crate::plan::range_marks::RunRanges;
use crate::plan::since::{Marks, SinceMark};

/// The marks in a target: those of the newest switched run that has some.
pub fn since_marks(
    ledger: &dyn RunLedger,
    run_key: &RunKey,
    target: &str,
) -> Result<Vec<SinceMark>> {
    let runs = ledger.runs(Some(run_key))?;
    let is_switched = |run: &&PastRun| run.record.state == RunState::Switched;
    for run in runs.iter().rev().filter(is_switched) {
        let found = since_marks_in(ledger, run, target)?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(Vec::new())
}

/// The ranges of which the latest run of a package has loaded rows into a target, if it was stopped.
pub fn since_stopped(
    ledger: &dyn RunLedger,
    run_key: &RunKey,
    target: &str,
) -> Result<Vec<SinceRange>> {
    let runs = ledger.runs(Some(run_key))?;
    let stopped = runs
        .iter()
        .rfind(|run| run.record.state == RunState::Loading);
    let Some(run) = stopped else {
        return Ok(Vec::new());
    };
    let marks = since_marks_in(ledger, run, target)?;
    Ok(marks.into_iter().map(|mark| mark.range).collect())
}

/// The ranges of a key that the newest stopped run of a package has loaded into a target, and those of the newest switched run.
pub fn ranges_of(ledger: &dyn RunLedger, run_key: &RunKey, target: &str) -> Result<Vec<RunRanges>> {
    let runs = ledger.runs(Some(run_key))?;
    let mut found = Vec::new();
    for state in [RunState::Loading, RunState::Switched] {
        let Some(run) = runs.iter().rfind(|run| run.record.state == state) else {
            continue;
        };
        let mut states = BTreeSet::new();
        each_state(
            ledger,
            &run.record,
            RangesMark::BEGINNING,
            &mut |of, state| {
                if of == target {
                    states.insert(state.to_owned());
                }
            },
        )?;
        let is_stopped = state == RunState::Loading;
        let states = states.iter().map(String::as_str);
        found.extend(RunRanges::of_states(&run.record.name, is_stopped, states));
    }
    Ok(found)
}

/// The marks of the rows that a run has loaded into a target.
fn since_marks_in(ledger: &dyn RunLedger, run: &PastRun, target: &str) -> Result<Vec<SinceMark>> {
    let marks = since_marks_of(ledger, run, &[target])?;
    Ok(marks.into_iter().map(|(_, mark)| mark).collect())
}

/// The marks of the rows that a run has loaded into some targets, each with its target. The records of the run are read once.
pub fn since_marks_of(
    ledger: &dyn RunLedger,
    run: &PastRun,
    targets: &[&str],
) -> Result<Vec<(String, SinceMark)>> {
    let mut marks: Vec<Marks> = targets.iter().map(|_| Marks::default()).collect();
    each_state(
        ledger,
        &run.record,
        SinceRange::BEGINNING,
        &mut |of, state| {
            if let Some(at) = targets.iter().position(|target| of == *target) {
                marks[at].see(state);
            }
        },
    )?;
    let of_targets = targets.iter().zip(marks).flat_map(|(target, marks)| {
        let is_gone = run.gone.iter().any(|gone| gone == target);
        let marks = marks.of(&run.record.name, is_gone).into_iter();
        marks.map(|mark| ((*target).to_owned(), mark))
    });
    Ok(of_targets.collect())
}

/// Passes the target and the state of each input of a run to `see`, if the state begins with `beginning`.
fn each_state(
    ledger: &dyn RunLedger,
    run: &RunRecord,
    beginning: &str,
    see: &mut dyn FnMut(&str, &str),
) -> Result<()> {
    if ledger.input_states(run, beginning, see)? {
        return Ok(());
    }
    each_record(ledger, run, &mut |record| {
        let states = record.splits.iter().map(|split| split.file_state.as_str());
        let own = states.filter(|state| state.starts_with(beginning));
        own.for_each(|state| see(&record.target, state));
    })
}
