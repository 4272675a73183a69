//! The abilities that a package needs, and the refusal of a package whose destination lacks one.

use inrush_destination::{Abilities, Ability};
use inrush_package::{
    Bounds, Flow, IndexPolicy, Mode, ReplaceBy, ReplaceScope, RunSettings, ServerCopy, Step,
    TriggerPolicy, Verify,
};

use crate::{PlanError, PlanOptions};

/// Refuses settings of the whole run that need an ability which the destination lacks.
pub fn require_of_run(
    run: &RunSettings,
    options: &PlanOptions<'_>,
    abilities: &Abilities,
) -> Result<(), PlanError> {
    refuse(None, &of_run(run, options), abilities)
}

/// Refuses a flow that needs an ability which the destination lacks.
pub fn require_of_flow(
    name: &str,
    flow: &Flow,
    run: &RunSettings,
    abilities: &Abilities,
) -> Result<(), PlanError> {
    refuse(Some(name), &of_flow(flow, run), abilities)
}

/// The names of the abilities that a destination lacks, for the plan; none if it has all.
pub fn lacking_names(abilities: &Abilities) -> Option<String> {
    let names: Vec<&str> = abilities.lacking().map(|it| it.text().name).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn refuse(flow: Option<&str>, asked: &[Ability], abilities: &Abilities) -> Result<(), PlanError> {
    let asked = asked.iter().copied();
    let lacking: Vec<Ability> = asked.filter(|it| !abilities.can.contains(it)).collect();
    match lacking.is_empty() {
        true => Ok(()),
        false => Err(PlanError::Abilities {
            flow: flow.map(str::to_owned),
            lacking,
        }),
    }
}

fn of_run(run: &RunSettings, options: &PlanOptions<'_>) -> Vec<Ability> {
    let asked = [
        (Ability::SeveralHosts, options.is_shared_out),
        (Ability::OneTransaction, !run.staging),
        (Ability::Analyze, run.asks_to_analyze()),
        (Ability::RateLimit, run.rate_bytes_max.is_some()),
        (Ability::ReplicaLag, run.replica_lag_bytes_max.is_some()),
        (Ability::SlotBytes, run.slot_bytes_max.is_some()),
        (
            Ability::ServerCopy,
            matches!(run.server_copy, ServerCopy::Require | ServerCopy::Pages),
        ),
    ];
    those_asked(&asked)
}

fn of_flow(flow: &Flow, run: &RunSettings) -> Vec<Ability> {
    let mode = match (flow.mode, flow.replace.scope) {
        (Mode::Create, _) => Ability::Create,
        (Mode::Append, _) => Ability::Append,
        (Mode::Replace, ReplaceScope::Table) => Ability::Replace,
        (Mode::Replace, ReplaceScope::Partitions) => Ability::ReplacePartitions,
        (Mode::Upsert, _) => Ability::Upsert,
    };
    let verify = flow.verify.unwrap_or(run.verify);
    let source = flow.source.as_ref();
    let asked = [
        (mode, true),
        (Ability::ReplaceByRows, flow.replace.by == ReplaceBy::Rows),
        (Ability::KeepReplaced, !flow.replace.keep.is_no()),
        (Ability::Versions, flow.scd.is_some()),
        (
            Ability::AddMembers,
            flow.steps.iter().any(Step::adds_members),
        ),
        (
            Ability::SourceIndexes,
            source.is_some_and(|source| source.indexes),
        ),
        (
            Ability::SourcePartitions,
            source.is_some_and(|source| source.partitions),
        ),
        (Ability::Partitions, flow.partition_by.is_some()),
        (Ability::Bounds, flow.bounds != Bounds::default()),
        (Ability::Parts, matches!(flow.bounds, Bounds::Parts(_))),
        (Ability::Routing, flow.routing == Some(true)),
        (Ability::DirectWrites, !flow.atomic),
        (
            Ability::UserSql,
            flow.pre_sql.is_some() || flow.post_sql.is_some(),
        ),
        (
            Ability::SkipTriggers,
            flow.triggers != TriggerPolicy::default(),
        ),
        (
            Ability::RebuildIndexes,
            flow.indexes != IndexPolicy::default(),
        ),
        (Ability::VerifySums, verify == Verify::Sums),
        (Ability::VerifyRows, verify == Verify::Rows),
    ];
    those_asked(&asked)
}

fn those_asked(all: &[(Ability, bool)]) -> Vec<Ability> {
    let asked = all.iter().filter(|(_, is_asked)| *is_asked);
    asked.map(|(ability, _)| *ability).collect()
}
