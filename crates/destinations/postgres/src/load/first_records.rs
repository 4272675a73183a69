//! Before large files are loaded in ranges: where each range's first record begins.

use super::context::PreparedRun;
use crate::engine::error::Error;
use crate::engine::pipeline::RunOptions;
use crate::engine::pipeline::event_sink::EventSink;
use crate::engine::pipeline::splitting::find_first_records;
use crate::engine::plan::identity;
use crate::plan::FlowPlan;

/// Looks through the files whose ranges cannot be read without it.
pub fn resolve(run: &mut PreparedRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let threads = run.plan.streams;
    let event_sink = EventSink {
        folder: &run.folder,
        observer: options.observer,
    };
    for flow in &mut run.plan.flows {
        let FlowPlan { reading, units, .. } = flow;
        for unit in units.iter_mut().filter(|unit| unit.shared) {
            let keys = unit.splits.iter().map(identity::split_key);
            let kept: Vec<bool> = keys
                .map(|key| run.splits_kept.has(&unit.key, &key))
                .collect();
            let splits = unit.splits.iter_mut();
            find_first_records(event_sink, reading, splits, |at| kept[at], threads)?;
        }
    }
    Ok(())
}
