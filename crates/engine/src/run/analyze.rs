//! Analyzes the targets of a run after its rows are published, for any destination.

use std::time::Instant;

use super::context::RunContext;
use super::gathering::Gathering;
use crate::error::Error;
use crate::event::Event;

/// Analyzes one target after the other. The rows are already published, so a target that cannot be analyzed only leads
/// to a note with the reason.
pub fn analyze(context: &RunContext<'_>, gathering: &mut Gathering) {
    let analyzing = Instant::now();
    for (index, flow) in context.run.plan.flows.iter().enumerate() {
        if !flow.is_analyzed {
            continue;
        }
        let analyzed = match context.stop.asked() {
            Some(_) => Err(Error::Interrupted),
            None => analyze_target(context, index),
        };
        let target = flow.reading.target.clone();
        match analyzed {
            Ok(()) => context.notice(&Event::Analyzed { target }),
            Err(error) => {
                let reason = match error {
                    Error::Interrupted => "the run was stopped".to_owned(),
                    error => error.to_string(),
                };
                let text = format!("{target} was not analyzed: {reason}");
                context.notice(&Event::Note { text: text.clone() });
                gathering.note(text);
            }
        }
        gathering.phases.analyze_s = analyzing.elapsed().as_secs_f64();
    }
}

fn analyze_target(context: &RunContext<'_>, index: usize) -> Result<(), Error> {
    let open = &context.run.open;
    Ok(context.cancelled_by_stop(|| open.analyze(index))??)
}
