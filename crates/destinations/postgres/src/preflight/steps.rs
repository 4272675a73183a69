//! Measurements of the network and of the WAL, as one line for each step.

use inrush_engine::planner::preflight::flow_found::FlowFound;
use inrush_engine::preflight::{PreflightStep, StepFound};

use super::server::ServerFound;
use crate::plan::Plan;

/// The network.
pub fn network(flows: &[FlowFound], server: &ServerFound, why_not: &str) -> StepFound {
    let text_of_sent = text_of_sent(flows);
    match server.network {
        Some(network) => StepFound {
            step: PreflightStep::Network,
            one_bytes_s: Some(network.one_bytes_s * text_of_sent),
            all_bytes_s: Some(network.all_bytes_s * text_of_sent),
            rows_s: None,
            sample_bytes: network.bytes,
            took_s: network.took_s,
            note: Some(format!("round trip {:.2} ms", server.round_trip_s * 1e3)),
        },
        None => StepFound::not_measured(PreflightStep::Network, why_not),
    }
}

/// The WAL.
pub fn log(plan: &Plan, flows: &[FlowFound], server: &ServerFound, why_not: &str) -> StepFound {
    match (server.wal, text_of_table(flows)) {
        (Some(wal), Some(text_of_table)) => StepFound {
            step: PreflightStep::Log,
            one_bytes_s: None,
            all_bytes_s: Some(wal.all_bytes_s * text_of_table),
            rows_s: None,
            sample_bytes: (wal.bytes as f64 * text_of_table) as u64,
            took_s: wal.took_s,
            note: Some(format!(
                "wal_level = {}; a COMMIT that has little to flush takes {:.1} ms",
                plan.server.wal_level,
                wal.commit_s * 1e3
            )),
        },
        _ => StepFound::not_measured(PreflightStep::Log, why_not),
    }
}

/// Bytes of text for each byte of the trial tables.
fn text_of_table(flows: &[FlowFound]) -> Option<f64> {
    let tried = flows.iter().filter_map(|flow| flow.together_all.as_ref());
    let (text, table) = tried.fold((0, 0), |(text, table), tried| {
        (
            text + tried.work.meter.text_bytes,
            table + tried.table_bytes,
        )
    });
    (table > 0).then(|| text as f64 / table as f64)
}

/// Bytes of text for each byte that is sent, of all flows.
pub fn text_of_sent(flows: &[FlowFound]) -> f64 {
    let text: f64 = flows.iter().map(FlowFound::text_bytes_left).sum();
    let sent: f64 = flows
        .iter()
        .map(|flow| flow.text_bytes_left() / flow.text_of_sent())
        .sum();
    match sent > 0.0 {
        true => text / sent,
        false => 1.0,
    }
}
