//! The results on a terminal.

use std::path::Path;

use inrush::printable::line;
use inrush::quantity::{count, counted};
use inrush_workloads::Grid;
use inrush_workloads::clients::{Results, RunResult, summary};

use crate::run_summary::columns;

/// A line for a run.
pub fn run_line(run: &RunResult) -> String {
    line(&format!(
        "{}, round {}: {} calls/s, p50 {:.0} us, p99 {:.0} us, fairness {:.3}",
        counted(u64::from(run.clients), "client"),
        run.round,
        count(run.calls_per_s.round() as u64),
        run.latency.p50_us,
        run.latency.p99_us,
        run.all_clients.fairness
    ))
}

/// The text at the end of the command.
pub fn results(results: &Results, folder: &Path) -> String {
    let mut text = String::from("\n");
    for (what, words) in summary::described(results) {
        text.push_str(&line(&format!("{what:<8} {words}")));
    }
    text.push('\n');
    text.push_str(&grid(&summary::curve(results)));
    text.push_str("\nlatencies, in microseconds\n");
    text.push_str(&grid(&summary::latencies(results)));
    text.push_str("\nwhat a call costs\n");
    text.push_str(&grid(&summary::costs(results)));
    let not_measured = summary::not_measured(results);
    if !not_measured.is_empty() {
        text.push_str(&line(&not_measured));
    }
    text.push('\n');
    if let Some(verdict) = &results.verdict {
        text.push_str(&line(&format!("verdict: {}", verdict.line)));
    }
    for note in &results.notes {
        text.push_str(&line(&format!("note: {note}")));
    }
    text.push_str(&line(&format!(
        "results: {}",
        folder.join("report.html").display()
    )));
    text
}

fn grid<const COLUMNS: usize>(grid: &Grid<COLUMNS>) -> String {
    columns(&grid.head, &grid.rows)
}
