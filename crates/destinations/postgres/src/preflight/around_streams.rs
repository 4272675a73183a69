//! The time of a run before its streams begin, and after the last of them has ended.

use inrush_destination::{MeasuredLoad, SecondsAroundStreams};

use crate::plan::{Plan, statistics};

/// Statements of the ledger before the streams begin and at the switch, in all.
const TRIPS_OF_RUN: f64 = 24.0;

/// Seconds of planning and of the first statements for the ledger, of the switch, and of ANALYZE after it.
pub fn seconds(plan: &Plan, round_trip_s: f64, measured: &MeasuredLoad) -> SecondsAroundStreams {
    let statement_s = statement_s(plan, round_trip_s, measured);
    let commit_s = measured.log.as_ref().map_or(0.0, |log| log.commit_s);
    let mut after_fixed_s = TRIPS_OF_RUN * statement_s + commit_s;
    let mut publish_s = after_fixed_s + plan.switch_steps().len() as f64 * statement_s;
    let mut analyze_s = 0.0;
    for tried in &measured.tried {
        let flow = &plan.flows[tried.target];
        if let Some(copy_s) = tried.publish_s {
            // One stream of the trial has copied its own rows.
            publish_s += copy_s * tried.rows_left / tried.rows_of_stream.max(1.0);
        }
        if let Some(statement) = statistics::of_target(plan, flow) {
            // ANALYZE ONLY samples the partitioned table once; without ONLY, it also samples each partition.
            let is_alone = statement.contains(" ONLY ");
            let tables = match is_alone {
                true => 1,
                false => flow.units.len(),
            };
            let seconds = tried.analyze_s * tables as f64;
            analyze_s += seconds;
            if is_alone {
                after_fixed_s += seconds;
            }
        }
    }
    SecondsAroundStreams {
        // The run plans twice: before it has the package's lock, and again with the lock.
        before_s: 2.0 * measured.plan_s + TRIPS_OF_RUN * statement_s,
        publish_s,
        analyze_s,
        after_fixed_s,
    }
}

/// Seconds of a small statement.
fn statement_s(plan: &Plan, round_trip_s: f64, measured: &MeasuredLoad) -> f64 {
    let made = measured.tried.first().and_then(|tried| {
        let create = &plan.flows[tried.target].statements[tried.unit?].create;
        let statements = create.len() + 3;
        Some(tried.create_s / statements as f64)
    });
    made.unwrap_or(0.0).max(round_trip_s)
}
