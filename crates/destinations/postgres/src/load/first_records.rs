//! Before large files are loaded in ranges: where each range's first record begins.

use inrush_files::Split;

use super::context::PreparedRun;
use crate::engine::error::Error;
use crate::engine::event::{Event, Observer};
use crate::engine::pipeline::RunOptions;
use crate::engine::pipeline::splitting::{files, place};
use crate::engine::plan::identity;
use crate::plan::FlowPlan;

/// Looks through the files whose ranges cannot be read without it.
pub fn resolve(run: &mut PreparedRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let threads = run.plan.streams;
    for flow in &mut run.plan.flows {
        let FlowPlan { reading, units, .. } = flow;
        if !inrush_files::needs_place(&reading.dialect) {
            continue;
        }
        for unit in units.iter_mut().filter(|unit| unit.shared) {
            let is_kept =
                |split: &Split| run.splits_kept.has(&unit.key, &identity::split_key(split));
            let kept: Vec<bool> = unit.splits.iter().map(is_kept).collect();
            for own in files(&unit.splits) {
                // Row groups are found by their file's footer.
                let is_found = unit.splits[own.start].file.table().is_some();
                if is_found || own.len() == 1 || kept[own.clone()].iter().all(|is_kept| *is_kept) {
                    continue;
                }
                let ranges = &mut unit.splits[own];
                let splitting = Event::Splitting {
                    flow: reading.name.clone(),
                    file: ranges[0].file.path.display().to_string(),
                    bytes: ranges[0].file.size_bytes,
                };
                run.folder.notice(&splitting);
                options.observer.notice(&splitting);
                place(ranges, &reading.dialect, threads, &options.stop)?;
            }
        }
    }
    Ok(())
}
