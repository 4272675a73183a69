//! Predicts the duration of the run from the measurements.

use inrush_engine::native::plan::source_paces;
use inrush_engine::native::preflight::ReadFound;
use inrush_engine::native::preflight::flow_found::FlowFound;
use inrush_engine::native::preflight::model::{self, ObservedLoad, SharedSeconds};
use inrush_engine::native::preflight::predict::{self, LeftToRead, PredictedPhases};
use inrush_engine::preflight::{Finding, PreflightReport};
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
    /// Reading the files.
    pub read: &'a ReadFound,
    /// The server.
    pub server: &'a ServerFound,
}

impl<'a> MeasuredPlan<'a> {
    /// The prediction's inputs from all measured flows.
    pub fn new(
        plan: &'a Plan,
        left: &'a WorkLeft<'a>,
        flows: &'a [FlowFound],
        read: &'a ReadFound,
        server: &'a ServerFound,
    ) -> MeasuredPlan<'a> {
        MeasuredPlan {
            plan,
            left,
            flows,
            with_speed: flows.iter().filter(|flow| flow.has_speed()).collect(),
            read,
            server,
        }
    }
}

/// Predicts the run. Does not if rows are left to load and no flow has a measured speed.
pub fn predict(
    preflight: &Preflight<'_>,
    measured: &MeasuredPlan<'_>,
    report: &mut PreflightReport,
) {
    let MeasuredPlan { plan, server, .. } = *measured;
    let is_stopped = matches!(plan.earlier, Earlier::Stopped { .. });
    if is_stopped && measured.left.items.is_empty() {
        let phases = phases(preflight, measured, 0.0);
        predict::tell_loaded(report, preflight.options, &plan.run_key, &phases);
    }
    let Some(largest) = measured.with_speed.first() else {
        return;
    };
    let pieces = pieces::of(measured);
    let speeds = predict::speeds(&measured.with_speed, plan.streams);
    let schedule = model::schedule(&pieces, &speeds, plan.streams);
    let Some(volume) = Volume::of_all(measured, &pieces) else {
        return;
    };
    let shared = shared(measured, &volume);
    let answer = model::answer(&schedule, &shared, &seen(measured, largest));
    let load_s = answer.load_s + time_around_load::split_s(measured);
    let phases = phases(preflight, measured, load_s);
    let costs = predict::costs(
        &measured.with_speed,
        measured.read,
        &pieces,
        &phases,
        plan.streams,
    );
    report.costs = costs.map(|costs| {
        costs.with_server(
            1.0 / steps::text_of_sent(measured.flows),
            server.network.map(|network| network.all_bytes_s),
            server.wal.map(|wal| wal.all_bytes_s),
        )
    });
    if plan.streams < cores() {
        report.findings.push(Finding::tells(format!(
            "the run has {} of {} possible streams: as many as the package or --streams says, or as there are pieces \
             of work",
            plan.streams,
            cores()
        )));
    }
    let mut leaves_out = not_predicted::parts(plan, &schedule);
    leaves_out.extend(predict::of_unknown_size(measured.flows));
    let key = &plan.run_key;
    predict::tell(report, preflight.options, key, &phases, answer, leaves_out);
}

/// The phases of a run whose streams need this time.
fn phases(preflight: &Preflight<'_>, measured: &MeasuredPlan<'_>, load_s: f64) -> PredictedPhases {
    let after = time_around_load::after(measured);
    PredictedPhases {
        plan_s: time_around_load::before_s(measured, preflight.plan_s),
        load_s,
        switch_s: after.switch_s,
        analyze_s: after.analyze_s,
        after_fixed_s: after.fixed_s,
    }
}

/// Seconds of the shared resources, including the server's WAL.
fn shared(measured: &MeasuredPlan<'_>, volume: &Volume) -> SharedSeconds {
    let text_bytes = volume.text_bytes;
    let MeasuredPlan {
        plan, left, server, ..
    } = *measured;
    let log_bytes_s = server.wal.map_or(0.0, |wal| wal.all_bytes_s);
    let sent_bytes = text_bytes / steps::text_of_sent(measured.flows);
    let stored = left.items.iter().map(|item| left.stored_bytes(item));
    let to_read = LeftToRead {
        stored_bytes: stored.sum(),
        text_bytes,
        paces: &source_paces(&plan.flows),
    };
    let read_limits = predict::shared(measured.flows, measured.read, &to_read);
    let sent_pace_s = match plan.settings.rate_bytes_max {
        Some(rate) => sent_bytes / rate as f64,
        None => 0.0,
    };
    SharedSeconds {
        log_s: match server.settings.is_flushed && log_bytes_s > 0.0 {
            true => volume.wal_bytes / log_bytes_s,
            false => 0.0,
        },
        pace_s: read_limits.pace_s.max(sent_pace_s),
        ..read_limits
    }
}

/// The observations of the network and of the server alone, in addition to those of every destination.
fn seen<'a>(measured: &MeasuredPlan<'_>, largest: &'a FlowFound) -> ObservedLoad<'a> {
    let text_of_sent = steps::text_of_sent(measured.flows);
    let network = measured.server.network;
    ObservedLoad {
        network: network.map(|network| network.all_bytes_s * text_of_sent),
        destination: largest
            .destination_all
            .map(|took| took.sent_bytes_s * largest.text_of_sent()),
        ..predict::seen(largest, measured.plan.streams)
    }
}
