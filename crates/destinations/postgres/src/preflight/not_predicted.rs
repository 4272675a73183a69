//! The parts of a run that a prediction does not cover, because no trial can show them.

use crate::catalog::TableFacts;
use crate::plan::{FlowPlan, Plan, Publish};

/// The part that only a long run has.
pub const IN_LONG_RUNS: &str = "slow-downs in long runs, such as checkpoints and slow disks";

/// The other parts, each in words.
pub fn parts(plan: &Plan) -> Vec<String> {
    let has = |wanted: fn(&FlowPlan) -> bool| plan.flows.iter().any(wanted);
    let lag = plan.settings.replica_lag_bytes_max;
    let slots = plan.settings.slot_bytes_max;
    let all = [
        (
            has(|flow| has_target(flow, |facts| !facts.foreign_keys.is_empty())),
            "checking foreign keys at the switch",
        ),
        (
            has(|flow| matches!(flow.publish, Publish::Upsert { .. })),
            "merging with the rows of the target: the trial's table was empty",
        ),
        (
            has(|flow| has_target(flow, |facts| !facts.insert_triggers.is_empty())),
            "triggers of the target",
        ),
        (
            has(|flow| {
                let has_indexes = |facts: &TableFacts| facts.has_rows && !facts.indexes.is_empty();
                flow.publish == Publish::Insert && has_target(flow, has_indexes)
            }),
            "indexes of the target that have rows already: the trial's began empty",
        ),
        (
            has(|flow| flow.replace.is_some()),
            "removing the rows that are replaced",
        ),
        (
            has(|flow| !flow.pre_sql.is_empty() || !flow.post_sql.is_empty()),
            "pre_sql and post_sql",
        ),
        (
            has(|flow| flow.is_straight()),
            "indexes of the target that grow while rows go into it: the trial's began empty",
        ),
        (
            lag.is_some() || slots.is_some(),
            "pauses for standbys and slots that are behind",
        ),
    ];
    let left_out = all.into_iter().filter(|(is_so, _)| *is_so);
    left_out.map(|(_, what)| what.to_owned()).collect()
}

/// True if the target exists and has this property.
fn has_target(flow: &FlowPlan, wanted: fn(&TableFacts) -> bool) -> bool {
    flow.facts.as_ref().is_some_and(wanted)
}
