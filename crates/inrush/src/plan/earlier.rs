//! What an earlier run of the same package left, and how much of it the plan can keep.

use std::collections::BTreeSet;

use super::error::PlanError;
use super::{Earlier, FlowPlan};
use crate::destination::postgres::{Session, catalog};
use crate::ledger::{self, Ledger, RunState};

/// Looks the run up in the ledger.
pub async fn find(
    session: &Session,
    ledger_schema: &str,
    staging_schema: &str,
    run_key: &str,
    flows: &[FlowPlan],
    again: bool,
) -> Result<Earlier, PlanError> {
    if !ledger::exists(session, ledger_schema).await? {
        return Ok(Earlier::None);
    }
    let book = Ledger::new(ledger_schema);
    let Some(run) = book.latest_run(session, run_key).await? else {
        return Ok(Earlier::None);
    };
    let planned: BTreeSet<&str> = flows
        .iter()
        .flat_map(|flow| &flow.units)
        .map(|unit| unit.key.as_str())
        .collect();
    let units = book.units(session, run.run_id).await?;
    match run.state {
        RunState::Switched => {
            let loaded: BTreeSet<&str> = units.iter().map(|unit| unit.unit_key.as_str()).collect();
            let targets_stand = run.target_oids.len() == flows.len()
                && flows.iter().all(|flow| {
                    flow.facts
                        .as_ref()
                        .is_some_and(|facts| run.target_oids.contains(&facts.oid))
                });
            if !again && targets_stand && loaded == planned {
                Ok(Earlier::Loaded(Box::new(run)))
            } else {
                Ok(Earlier::None)
            }
        }
        RunState::Loading => {
            let tables: Vec<String> = units
                .iter()
                .map(|unit| unit.staging_table.clone())
                .collect();
            let standing = catalog::existing_relations(session, staging_schema, &tables).await?;
            // What `again` asks for is a second helping of what was switched; a stopped run has
            // switched nothing, so its units are as good as new ones.
            let kept: BTreeSet<String> = units
                .iter()
                .filter(|unit| {
                    planned.contains(unit.unit_key.as_str())
                        && unit.staging_schema == staging_schema
                        && standing.contains(&unit.staging_table)
                })
                .map(|unit| unit.unit_key.clone())
                .collect();
            Ok(Earlier::Stopped {
                dropped: units.len() - kept.len(),
                run: Box::new(run),
                kept,
            })
        }
        RunState::Discarded => Ok(Earlier::None),
    }
}
