//! Progress bars on a terminal: one for each table that is being loaded, and one for all.
//!
//! `indicatif` draws them, not the command's printer. So names are escaped by [`readable`], and lines are escaped here.

#![expect(
    clippy::disallowed_methods,
    reason = "bars show only numbers, fixed words and escaped names"
)]

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use inrush::event::{Event, Observer};
use inrush::printable::indented;
use inrush::secrets::masked;

use crate::names::readable;
use crate::numbers::counted;

/// The most bars that fit on a terminal. The bar of a table is removed when the table is loaded.
const BARS_MAX: usize = 12;

/// Bars on the standard error.
pub struct Progress {
    bars: MultiProgress,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    total: Option<ProgressBar>,
    tables: HashMap<String, Table>,
}

struct Table {
    bar: ProgressBar,
    name: String,
    rows: u64,
    bytes: u64,
    /// True if the flow reads a pipe, whose size is unknown.
    has_pipe: bool,
    is_shown: bool,
}

impl Progress {
    /// Bars before anything is drawn.
    pub fn new() -> Progress {
        Progress {
            bars: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)),
            state: Mutex::default(),
        }
    }

    fn planned(&self, state: &mut State, targets: &[inrush::event::TargetSize]) {
        // The plan is made again once the ledger is locked, and replaces the first one.
        self.clear(state);
        let width = targets
            .iter()
            .map(|target| readable(&target.target).chars().count())
            .max()
            .unwrap_or(0)
            .max(5);
        for target in targets {
            state.tables.insert(
                target.flow.clone(),
                Table {
                    bar: ProgressBar::new(target.stored_bytes).with_style(style(
                        match target.has_pipe {
                            false => "{prefix} {bar:32} {percent:>3} % {msg}",
                            true => "{prefix} {decimal_bytes} of an unknown size, {msg}",
                        },
                    )),
                    name: format!("{:<width$}", readable(&target.target)),
                    rows: 0,
                    bytes: 0,
                    has_pipe: target.has_pipe,
                    is_shown: false,
                },
            );
        }
        let total = self.bars.add(
            ProgressBar::new(targets.iter().map(|target| target.stored_bytes).sum()).with_style(
                style(match targets.iter().any(|target| target.has_pipe) {
                    false => "{prefix} {bar:32} {percent:>3} % {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left",
                    true => "{prefix} {decimal_bytes} of an unknown size, {decimal_bytes_per_sec}",
                }),
            ),
        );
        total.set_prefix(format!("{:<width$}", "total"));
        state.total = Some(total);
    }

    fn progress(&self, state: &mut State, flow: &str, rows: u64, bytes: u64) {
        let State { total, tables } = state;
        let Some(table) = tables.get_mut(flow) else {
            return;
        };
        if !table.is_shown {
            table.is_shown = true;
            self.bars.insert(0, table.bar.clone());
            table.bar.set_prefix(table.name.clone());
        }
        table.rows += rows;
        table.bytes += bytes;
        table.bar.set_position(table.bytes);
        table.bar.set_message(counted(table.rows, "row"));
        let length = table.bar.length().filter(|_| !table.has_pipe);
        let is_done = length.is_some_and(|length| table.bytes >= length);
        if let Some(total) = total {
            total.inc(bytes);
        }
        if is_done && tables.len() > BARS_MAX {
            tables[flow].bar.finish_and_clear();
        }
    }

    fn aborted(state: &mut State, flow: &str, bytes: u64) {
        if let Some(table) = state.tables.get_mut(flow) {
            table.bytes = table.bytes.saturating_sub(bytes);
            table.bar.set_position(table.bytes);
        }
        if let Some(total) = &state.total {
            total.set_position(total.position().saturating_sub(bytes));
        }
    }

    fn clear(&self, state: &mut State) {
        for (_, table) in state.tables.drain() {
            table.bar.finish_and_clear();
        }
        if let Some(total) = state.total.take() {
            total.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        // Prints the line above the bars, or not at all if there are no bars.
        let _ = self.bars.println(indented(&masked(text)));
    }
}

impl Observer for Progress {
    fn notice(&self, event: &Event) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Planned { targets, .. } => self.planned(&mut state, targets),
            Event::Note { text } => self.line(&format!("note: {text}")),
            Event::Started {
                run,
                resumed: true,
                units_kept,
                ..
            } => self.line(&format!(
                "resuming run {run}: {} kept",
                counted(*units_kept as u64, "unit")
            )),
            Event::Progress { flow, rows, bytes } => {
                self.progress(&mut state, flow, *rows, *bytes);
            }
            Event::UnitAborted { flow, bytes, .. } => Self::aborted(&mut state, flow, *bytes),
            Event::UnitRefused { flow, unit, reason } => self.line(&format!(
                "refused: {flow}, unit {unit}: {reason}; the unit is loaded again, so that only \
                 the bad rows are rejected"
            )),
            Event::Rejected {
                place,
                column,
                reason,
                ..
            } => {
                let column = column.as_ref().map(|name| format!(", column {name}"));
                self.line(&format!(
                    "rejected: {place}{}: {reason}",
                    column.unwrap_or_default()
                ));
            }
            Event::Switching { targets } => {
                self.clear(&mut state);
                let bar = self.bars.add(ProgressBar::new_spinner());
                bar.set_message(format!(
                    "switching {} in",
                    counted(targets.len() as u64, "table")
                ));
                bar.tick();
                state.total = Some(bar);
            }
            Event::Analyzed { target } => {
                if let Some(bar) = &state.total {
                    bar.set_message(format!("analyzed {}", readable(target)));
                    bar.tick();
                }
            }
            Event::Finished { .. } => self.clear(&mut state),
            Event::Started { .. }
            | Event::UnitStarted { .. }
            | Event::Splitting { .. }
            | Event::UnitCommitted { .. }
            | Event::Switched { .. } => {}
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // An error message must not be written into the middle of a bar.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.clear(&mut state);
    }
}

/// A bar for work that is counted in rows, such as the demo's generator.
pub fn rows_bar(what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10))
        .with_style(style("{msg}"));
    bar.set_message(what.to_owned());
    bar
}

/// Sets the number of rows of a [`rows_bar`].
pub fn tell_rows(bar: &ProgressBar, what: &str, rows: u64) {
    bar.set_message(format!("{what}: {}", counted(rows, "row")));
    bar.tick();
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .expect("the templates of this file are right")
        .progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_right_and_any_order_of_events_is_taken() {
        let progress = Progress::new();
        let target = |flow: &str| inrush::event::TargetSize {
            flow: flow.to_owned(),
            target: format!("public.{flow}"),
            stored_bytes: 100,
            has_pipe: flow == "b",
            units: 1,
        };
        let told = |flow: &str, bytes| Event::Progress {
            flow: flow.to_owned(),
            rows: 1,
            bytes,
        };
        progress.notice(&told("a", 5));
        for _ in 0..2 {
            progress.notice(&Event::Planned {
                package: "p".to_owned(),
                destination: "d".to_owned(),
                streams: 2,
                targets: vec![target("a"), target("b")],
            });
        }
        for event in [
            told("a", 60),
            Event::UnitAborted {
                flow: "a".to_owned(),
                unit: 0,
                bytes: 70,
            },
            told("b", 1000),
            Event::Switching { targets: vec![] },
            told("a", 60),
        ] {
            progress.notice(&event);
        }
        let state = progress
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        assert!(state.tables.is_empty());
    }
}
