//! The statements that bring the planner's statistics up to date, and when they run.
//!
//! A unit that becomes a table or a partition is analyzed by the stream that filled it, so that
//! all streams share the work and the statistics are there when the rows are. A partitioned
//! parent has statistics of its own; `ANALYZE ONLY`, which leaves its parts alone, came with
//! PostgreSQL 18. Before it the parent's ANALYZE reads the parts once more in any case, and the
//! units' own is left out.

use super::{FlowPlan, Plan, Publish, UnitPlan};
use crate::quote::qualified;

const ANALYZE_ONLY_VERSION: i32 = 180_000;

/// The statement for a unit that is filled and has its indexes.
pub fn of_unit(plan: &Plan, flow: &FlowPlan, unit: &UnitPlan) -> Option<String> {
    let is_worth_it = match &flow.publish {
        Publish::Rename | Publish::Swap => true,
        Publish::CreatePartitioned { .. } | Publish::Attach => parents_alone(plan),
        Publish::Route(route) => route.is_new,
        Publish::Insert | Publish::Upsert { .. } | Publish::Straight(_) => false,
    };
    (plan.settings.analyze && is_worth_it).then(|| {
        format!(
            "ANALYZE {}",
            qualified(&plan.settings.staging_schema, &unit.staging_table)
        )
    })
}

/// The statement for a target after the switch.
pub fn of_target(plan: &Plan, flow: &FlowPlan) -> Option<String> {
    if !plan.settings.analyze {
        return None;
    }
    match &flow.publish {
        Publish::Rename | Publish::Swap => None,
        Publish::Route(route) if route.is_new => None,
        // A role that may only INSERT may not ANALYZE.
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

fn parents_alone(plan: &Plan) -> bool {
    plan.server.version_number >= ANALYZE_ONLY_VERSION
}
