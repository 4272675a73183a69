//! The pieces of work for the model, each with the time that it takes in addition to its rows.

use inrush_engine::planner::preflight::Together;
use inrush_engine::planner::preflight::model::{Beside, WorkPiece};

use super::predict::MeasuredPlan;
use crate::plan::{FlowPlan, UnitPlan, statistics};

/// Round trips of a transaction apart from its rows: BEGIN, the fence, settings, COPY, the ledger's rows, COMMIT.
const TRIPS_OF_PIECE: f64 = 8.0;

/// The most WAL that is not yet flushed when a COMMIT comes: a segment is flushed when it is full.
const WAL_SEGMENT_BYTES: f64 = 16_777_216.0;

/// The pieces that are left of the flows with a measured trial of all streams.
pub fn of(measured: &MeasuredPlan<'_>) -> Vec<WorkPiece> {
    let (plan, left, server) = (measured.plan, measured.left, measured.server);
    let flows = &measured.with_speed;
    if flows.is_empty() {
        return Vec::new();
    }
    let items = &left.items;
    let mut pieces = Vec::with_capacity(items.len());
    for (number, item) in items.iter().enumerate() {
        let place = flows.iter().position(|flow| flow.index == item.flow);
        let like = flows[place.unwrap_or(0)];
        let (flow, unit) = left.unit(item);
        let text_bytes = left.text_bytes(item, like);
        let Some(tried) = &like.together_all else {
            continue;
        };
        let mut beside = Beside {
            server_s: TRIPS_OF_PIECE * server.round_trip_s,
            flush_s: flush_s(measured, unit, tried, text_bytes),
        };
        if number < plan.streams {
            beside.server_s += tried.beside.connect_s;
        }
        let is_private = !unit.is_shared;
        let is_last = !items[number + 1..]
            .iter()
            .any(|other| (other.flow, other.unit) == (item.flow, item.unit));
        if is_private {
            beside.server_s += tried.beside.create_s;
        }
        if !flow.is_straight() && (is_private || is_last) {
            let own = items
                .iter()
                .filter(|other| (other.flow, other.unit) == (item.flow, item.unit));
            let text: f64 = own.map(|own| left.text_bytes(own, like)).sum();
            beside.server_s += ready_s(measured, flow, unit, tried, text);
        }
        pieces.push(WorkPiece {
            flow: place.unwrap_or(0),
            text_bytes,
            beside,
        });
    }
    pieces
}

/// Seconds of a unit after its rows, by its bytes of text.
fn ready_s(
    measured: &MeasuredPlan<'_>,
    flow: &FlowPlan,
    unit: UnitPlan<'_>,
    tried: &Together,
    text: f64,
) -> f64 {
    let plan = measured.plan;
    let times = text / (tried.work.meter.text_bytes as f64 / plan.streams as f64).max(1.0);
    let mut seconds = (tried.beside.measure_s + tried.beside.ready_s) * times;
    if statistics::of_unit(plan, flow, unit).is_some() {
        // ANALYZE reads at most a fixed number of rows, so its time does not grow with the unit.
        seconds += tried.beside.analyze_s;
    }
    seconds
}

/// Seconds until the WAL of a COMMIT is on the disk.
fn flush_s(
    measured: &MeasuredPlan<'_>,
    unit: UnitPlan<'_>,
    tried: &Together,
    text_bytes: f64,
) -> f64 {
    let server = measured.server;
    let Some(wal) = &server.wal else { return 0.0 };
    if !server.settings.is_flushed || wal.all_bytes_s <= 0.0 {
        return wal.commit_s;
    }
    let table =
        text_bytes * tried.table_bytes as f64 / (tried.work.meter.text_bytes as f64).max(1.0);
    let bytes = match (measured.plan.server.wal_level.as_str(), unit.is_shared) {
        // With minimal WAL the table itself is flushed. Otherwise the WAL of its rows is flushed, which the trial may
        // not have written.
        ("minimal", _) => table,
        _ => table.min(WAL_SEGMENT_BYTES),
    };
    wal.commit_s + bytes / wal.all_bytes_s
}
