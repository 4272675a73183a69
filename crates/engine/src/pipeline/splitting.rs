//! Finds where the first record of each range begins, before large files are loaded in ranges.

use std::sync::Arc;

use inrush_source::{SourceSplit, Split};

use super::event_sink::EventSink;
use crate::error::Error;
use crate::event::Event;
use crate::plan::Reading;

/// True if an input of the flow has ranges whose first records must be found before they can be read.
pub fn is_needed(reading: &Reading) -> bool {
    let source = &reading.source;
    (0..source.input_count()).any(|input| source.needs_locate(input))
}

/// Finds the first records of ranges, if [`is_needed`] returns true. `splits` belong to one flow, in any order. `is_kept`
/// returns whether the split with this index is committed already.
pub fn find_first_records<'s>(
    event_sink: EventSink<'_>,
    reading: &Reading,
    splits: impl Iterator<Item = &'s mut Split>,
    is_kept: impl Fn(usize) -> bool,
    threads: usize,
) -> Result<(), Error> {
    let mut splits: Vec<(usize, &mut Split)> = splits.enumerate().collect();
    splits.sort_by_key(|(_, split)| (split.input.index(), split.range.start));
    for ranges in
        splits.chunk_by_mut(|(_, first), (_, second)| Arc::ptr_eq(&first.input, &second.input))
    {
        let file = &ranges[0].1.input;
        let needs_locate = reading.source.needs_locate(file.index());
        if ranges.len() == 1 || !needs_locate || ranges.iter().all(|(at, _)| is_kept(*at)) {
            continue;
        }
        event_sink.notice(&Event::Splitting {
            flow: reading.name.clone(),
            file: file.name().display().to_string(),
            bytes: file.size_bytes(),
        });
        let in_source = ranges.iter().map(|(_, split)| split.in_source());
        let mut located: Vec<SourceSplit> = in_source.collect();
        reading.source.locate(&mut located, threads)?;
        for ((_, split), located) in ranges.iter_mut().zip(located) {
            split.first_record = located.first_record;
        }
    }
    Ok(())
}
