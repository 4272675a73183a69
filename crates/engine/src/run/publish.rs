//! Makes the rows of a run visible in their targets, for any destination.
//!
//! ```text
//! publish ── a target refuses a row ──> load units of its flow again ──> verify the account ──> publish
//! ```
//!
//! The destination says how often that may help: it returns the refusal as an error once another try cannot succeed.

use std::collections::BTreeMap;

use super::account::Verified;
use super::context::RunContext;
use super::gathering::Gathering;
use super::plan::RunPlan;
use super::steps::{LoadSteps, PublishEnd, SwitchedTarget};
use crate::error::Error;
use crate::load::refuse_pipe;
use crate::pipeline::results::StreamResult;
use crate::plan::PlannedFlow;

/// Publishes, and loads units again as often as that is necessary.
pub fn publish<'a, S: LoadSteps>(
    steps: &'a S,
    context: &RunContext<'a, S::Run>,
    verified: &mut Verified<'_, S>,
    gathering: &mut Gathering,
) -> Result<BTreeMap<usize, SwitchedTarget>, Error> {
    let mut attempts = steps.attempts(context);
    loop {
        let published = steps.publish(context, &verified.tasks, &mut attempts, gathering)?;
        let (flow_at, refusal) = match published {
            PublishEnd::Published(targets) => return Ok(targets),
            PublishEnd::Refused { flow, refusal } => (flow, refusal),
        };
        let flow = &context.run.plan.flows()[flow_at];
        let refusal = refuse_pipe(flow, refusal)?;
        for unit_at in 0..flow.units().len() {
            context.run.fed_files.close((flow_at, unit_at));
        }
        let mut result = StreamResult::default();
        let committed = &mut verified.committed;
        let reloaded = steps.reload(context, flow_at, refusal, &attempts, committed, &mut result);
        gathering.loaded.add_all(result.loaded);
        gathering.rejected(result.rejects);
        reloaded?;
        verified.again()?;
    }
}
