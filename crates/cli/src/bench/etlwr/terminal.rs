//! The results on a terminal.

use std::path::Path;

use inrush::printable::line;
use inrush_workloads::Grid;
use inrush_workloads::etlwr::{Results, chart, summary};

use crate::run_summary::columns;

/// The text at the end of the command.
pub fn terminal(results: &Results, folder: &Path) -> String {
    let mut text = String::from("\n");
    for (what, words) in summary::described(results) {
        text.push_str(&line(&format!("{what:<8} {words}")));
    }
    text.push('\n');
    text.push_str(&grid(&summary::tables(results)));
    text.push('\n');
    text.push_str(&grid(&summary::points(results)));
    if results.curve.len() > 1 {
        text.push('\n');
        text.push_str(&chart::text(&results.curve));
    }
    if results.transforms.is_some() {
        text.push('\n');
        text.push_str(&grid(&summary::transforms(results)));
        for step in summary::steps(results) {
            text.push_str(&line(&format!("  {step}")));
        }
    }
    text.push('\n');
    text.push_str(&grid(&summary::beside(results)));
    text.push('\n');
    if !results.needs.is_empty() {
        text.push_str("On cores like these the record runs would need\n");
        text.push_str(&grid(&summary::needs(results)));
        for told in summary::needs_told(results) {
            text.push_str(&line(&format!("  {told}")));
        }
        text.push('\n');
    }
    for (run, verdict) in summary::verdicts(results) {
        text.push_str(&line(&format!("{run}: {verdict}")));
    }
    for note in summary::proofs(results)
        .into_iter()
        .chain(results.notes.clone())
    {
        text.push_str(&line(&format!("note: {note}")));
    }
    text.push_str(&line(&format!(
        "results: {}",
        folder.join("summary.md").display()
    )));
    text
}

fn grid<const COLUMNS: usize>(grid: &Grid<COLUMNS>) -> String {
    columns(&grid.head, &grid.rows)
}
