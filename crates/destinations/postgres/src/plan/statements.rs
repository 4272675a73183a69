//! The statements of a plan, as it shows them.

use std::fmt;

use super::{Plan, switch_steps, unit_steps};

impl Plan {
    /// Sees every statement that changes something, in order. Values that only the load can tell stand in angle brackets.
    pub fn each_statement(&self, see: &mut dyn FnMut(&str)) {
        self.setup.iter().for_each(|statement| see(statement));
        for flow in &self.flows {
            for unit in &flow.units {
                for transaction in unit_steps::transactions(self, flow, unit) {
                    transaction.each_line(self, flow, unit, see);
                }
            }
        }
        switch_steps::each_line(self, see);
    }

    /// The lines of the switch.
    pub fn switch_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        switch_steps::each_line(self, &mut |line| lines.push(line.to_owned()));
        lines
    }
}

/// Statements for reading; a long list is shown by its ends.
pub(super) fn shortened(statements: &[impl fmt::Display]) -> Vec<String> {
    const SHOWN: usize = 48;
    if statements.len() <= SHOWN {
        return statements.iter().map(with_end).collect();
    }
    let half = SHOWN / 2;
    let mut lines: Vec<String> = statements[..half].iter().map(with_end).collect();
    lines.push(format!(
        "... {} more of the same forms (--json prints all)",
        statements.len() - SHOWN
    ));
    lines.extend(statements[statements.len() - half..].iter().map(with_end));
    lines
}

fn with_end(statement: &impl fmt::Display) -> String {
    format!("{statement};")
}
