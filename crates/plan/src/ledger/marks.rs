//! The states of inputs in the records of a run: the marks of incremental loads, and the ranges of a key.

use std::collections::BTreeSet;

use inrush_destination::{PastRun, Result, RunLedger, RunRecord};
use inrush_source::{RangesMark, SinceRange};

use super::records::each_record;
use crate::reading::since::{Marks, SinceMark};

/// The states of the ranges of a key that a run has loaded into a target.
pub fn ranges_in(ledger: &dyn RunLedger, run: &PastRun, target: &str) -> Result<BTreeSet<String>> {
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
    Ok(states)
}

/// The marks of the rows that a run has loaded into a target.
pub fn since_marks_in(
    ledger: &dyn RunLedger,
    run: &PastRun,
    target: &str,
) -> Result<Vec<SinceMark>> {
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
