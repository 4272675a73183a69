//! Before large files are loaded in ranges: where each range's first record begins.

use super::RunOptions;
use super::context::PreparedRun;
use crate::error::Error;
use crate::event::{Event, Observer};
use crate::plan::identity;
use crate::source;

/// Looks through the files whose ranges cannot be read without it.
pub fn resolve(run: &mut PreparedRun, options: &RunOptions<'_>) -> Result<(), Error> {
    let threads = run.plan.streams;
    for flow in &mut run.plan.flows {
        if !source::needs_pass(&flow.dialect) && flow.dialect.fixed.is_none() {
            continue;
        }
        for unit in flow.units.iter_mut().filter(|unit| unit.shared) {
            let is_kept = |shard: &source::Shard| {
                let key = (unit.key.clone(), identity::shard_key(shard));
                run.shards_kept.contains_key(&key)
            };
            let kept: Vec<bool> = unit.shards.iter().map(is_kept).collect();
            let mut at = 0;
            while at < unit.shards.len() {
                let file = std::sync::Arc::clone(&unit.shards[at].file);
                let is_of_file = |shard: &source::Shard| std::sync::Arc::ptr_eq(&shard.file, &file);
                let count = unit.shards[at..]
                    .iter()
                    .take_while(|shard| is_of_file(shard))
                    .count();
                let own = at..at + count;
                at += count;
                if count == 1 || kept[own.clone()].iter().all(|is_kept| *is_kept) {
                    continue;
                }
                let splitting = Event::Splitting {
                    flow: flow.name.clone(),
                    file: file.path.display().to_string(),
                    bytes: file.size_bytes,
                };
                run.folder.notice(&splitting);
                options.observer.notice(&splitting);
                let ranges: Vec<_> = unit.shards[own.clone()]
                    .iter()
                    .map(|shard| shard.byte_range.clone())
                    .collect();
                let starts =
                    source::first_records(&file, &flow.dialect, &ranges, threads, &options.stop)?
                        .ok_or(Error::Interrupted)?;
                for (shard, start) in unit.shards[own].iter_mut().zip(starts) {
                    shard.first_record = start;
                }
            }
        }
    }
    Ok(())
}
