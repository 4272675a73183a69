//! The facts about a run that the driver of PostgreSQL gives to the prediction.

use inrush_engine::planner::preflight::flow_found::FlowFound;
use inrush_engine::planner::preflight::predict::{PredictedPhases, RunCosts, ServerSpeeds};
use inrush_engine::preflight::Finding;
use inrush_system::threads::cores;

use super::measure::Preflight;
use super::server::ServerFound;
use super::volume::Volume;
use super::work_left::WorkLeft;
use super::{not_predicted, pieces, steps, time_around_load};
use crate::plan::{Earlier, Plan};

/// All measurements.
pub struct MeasuredPlan<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// The part of the plan that is left to load.
    pub left: &'a WorkLeft<'a>,
    /// The flows.
    pub flows: &'a [FlowFound],
    /// The flows with a speed for all steps together, the largest first.
    pub with_speed: Vec<&'a FlowFound>,
    /// The server.
    pub server: &'a ServerFound,
}

impl<'a> MeasuredPlan<'a> {
    /// The prediction's inputs from all measured flows.
    pub fn new(
        plan: &'a Plan,
        left: &'a WorkLeft<'a>,
        flows: &'a [FlowFound],
        server: &'a ServerFound,
    ) -> MeasuredPlan<'a> {
        MeasuredPlan {
            plan,
            left,
            flows,
            with_speed: flows.iter().filter(|flow| flow.has_speed()).collect(),
            server,
        }
    }
}

/// The work that is left, the time around the load, and the network and the WAL of the server.
pub fn run_costs(preflight: &Preflight<'_>, measured: &MeasuredPlan<'_>) -> RunCosts {
    let MeasuredPlan {
        plan, left, server, ..
    } = *measured;
    let is_stopped = matches!(plan.earlier, Earlier::Stopped { .. });
    let pieces = pieces::of(measured);
    let volume = Volume::of_all(measured, &pieces);
    let stored = left.items.iter().map(|item| left.stored_bytes(item));
    let text_bytes: f64 = pieces.iter().map(|piece| piece.text_bytes).sum();
    let text_of_sent = steps::text_of_sent(measured.flows);
    let log_bytes_s = server.wal.map_or(0.0, |wal| wal.all_bytes_s);
    let after = time_around_load::after(measured);
    RunCosts {
        is_loaded: is_stopped && left.items.is_empty(),
        stored_bytes: stored.sum(),
        paced_bytes: text_bytes / text_of_sent,
        pieces,
        log_s: match volume {
            Some(volume) if server.settings.is_flushed && log_bytes_s > 0.0 => {
                volume.wal_bytes / log_bytes_s
            }
            _ => 0.0,
        },
        split_s: time_around_load::split_s(measured),
        around: PredictedPhases {
            plan_s: time_around_load::before_s(measured, preflight.plan_s),
            load_s: 0.0,
            switch_s: after.switch_s,
            analyze_s: after.analyze_s,
            after_fixed_s: after.fixed_s,
        },
        server: Some(ServerSpeeds {
            sent_per_text: 1.0 / text_of_sent,
            network_bytes_s: server.network.map(|network| network.all_bytes_s),
            log_bytes_s: server.wal.map(|wal| wal.all_bytes_s),
        }),
        leaves_out: not_predicted::parts(plan),
        leaves_out_if_long: Some(not_predicted::IN_LONG_RUNS.to_owned()),
        findings: of_streams(plan).into_iter().collect(),
    }
}

/// The finding that more streams are possible.
fn of_streams(plan: &Plan) -> Option<Finding> {
    let possible = cores();
    (plan.streams < possible).then(|| {
        Finding::tells(format!(
            "the run has {} of {possible} possible streams: as many as the package or --streams says, or as there are \
             pieces of work",
            plan.streams
        ))
    })
}
