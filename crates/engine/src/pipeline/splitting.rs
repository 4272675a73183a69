//! Finds where the first record of each range begins, before large files are loaded in ranges.

use std::sync::Arc;

use inrush_plan::Reading;
use inrush_source::{SourceSplit, Split};

use super::event_sink::EventSink;
use crate::error::Error;
use crate::event::Event;

/// True if an input of the flow has ranges whose first records must be found before they can be read.
pub fn is_needed(reading: &Reading) -> bool {
    let source = &reading.source;
    (0..source.input_count()).any(|input| source.needs_locate(input))
}

/// A range whose first record is looked for.
pub struct Locatable<'a> {
    /// The range.
    pub split: &'a Split,
    /// True if the range is committed already.
    pub is_kept: bool,
}

/// Finds the first records of ranges, if [`is_needed`] returns true. `splits` belong to one flow, in any order.
pub fn find_first_records(
    event_sink: EventSink<'_>,
    reading: &Reading,
    mut splits: Vec<Locatable<'_>>,
    threads: usize,
) -> Result<(), Error> {
    splits.sort_by_key(|it| (it.split.input.index(), it.split.range.start));
    let same_file = |first: &Locatable<'_>, second: &Locatable<'_>| {
        Arc::ptr_eq(&first.split.input, &second.split.input)
    };
    for ranges in splits.chunk_by(same_file) {
        let file = &ranges[0].split.input;
        let needs_locate = reading.source.needs_locate(file.index());
        if ranges.len() == 1 || !needs_locate || ranges.iter().all(|range| range.is_kept) {
            continue;
        }
        event_sink.notice(&Event::Splitting {
            flow: reading.name.clone(),
            file: file.name().display().to_string(),
            bytes: file.size_bytes(),
        });
        let in_source = ranges.iter().map(|range| range.split.in_source());
        let mut located: Vec<SourceSplit> = in_source.collect();
        reading.source.locate(&mut located, threads)?;
        for (range, located) in ranges.iter().zip(located) {
            if let Some(first) = located.first_record {
                range.split.locate(first);
            }
        }
    }
    Ok(())
}
