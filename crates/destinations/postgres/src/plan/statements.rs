//! The statements of a plan, as it shows them.

use super::{Plan, begin_steps, switch_steps, unit_steps};

impl Plan {
    /// Passes every statement of a run to `see`, in order. Values that only the load can know are in angle brackets.
    pub fn each_statement(&self, see: &mut dyn FnMut(&str)) {
        for line in self.begin_lines() {
            see(&line);
        }
        for flow in &self.flows {
            for unit in &flow.units {
                for transaction in unit_steps::transactions(self, flow, unit) {
                    transaction.each_line(self, flow, unit, see);
                }
            }
        }
        switch_steps::each_line(self, see);
    }

    /// The lines of the setup, and of the beginning of the run.
    pub fn begin_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        begin_steps::each_line(self, &mut |line| lines.push(line.to_owned()));
        lines
    }

    /// The lines of the switch.
    pub fn switch_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        switch_steps::each_line(self, &mut |line| lines.push(line.to_owned()));
        lines
    }
}

/// Shortens a long list to its first and last lines.
pub(super) fn shortened(mut lines: Vec<String>) -> Vec<String> {
    const SHOWN: usize = 60;
    if lines.len() > SHOWN {
        let left_out = SHOWN / 2..lines.len() - SHOWN / 2;
        let more = format!("-- ... {} more of the same forms", left_out.len());
        lines.splice(left_out, [more]);
    }
    lines
}
