//! `distinct_on` reads all rows twice in one process, and needs each row at the same place both times.

use inrush_package::Step;
use inrush_source::{InputState, Source};

use crate::error::PlanError;
use crate::identity;
use crate::options::PlanOptions;

/// Refuses a load that several processes share: each of them would need the keys of all rows. `step` is counted from 1.
pub fn refuse_shares(flow: &str, step: usize, options: &PlanOptions<'_>) -> Result<(), PlanError> {
    match options.is_shared_out {
        false => Ok(()),
        true => Err(PlanError::Mismatch {
            flow: flow.to_owned(),
            what: format!(
                "step {step}, `distinct_on`, compares the rows of the whole load, but several processes load this run"
            ),
            hint: "load it with one process, without --shares".to_owned(),
        }),
    }
}

/// Refuses an earlier lookup that adds keys to its reference: the pass over the keys would also add the keys of rows that
/// `distinct_on` filters later. `before` are the earlier steps.
pub fn refuse_members(flow: &str, step: usize, before: &[Step]) -> Result<(), PlanError> {
    match before.iter().any(Step::adds_members) {
        false => Ok(()),
        true => Err(PlanError::Mismatch {
            flow: flow.to_owned(),
            what: format!(
                "step {step}, `distinct_on`, comes after a lookup with unmatched = \"add\", which would add keys of rows that are \
                 filtered"
            ),
            hint: "write `distinct_on` before that lookup".to_owned(),
        }),
    }
}

/// Refuses a source whose rows do not have the same places when they are read a second time.
pub fn refuse_source(
    flow: &str,
    step: usize,
    keys: &[String],
    source: &dyn Source,
) -> Result<(), PlanError> {
    let mut inputs = (0..source.input_count()).map(|index| source.input(index));
    let Some(input) = inputs.find(|input| !input.keeps_places()) else {
        return Ok(());
    };
    let name = input.name().display();
    let (what, hint) = match input.is_read_once() {
        true => (
            format!("{name} can be read only once"),
            "write its data to a file first, and load the file".to_owned(),
        ),
        false => (
            format!("the database may return the rows of {name} in another order each time"),
            query_hint(keys, input.places_by()),
        ),
    };
    Err(PlanError::Mismatch {
        flow: flow.to_owned(),
        what: format!(
            "step {step}, `distinct_on`, reads the keys of all rows before the load, but {what}"
        ),
        hint,
    })
}

/// How to keep the first rows of a database without the step. All databases that are read have `row_number`.
fn query_hint(keys: &[String], places_by: Option<&str>) -> String {
    let query = format!(
        "remove the step, and read from a `query` that numbers the rows of each key by \
         row_number() OVER (PARTITION BY {} ORDER BY ...) and keeps those with the number 1",
        keys.join(", ")
    );
    match places_by {
        Some(places_by) => format!("{places_by}; or, {query}"),
        None => query,
    }
}

/// A digest of all inputs with their states. Which rows of one input are kept depends on the others, so units that were
/// loaded beside other inputs cannot be used.
pub fn states(source: &dyn Source) -> String {
    let texts = (0..source.input_count()).flat_map(|index| {
        let input = source.input(index);
        let InputState {
            size_bytes,
            modified_ns,
            mark,
        } = input.state();
        let mut texts = input.identity();
        texts.extend([size_bytes.to_string(), modified_ns.to_string(), mark]);
        texts
    });
    let texts: Vec<String> = texts.collect();
    identity::digest(texts.iter().map(String::as_str))
}
