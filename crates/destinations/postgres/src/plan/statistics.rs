//! The statements that update the planner's statistics, and when they run.
//!
//! The stream that fills a unit which becomes a table or a partition also analyzes it. So all streams share the work,
//! and the statistics exist when the rows become visible. A partitioned parent has statistics of its own. `ANALYZE
//! ONLY`, which does not read the partitions, exists since PostgreSQL 18. In older versions ANALYZE of the parent reads
//! all partitions anyway, so units are not analyzed.

use inrush_package::RunSettings;

use super::{FlowPlan, Plan, Publish, UnitPlan};
use crate::quote::qualified;

const ANALYZE_ONLY_VERSION: i32 = 180_000;

/// True if a run analyzes its targets. That is the default, because without statistics PostgreSQL plans queries of a
/// new table badly until autovacuum has analyzed it.
pub fn are_wanted(run: &RunSettings) -> bool {
    run.analyze.unwrap_or(true)
}

/// The statement for a unit after its rows are loaded and its indexes are created.
pub fn of_unit(plan: &Plan, flow: &FlowPlan, unit: UnitPlan<'_>) -> Option<String> {
    let is_worth_it = match &flow.publish {
        Publish::Rename { .. } | Publish::Swap => true,
        Publish::CreatePartitioned { .. } | Publish::Attach => parents_alone(plan),
        Publish::Route(route) => route.is_new,
        Publish::Insert | Publish::Upsert { .. } | Publish::Straight(_) => false,
    };
    (are_wanted(&plan.settings) && is_worth_it).then(|| {
        format!(
            "ANALYZE {}",
            qualified(&plan.settings.staging_schema, &unit.staging_table)
        )
    })
}

/// The statement for a target after the switch.
pub fn of_target(plan: &Plan, flow: &FlowPlan) -> Option<String> {
    if !are_wanted(&plan.settings) {
        return None;
    }
    match &flow.publish {
        Publish::Rename { .. } | Publish::Swap => None,
        Publish::Route(route) if route.is_new => None,
        // A role that may only INSERT must not run ANALYZE.
        Publish::Straight(_) if !flow.facts.as_ref().is_some_and(|facts| facts.owned) => None,
        Publish::CreatePartitioned { .. } | Publish::Attach if parents_alone(plan) => {
            Some(format!("ANALYZE ONLY {}", flow.target()))
        }
        Publish::CreatePartitioned { .. }
        | Publish::Attach
        | Publish::Insert
        | Publish::Route(_)
        | Publish::Upsert { .. }
        | Publish::Straight(_) => Some(format!("ANALYZE {}", flow.target())),
    }
}

/// The statement that limits how long the statement of [`of_target`] waits for a lock. It sets the limit for the whole
/// session, which runs nothing else at that time.
pub fn lock_timeout(plan: &Plan) -> String {
    format!("SET lock_timeout = {}", plan.settings.lock_timeout_ms)
}

fn parents_alone(plan: &Plan) -> bool {
    plan.server.version_number >= ANALYZE_ONLY_VERSION
}
