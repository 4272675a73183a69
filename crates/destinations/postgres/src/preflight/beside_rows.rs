//! The time that a piece of work takes in addition to its rows.

use inrush_destination::{LogSpeed, MeasuredLoad, PieceOfWork, SecondsBesideRows, TriedTarget};

use crate::plan::{Plan, statistics};

/// Round trips of a transaction apart from its rows: BEGIN, the fence, settings, COPY, the ledger's rows, COMMIT.
const TRIPS_OF_PIECE: f64 = 8.0;

/// The most WAL that is not yet flushed when a COMMIT comes: a segment is flushed when it is full.
const WAL_SEGMENT_BYTES: f64 = 16_777_216.0;

/// The seconds of a piece in addition to its rows.
pub fn seconds(
    plan: &Plan,
    round_trip_s: f64,
    piece: &PieceOfWork<'_>,
    measured: &MeasuredLoad,
) -> SecondsBesideRows {
    let tried = piece.like;
    let flow = &plan.flows[piece.target];
    let is_private = !flow.units[piece.unit].is_shared;
    let mut server_s = TRIPS_OF_PIECE * round_trip_s;
    if piece.is_first_of_stream {
        server_s += tried.connect_s;
    }
    if is_private {
        server_s += tried.create_s;
    }
    if !flow.is_straight() && (is_private || piece.is_last_of_unit) {
        server_s += ready_s(plan, piece, measured.streams);
    }
    let log = measured.log.as_ref();
    SecondsBesideRows {
        server_s,
        flush_s: log.map_or(0.0, |log| flush_s(plan, log, tried, piece.text_bytes)),
    }
}

/// Seconds of a unit after its rows, by its bytes of text.
fn ready_s(plan: &Plan, piece: &PieceOfWork<'_>, streams: usize) -> f64 {
    let (tried, flow) = (piece.like, &plan.flows[piece.target]);
    let times = piece.unit_text_bytes / (tried.text_bytes / streams as f64).max(1.0);
    let mut seconds = (tried.measure_s + tried.ready_s) * times;
    if statistics::of_unit(plan, flow, flow.unit(piece.unit)).is_some() {
        // ANALYZE reads at most a fixed number of rows, so its time does not grow with the unit.
        seconds += tried.analyze_s;
    }
    seconds
}

/// Seconds until the WAL of a COMMIT is on the disk.
fn flush_s(plan: &Plan, log: &LogSpeed, tried: &TriedTarget, text_bytes: f64) -> f64 {
    if !log.is_flushed || log.all_bytes_s <= 0.0 {
        return log.commit_s;
    }
    let table = text_bytes * tried.table_bytes / tried.text_bytes.max(1.0);
    let bytes = match plan.server.wal_level.as_str() {
        // The table itself is flushed.
        "minimal" => table,
        // The WAL of its rows is flushed, which the trial may not have written.
        _ => table.min(WAL_SEGMENT_BYTES),
    };
    log.commit_s + bytes / log.all_bytes_s
}
