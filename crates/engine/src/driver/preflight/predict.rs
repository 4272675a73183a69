//! The facts about a run that the driver of the contract gives to the prediction.

use super::measure::ContractPreflight;
use crate::driver::plan::ContractEarlier;
use crate::preflight::flow_found::FlowFound;
use crate::preflight::model::{Beside, WorkPiece};
use crate::preflight::predict::{PredictedPhases, RunCosts};
use inrush_plan::load_unit::LoadUnit;
use inrush_plan::work_items;

/// The work that is left, and the time of the publish.
pub fn run_costs(preflight: &ContractPreflight<'_>, flows: &[FlowFound]) -> RunCosts {
    let plan = preflight.plan;
    let with_speed: Vec<&FlowFound> = flows.iter().filter(|flow| flow.has_speed()).collect();
    let left = (0..plan.flows.len()).flat_map(|flow| preflight.left(flow));
    let left: Vec<&LoadUnit> = left.collect();
    let stored_bytes: u64 = left.iter().map(|unit| unit.stored_bytes()).sum();
    let (pieces, switch_s) = pieces(preflight, &with_speed);
    let paced = pieces
        .iter()
        .map(|piece| piece.text_bytes * with_speed[piece.flow].paced_of_text);
    let mut leaves_out = Vec::new();
    if plan.flows.iter().any(|flow| flow.facts.is_some()) {
        leaves_out
            .push("publishing into a target that has rows: the trial's target was new".to_owned());
    }
    if plan.settings.asks_to_analyze() {
        leaves_out
            .push("the statistics of the targets, which are updated after the publish".to_owned());
    }
    RunCosts {
        is_loaded: matches!(plan.earlier, ContractEarlier::Stopped { .. }) && left.is_empty(),
        stored_bytes: stored_bytes as f64,
        paced_bytes: paced.sum(),
        pieces,
        around: PredictedPhases {
            plan_s: preflight.plan_s,
            switch_s,
            ..PredictedPhases::default()
        },
        leaves_out,
        ..RunCosts::default()
    }
}

/// The pieces of work that are left, the largest first, each with its COMMIT; and the seconds of publishing them.
fn pieces(preflight: &ContractPreflight<'_>, with_speed: &[&FlowFound]) -> (Vec<WorkPiece>, f64) {
    let plan = preflight.plan;
    let mut pieces = Vec::new();
    let mut switch_s = 0.0;
    if with_speed.is_empty() {
        return (pieces, switch_s);
    }
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
