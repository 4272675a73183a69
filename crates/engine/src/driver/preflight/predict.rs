//! Predicts the duration of the run from the measurements.

use super::measure::ContractPreflight;
use crate::driver::plan::ContractEarlier;
use crate::pipeline::work_items;
use crate::plan::load_unit::LoadUnit;
use crate::plan::source_paces::source_paces;
use crate::preflight::flow_found::FlowFound;
use crate::preflight::model::{self, Beside, SharedSeconds, WorkPiece};
use crate::preflight::predict::{self, LeftToRead, PredictedPhases};
use crate::preflight::read::ReadFound;
use crate::preflight::result::PreflightReport;

/// Predicts the run; `None` if rows are left to load and no flow has a measured speed.
pub fn predict(
    preflight: &ContractPreflight<'_>,
    flows: &[FlowFound],
    read: &ReadFound,
    report: &mut PreflightReport,
) {
    let plan = preflight.plan;
    let with_speed: Vec<&FlowFound> = flows.iter().filter(|flow| flow.has_speed()).collect();
    let mut flow_indexes = 0..plan.flows.len();
    let has_work = flow_indexes.any(|flow| preflight.left(flow).next().is_some());
    if matches!(plan.earlier, ContractEarlier::Stopped { .. }) && !has_work {
        let phases = PredictedPhases {
            plan_s: preflight.plan_s,
            ..PredictedPhases::default()
        };
        predict::tell_loaded(report, preflight.options, &plan.run_key, &phases);
    }
    let Some(largest) = with_speed.first() else {
        return;
    };
    let (pieces, switch_s) = pieces(preflight, &with_speed);
    let text_bytes: f64 = pieces.iter().map(|piece| piece.text_bytes).sum();
    if text_bytes <= 0.0 {
        // Nothing is known of the work.
        return;
    }
    let speeds = predict::speeds(&with_speed, plan.streams);
    let schedule = model::schedule(&pieces, &speeds, plan.streams);
    let left = (0..plan.flows.len()).flat_map(|flow| preflight.left(flow));
    let stored_bytes: u64 = left.map(LoadUnit::stored_bytes).sum();
    let paced = pieces
        .iter()
        .map(|piece| piece.text_bytes * with_speed[piece.flow].paced_of_text);
    let left = LeftToRead {
        stored_bytes: stored_bytes as f64,
        text_bytes,
        paces: &source_paces(&plan.flows),
    };
    let read_limits = predict::shared(flows, read, &left);
    let sent_pace_s = match plan.settings.rate_bytes_max {
        Some(rate) => paced.sum::<f64>() / rate as f64,
        None => 0.0,
    };
    let shared = SharedSeconds {
        pace_s: read_limits.pace_s.max(sent_pace_s),
        ..read_limits
    };
    let seen = predict::seen(largest, plan.streams);
    let answer = model::answer(&schedule, &shared, &seen);
    let phases = PredictedPhases {
        plan_s: preflight.plan_s,
        load_s: answer.load_s,
        switch_s,
        analyze_s: 0.0,
        after_fixed_s: 0.0,
    };
    report.costs = predict::costs(&with_speed, read, &pieces, &phases, plan.streams);
    let mut leaves_out: Vec<String> = predict::of_unknown_size(flows).collect();
    if plan.flows.iter().any(|flow| flow.facts.is_some()) {
        leaves_out
            .push("publishing into a target that has rows: the trial's target was new".to_owned());
    }
    if plan.settings.asks_to_analyze() {
        leaves_out
            .push("the statistics of the targets, which are updated after the publish".to_owned());
    }
    let key = &plan.run_key;
    predict::tell(report, preflight.options, key, &phases, answer, leaves_out);
}

/// The pieces of work that are left, the largest first, each with its COMMIT; and the seconds of publishing them.
fn pieces(preflight: &ContractPreflight<'_>, with_speed: &[&FlowFound]) -> (Vec<WorkPiece>, f64) {
    let plan = preflight.plan;
    let mut pieces = Vec::new();
    let mut switch_s = 0.0;
    for index in 0..plan.flows.len() {
        let own = with_speed.iter().position(|flow| flow.index == index);
        let place = own.unwrap_or(0);
        let like = with_speed[place];
        let Some(tried) = &like.together_all else {
            continue;
        };
        let tried_text = (tried.work.meter.text_bytes as f64).max(1.0);
        let mut whole = 0.0;
        for unit in preflight.left(index) {
            // All streams read from a file that has a feed.
            let turns = match unit.is_shared {
                true => work_items::of_splits((index, 0), unit, plan.streams).count(),
                false => 1,
            };
            let of_splits = unit.splits.iter().map(|split| like.text_bytes_of(split));
            let unit_bytes: f64 = of_splits.sum();
            let text_bytes = unit_bytes / turns as f64;
            whole += unit_bytes;
            // The time of a COMMIT depends on what it flushes.
            let times = text_bytes / (tried_text / plan.streams as f64);
            let piece = WorkPiece {
                flow: place,
                text_bytes,
                beside: Beside {
                    server_s: 0.0,
                    flush_s: tried.beside.ready_s * times,
                },
            };
            pieces.extend(std::iter::repeat_n(piece, turns));
        }
        switch_s += tried.beside.copy_s.unwrap_or(0.0) * whole / tried_text;
    }
    pieces.sort_by(|a, b| b.text_bytes.total_cmp(&a.text_bytes));
    (pieces, switch_s)
}
