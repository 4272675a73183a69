//! Refuses targets that a flow's mode does not allow.

use inrush_destination::WriteMode;
use inrush_package::{Flow, Mode, ReplaceScope};

use super::ContractFlow;
use crate::PlanError;

/// The contract's write mode for a flow's mode.
pub fn write_mode(flow: &Flow) -> WriteMode {
    match (flow.mode, flow.replace.scope) {
        (Mode::Create, _) => WriteMode::Create,
        (Mode::Append, _) => WriteMode::Append,
        (Mode::Replace, ReplaceScope::Table) => WriteMode::Replace,
        (Mode::Replace, ReplaceScope::Partitions) => WriteMode::ReplacePartitions,
        (Mode::Upsert, _) => WriteMode::Upsert,
    }
}

/// Refuses a target that must be empty and has rows, or that must exist and does not.
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
            "has rows already, but mode = \"create\" needs a new or empty target",
            "use mode = \"append\" to add to them, or mode = \"replace\" (--mode append, --mode replace)",
        ),
        (None, WriteMode::Append) => refuse(
            "does not exist, but mode = \"append\" needs an existing table",
            "check the name, or use mode = \"create\" (--mode create); with `since`, make the table first",
        ),
        _ => Ok(()),
    }
}
