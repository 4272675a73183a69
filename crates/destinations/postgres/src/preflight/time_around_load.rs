//! The time of a run before its streams begin, and after the last of them has ended.

use inrush_engine::planner::preflight::flow_found::{self, FlowFound};
use inrush_system::threads::cores;

use super::predict::MeasuredPlan;
use crate::plan::statistics;

/// Statements of the ledger before the streams begin and at the switch, in all.
const TRIPS_OF_RUN: f64 = 24.0;

/// Seconds of planning and of the first statements for the ledger. `plan_s` is the time that the preflight took for its
/// plan.
pub fn before_s(measured: &MeasuredPlan<'_>, plan_s: f64) -> f64 {
    // The run plans twice: before it has the package's lock, and again with the lock.
    2.0 * plan_s + TRIPS_OF_RUN * statement_s(measured)
}

/// Seconds of the pass over the files that finds the first record of each range, for dialects that need it.
pub fn split_s(measured: &MeasuredPlan<'_>) -> f64 {
    let mut seconds = 0.0;
    for (index, flow) in measured.plan.flows.iter().enumerate() {
        let source = &flow.reading.source;
        let splits = flow.units.iter().filter(|unit| unit.is_shared);
        let cut = splits
            .flat_map(|unit| &unit.splits)
            .filter(|split| !split.is_whole() && source.needs_locate(split.input.index()));
        let bytes: u64 = cut.map(|split| split.size_bytes).sum();
        let scan = flow_found::like(measured.flows, index)
            .and_then(FlowFound::scan_bytes_s)
            .filter(|scan| *scan > 0.0);
        let threads = measured.plan.streams.min(cores()) as f64;
        seconds += scan.map_or(0.0, |scan| bytes as f64 / (scan * threads));
    }
    seconds
}

/// The time after the last stream.
pub struct AfterStreams {
    /// Seconds of the switch.
    pub switch_s: f64,
    /// Seconds of ANALYZE after it.
    pub analyze_s: f64,
    /// The part of these seconds that is the same for a load of any size.
    pub fixed_s: f64,
}

/// The time of the switch, and of ANALYZE after it.
pub fn after(measured: &MeasuredPlan<'_>) -> AfterStreams {
    let plan = measured.plan;
    let commit_s = measured.server.wal.map_or(0.0, |wal| wal.commit_s);
    let mut fixed_s = TRIPS_OF_RUN * statement_s(measured) + commit_s;
    let mut switch_s = fixed_s + plan.switch_steps().len() as f64 * statement_s(measured);
    let mut analyze_s = 0.0;
    for flow in &measured.with_speed {
        let planned = &plan.flows[flow.index];
        let Some(tried) = &flow.together_all else {
            continue;
        };
        let rows = flow.rows_left();
        if let Some(copy_s) = tried.beside.copy_s {
            switch_s += copy_s * rows / tried.beside.rows.max(1.0);
        }
        if let Some(statement) = statistics::of_target(plan, planned) {
            // ANALYZE ONLY samples the partitioned table once; without ONLY, it also samples each partition.
            let is_alone = statement.contains(" ONLY ");
            let tables = match is_alone {
                true => 1,
                false => planned.units.len(),
            };
            let seconds = tried.beside.analyze_s * tables as f64;
            analyze_s += seconds;
            if is_alone {
                fixed_s += seconds;
            }
        }
    }
    AfterStreams {
        switch_s,
        analyze_s,
        fixed_s,
    }
}

/// Seconds of a small statement.
fn statement_s(measured: &MeasuredPlan<'_>) -> f64 {
    let made = measured.with_speed.first().and_then(|flow| {
        let (unit, _) = flow.works.first()?;
        let statements = measured.plan.flows[flow.index].statements[(*unit)?]
            .create
            .len()
            + 3;
        let tried = flow.together_all.as_ref()?;
        Some(tried.beside.create_s / statements as f64)
    });
    made.unwrap_or(0.0).max(measured.server.round_trip_s)
}
