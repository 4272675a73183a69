//! The possible reasons why the units of a flow are not those of a stopped run. A unit's key is a digest, so it only tells that
//! something has changed.

use inrush_transform::stages::StagedStep;

use crate::Reading;

/// What may have changed in these flows, in words: `a setting or step of the flow, or a column of the target`.
pub fn possible_changes<'a>(flows: impl Iterator<Item = &'a Reading>) -> String {
    let mut has_steps = false;
    let mut looks_up = false;
    let mut compares_rows = false;
    for reading in flows {
        has_steps |= reading.steps.is_some();
        looks_up |= reading.has_step(|step| match step {
            // The load itself adds members to such a reference, so its rows are not part of the description.
            StagedStep::Lookup(lookup) => lookup.members().is_none(),
            _ => false,
        });
        compares_rows |= compares_all_rows(reading);
    }
    let mut found = vec!["a setting or step of the flow", "a column of the target"];
    if looks_up {
        found.push("a row of a lookup's reference");
    }
    if compares_rows {
        found.push("a file of the flow (`distinct_on` compares the rows of all files)");
    }
    if has_steps {
        found.push("the version of the library that evaluates expressions");
    }
    let last = found.pop().expect("there are at least two");
    format!("{}, or {last}", found.join(", "))
}

/// True if the rows that are kept of one file depend on the rows of the flow's other files.
pub fn compares_all_rows(reading: &Reading) -> bool {
    reading.has_step(|step| matches!(step, StagedStep::Distinct(_)))
}
