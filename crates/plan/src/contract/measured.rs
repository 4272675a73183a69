//! A plan for a destination of the contract, as a preflight measures it.

use inrush_destination::{
    Available, Destination, ExpectedLoad, MeasuredPlan, Result, TargetPlan, TrialPlace,
};
use inrush_rows::finding::Finding;

use super::ContractPlan;
use super::scratch::ScratchSettings;

/// Why rows are not written, if no [`Scratch`](super::scratch::Scratch) can be made.
const NO_SCRATCH: &str = "the destination has no other place for a trial load";

/// A plan with its destination.
pub struct MeasuredContract<'a> {
    /// The destination, open.
    pub destination: &'a dyn Destination,
    /// The plan.
    pub plan: &'a ContractPlan,
    /// Its targets.
    pub targets: Vec<TargetPlan>,
    /// Makes temporary destinations.
    pub scratch: &'a ScratchSettings,
}

impl MeasuredPlan for MeasuredContract<'_> {
    fn hazards(&self, expected: &ExpectedLoad) -> Result<Vec<Finding>> {
        self.destination.hazards(&self.targets, expected)
    }

    /// The destination's own place for trial loads, or else a temporary destination beside it.
    fn trial_place(&self) -> Result<Available<Box<dyn TrialPlace + '_>>> {
        if let Some(own) = self.destination.trial_place(&self.targets)? {
            return Ok(Available::Yes(own));
        }
        let scratch = self.scratch.make(self.destination, self.plan)?;
        Ok(match scratch {
            Some(scratch) => Available::Yes(Box::new(scratch)),
            None => Available::No(NO_SCRATCH.to_owned()),
        })
    }

    fn leaves_out(&self) -> Vec<String> {
        let plan = self.plan;
        let mut found = Vec::new();
        if plan.flows.iter().any(|flow| flow.facts.is_some()) {
            found.push(
                "publishing into a target that has rows: the trial's target was new".to_owned(),
            );
        }
        if plan.settings.asks_to_analyze() {
            found.push(
                "the statistics of the targets, which are updated after the publish".to_owned(),
            );
        }
        found
    }
}
