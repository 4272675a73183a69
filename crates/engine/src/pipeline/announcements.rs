//! The events that the observer and the log get before the first row is read.

use super::RunOptions;
use super::event_sink::EventSink;
use crate::event::{Event, TargetSize};
use crate::plan::planned::PlannedFlow;
use inrush_rows::ids::RunName;

/// The facts of a plan that its event contains.
pub struct PlanFacts<'a, F> {
    /// The package's name.
    pub package: &'a str,
    /// Product, version and place of the destination.
    pub destination: &'a str,
    /// Threads that read and write.
    pub streams: usize,
    /// The flows.
    pub flows: &'a [F],
    /// Notes for the user before the run.
    pub notes: &'a [String],
}

/// Tells the plan. There is no log yet.
pub fn planned<F: PlannedFlow>(plan: &PlanFacts<'_, F>, options: &RunOptions<'_>) {
    let size = |flow: &F| TargetSize {
        flow: flow.reading().name.clone(),
        target: flow.reading().target.clone(),
        stored_bytes: flow.stored_bytes(),
        has_pipe: flow.has_pipes(),
        units: flow.units().len(),
    };
    options.observer.notice(&Event::Planned {
        package: plan.package.to_owned(),
        destination: plan.destination.to_owned(),
        streams: plan.streams,
        targets: plan.flows.iter().map(size).collect(),
    });
    for note in plan.notes {
        options.observer.notice(&Event::Note { text: note.clone() });
    }
}

/// Tells that the run with this name begins, and how many units of an earlier attempt it keeps.
pub fn started(event_sink: EventSink<'_>, run: &RunName, is_resumed: bool, units_kept: usize) {
    event_sink.notice(&Event::Started {
        run: run.to_owned(),
        resumed: is_resumed,
        units_kept,
        folder: event_sink.folder.path().display().to_string(),
    });
}
