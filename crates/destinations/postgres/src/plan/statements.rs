//! The steps of a plan, in the form in which the plan shows them.

use inrush_destination::Step as Shown;

use super::{Plan, begin_steps, switch_steps, unit_steps};

impl Plan {
    /// Passes each step of a run to `see` in the form of the plan, in order.
    pub fn each_line(&self, see: &mut dyn FnMut(&str)) {
        let mut see = |step: Shown| see(&step.to_string());
        begin_steps::each_step(self, &mut see);
        for flow in &self.flows {
            for unit in flow.unit_plans() {
                for transaction in unit_steps::transactions(self, flow, unit) {
                    transaction.each_step(self, flow, unit, &mut see);
                }
            }
        }
        switch_steps::each_step(self, &mut see);
    }

    /// The steps of the setup, and of the beginning of the run.
    pub fn begin_steps(&self) -> Vec<Shown> {
        let mut steps = Vec::new();
        begin_steps::each_step(self, &mut |step| steps.push(step));
        steps
    }

    /// The steps of the switch.
    pub fn switch_steps(&self) -> Vec<Shown> {
        let mut steps = Vec::new();
        switch_steps::each_step(self, &mut |step| steps.push(step));
        steps
    }
}

/// Shortens a long list to its first and last steps.
pub(super) fn shortened(mut steps: Vec<Shown>) -> Vec<Shown> {
    const SHOWN: usize = 60;
    if steps.len() > SHOWN {
        let left_out = SHOWN / 2..steps.len() - SHOWN / 2;
        let more = format!("... {} more of the same forms", left_out.len());
        steps.splice(left_out, [Shown::other(more)]);
    }
    steps
}
