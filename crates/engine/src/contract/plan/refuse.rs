//! Refuses packages that ask for more than the destination can do.

use inrush_destination::{Abilities, WriteMode};
use inrush_package::{
    Bounds, Flow, IndexPolicy, Mode, ReplaceScope, RunSettings, TriggerPolicy, Verify,
};

use super::ContractFlow;
use crate::plan::PlanError;

/// Refuses settings of the run that only a server of PostgreSQL knows.
pub fn settings(run: &RunSettings) -> Result<(), PlanError> {
    let asked = [
        ("rate_bytes_max", run.rate_bytes_max.is_some()),
        ("replica_lag_bytes_max", run.replica_lag_bytes_max.is_some()),
        ("slot_bytes_max", run.slot_bytes_max.is_some()),
    ];
    if !run.staging {
        return Err(PlanError::Limit {
            what: "`staging = false` is only for PostgreSQL".to_owned(),
            hint: "leave it out: rows become visible all at once".to_owned(),
        });
    }
    for (setting, is_asked) in asked {
        if is_asked {
            return Err(PlanError::Limit {
                what: format!("`{setting}` is only for PostgreSQL"),
                hint: format!("leave `{setting}` out for this destination"),
            });
        }
    }
    Ok(())
}

/// Refuses settings of a flow that the destination cannot follow; what it makes of its mode.
pub fn flow(
    name: &str,
    flow: &Flow,
    run: &RunSettings,
    abilities: &Abilities,
) -> Result<WriteMode, PlanError> {
    let refuse = |what: &str, hint: &str| {
        Err(PlanError::Mismatch {
            flow: name.to_owned(),
            what: format!("{what}, which this destination does not have"),
            hint: hint.to_owned(),
        })
    };
    if !flow.atomic {
        return refuse(
            "atomic = false",
            "leave it out: rows become visible all at once",
        );
    }
    if flow.routing == Some(true) {
        return refuse("routing = true", "leave it out");
    }
    if flow.bounds != Bounds::default() {
        return refuse(
            "`bounds`",
            "leave it out: partitions by ranges of a key are only for PostgreSQL",
        );
    }
    if flow.triggers != TriggerPolicy::default() {
        return refuse("`triggers`", "leave it out");
    }
    if flow.indexes != IndexPolicy::default() {
        return refuse("`indexes`", "leave it out");
    }
    if !flow.replace.keep.is_no() {
        return refuse("`keep`", "copy the table away before it is replaced");
    }
    if flow.verify.unwrap_or(run.verify) != Verify::Count {
        return refuse(
            "verify = \"sums\" or \"rows\"",
            "use verify = \"count\": the destination's own count of each unit and of all rows",
        );
    }
    if flow.partition_by.is_some() && !abilities.partitions {
        return refuse("`partition_by`", "leave it out");
    }
    if !abilities.user_sql && (flow.pre_sql.is_some() || flow.post_sql.is_some()) {
        return refuse("`pre_sql` and `post_sql`", "leave them out");
    }
    let mode = match (flow.mode, flow.replace.scope) {
        (Mode::Create, _) => WriteMode::Create,
        (Mode::Append, _) => WriteMode::Append,
        (Mode::Replace, ReplaceScope::Table) => WriteMode::Replace,
        (Mode::Replace, ReplaceScope::Partitions) => WriteMode::ReplacePartitions,
        (Mode::Upsert, _) => {
            return refuse(
                "mode = \"upsert\"",
                "load into a separate table with mode = \"replace\", and merge it yourself",
            );
        }
    };
    if !abilities.modes.contains(&mode) {
        return refuse(
            match mode {
                WriteMode::ReplacePartitions => "replace = { scope = \"partitions\" }",
                _ => "this mode",
            },
            "leave it out",
        );
    }
    Ok(mode)
}

/// Refuses a target that has rows where none may be, or that is missing where one must be.
pub fn filled(flow: &ContractFlow) -> Result<(), PlanError> {
    let refuse = |what: &str, hint: &str| {
        Err(PlanError::Target {
            target: flow.reading.target.clone(),
            what: what.to_owned(),
            hint: hint.to_owned(),
        })
    };
    match (&flow.facts, flow.target.mode) {
        (Some(facts), WriteMode::Create) if facts.has_rows => refuse(
            "has rows already, and mode = \"create\" needs a new or empty target",
            "use mode = \"append\" to add to them, or mode = \"replace\"",
        ),
        (None, WriteMode::Append) => refuse(
            "does not exist, and mode = \"append\" needs an existing table",
            "check the name, or use mode = \"create\"",
        ),
        _ => Ok(()),
    }
}
