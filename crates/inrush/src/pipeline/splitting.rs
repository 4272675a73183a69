//! Before large files are loaded in ranges: where each range's first record begins.

use std::ops::Range;
use std::sync::Arc;

use inrush_scan::Dialect;

use super::RunOptions;
use super::context::PreparedRun;
use crate::cancel::Stop;
use crate::error::Error;
use crate::event::{Event, Observer};
use crate::plan::{FlowPlan, identity};
use crate::source::{self, Shard};

/// Looks through the files whose ranges cannot be read without it.
pub fn resolve(run: &mut PreparedRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let threads = run.plan.streams;
    for flow in &mut run.plan.flows {
        let FlowPlan { reading, units, .. } = flow;
        if !source::needs_place(&reading.dialect) {
            continue;
        }
        for unit in units.iter_mut().filter(|unit| unit.shared) {
            let is_kept = |shard: &Shard| {
                let key = (unit.key.clone(), identity::shard_key(shard));
                run.shards_kept.contains_key(&key)
            };
            let kept: Vec<bool> = unit.shards.iter().map(is_kept).collect();
            for own in files(&unit.shards) {
                // Row groups are found by their file's footer.
                let is_found = unit.shards[own.start].file.table().is_some();
                if is_found || own.len() == 1 || kept[own.clone()].iter().all(|is_kept| *is_kept) {
                    continue;
                }
                let ranges = &mut unit.shards[own];
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

/// Which shards are ranges of the same file; they follow each other.
pub fn files(shards: &[Shard]) -> Vec<Range<usize>> {
    let mut at = 0;
    shards
        .chunk_by(|first, second| Arc::ptr_eq(&first.file, &second.file))
        .map(|ranges| {
            let own = at..at + ranges.len();
            at = own.end;
            own
        })
        .collect()
}

/// Finds the first records of all ranges of one file.
pub fn place(
    ranges: &mut [Shard],
    dialect: &Dialect,
    threads: usize,
    stop: &Stop,
) -> Result<(), Error> {
    let file = Arc::clone(&ranges[0].file);
    let bytes: Vec<_> = ranges
        .iter()
        .map(|shard| shard.byte_range.clone())
        .collect();
    let starts =
        source::first_records(&file, dialect, &bytes, threads, stop)?.ok_or(Error::Interrupted)?;
    for (shard, start) in ranges.iter_mut().zip(starts) {
        shard.first_record = start;
    }
    Ok(())
}
