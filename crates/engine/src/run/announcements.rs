//! The events that the observer and the log get before the first row is read.

use std::sync::Arc;

use inrush_plan::load_flow::LoadFlow;
use inrush_plan::load_plan::{LoadPlan, PlanFacts};
use inrush_rows::ids::RunName;

use crate::event::{Event, TargetSize};
use crate::pipeline::RunOptions;
use crate::pipeline::event_sink::EventSink;

/// Sends the plan. There is no log yet.
pub fn planned(plan: &LoadPlan, options: &RunOptions<'_>) {
    let facts: &PlanFacts = plan;
    let size = |flow: &Arc<LoadFlow>| TargetSize {
        flow: flow.reading.name.clone(),
        target: flow.reading.target.clone(),
        stored_bytes: flow.stored_bytes(),
        has_pipe: flow.has_pipes(),
        units: flow.units.len(),
    };
    options.observer.notice(&Event::Planned {
        package: facts.package.clone(),
        destination: facts.destination.clone(),
        streams: facts.streams,
        targets: plan.flows.iter().map(size).collect(),
    });
    for note in &facts.notes {
        options.observer.notice(&Event::Note { text: note.clone() });
    }
}

/// Reports that the run with this name begins, and how many units of an earlier attempt it keeps.
pub fn started(event_sink: EventSink<'_>, run: &RunName, is_resumed: bool, units_kept: usize) {
    event_sink.notice(&Event::Started {
        run: run.to_owned(),
        resumed: is_resumed,
        units_kept,
        folder: event_sink.folder.path().display().to_string(),
    });
}
