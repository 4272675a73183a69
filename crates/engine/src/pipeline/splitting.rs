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

/// Finds the first records of ranges, if [`is_needed`] returns true. `splits` belong to one flow, and ranges of the
/// same file follow each other. `is_kept` returns whether the split with this index is committed already.
pub fn find_first_records<'s>(
    event_sink: EventSink<'_>,
    reading: &Reading,
    splits: impl Iterator<Item = &'s mut Split>,
    is_kept: impl Fn(usize) -> bool,
    threads: usize,
) -> Result<(), Error> {
    let mut splits: Vec<&mut Split> = splits.collect();
    let mut at = 0;
    let of_one_file =
        |first: &&mut Split, second: &&mut Split| Arc::ptr_eq(&first.input, &second.input);
    for ranges in splits.chunk_by_mut(of_one_file) {
        let mut own = at..at + ranges.len();
        at = own.end;
        let file = &ranges[0].input;
        let needs_locate = reading.source.needs_locate(file.index());
        if ranges.len() == 1 || !needs_locate || own.all(&is_kept) {
            continue;
        }
        event_sink.notice(&Event::Splitting {
            flow: reading.name.clone(),
            file: file.name().display().to_string(),
            bytes: file.size_bytes(),
        });
        let mut located: Vec<SourceSplit> = ranges.iter().map(|split| split.in_source()).collect();
        reading.source.locate(&mut located, threads)?;
        for (split, located) in ranges.iter_mut().zip(located) {
            split.first_record = located.first_record;
        }
    }
    Ok(())
}
